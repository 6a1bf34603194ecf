/** Changes minions' keys for runner and wheel functions. The directories are the truth; an event tells of each change. */

import type { KeyDirectories, KeyState } from "../../store/keys/keys.ts";
import { isUsableKey } from "../../store/keys/text.ts";
import { encode } from "../../wire/msgpack.ts";
import type { RunnerContext } from "../contract/contract.ts";

export type KeyLists = ReadonlyMap<KeyState, readonly string[]>;
export type KeyAction = "accept" | "reject" | "delete";

/** The master watches the directories: it refuses a removed key within a second, and changes the AES key. */
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

/** @returns false if there was nothing to change, or the key to accept cannot be used */
function changeKey(keys: KeyDirectories, action: KeyAction, state: KeyState, id: string): boolean {
  if (action === "delete") return keys.remove(state, id);
  if (action === "reject") return keys.move(id, state, "rejected");
  return isUsableKey(keys.read(state, id) ?? "") && keys.move(id, state, "accepted");
}
