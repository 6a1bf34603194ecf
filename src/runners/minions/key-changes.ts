/** Changes minions' keys for runner and wheel functions. The key directories are authoritative; each change fires an event. */

import type { KeyDirectories, KeyState } from "../../store/keys/keys.ts";
import { isUsableKey } from "../../store/keys/text.ts";
import { encode } from "../../wire/msgpack.ts";
import type { RunnerContext } from "../contract/contract.ts";

export type KeyLists = ReadonlyMap<KeyState, readonly string[]>;
export type KeyAction = "accept" | "reject" | "delete";

/** Moves only files: the master watches the directories, refuses a removed key within a second, and changes the AES key. */
export async function changeKeys(
  { master }: RunnerContext,
  keys: KeyDirectories,
  action: KeyAction,
  lists: KeyLists,
): Promise<void> {
  for (const [state, ids] of lists) {
    for (const id of ids) {
      if (!changeKey(keys, action, state, id)) continue;
      const event = { result: true, act: action, id };
      await master?.fire({ tag: "salt/key", data: encode(event, "bin") });
    }
  }
}

/** @returns false if the key is not in `state`, or if the key to accept is unusable */
function changeKey(keys: KeyDirectories, action: KeyAction, state: KeyState, id: string): boolean {
  if (action === "delete") return keys.remove(state, id);
  if (action === "reject") return keys.move(id, state, "rejected");
  return isUsableKey(keys.read(state, id) ?? "") && keys.move(id, state, "accepted");
}
