/** Finds the user whose local key an operator's request carries. Compares in constant time, before the rest of the request is read. */
import { equalSecrets } from "../../crypto/compare.ts";
import type { WorkerStart } from "../messages/worker.ts";

/**
 * @param claimed the user that the request names; default: the user that runs the master
 * @returns the owner of the key; undefined if the key is wrong. Root and sudo users have the key of the user that runs the master.
 */
export function keyOwner(
  { localKeys, config }: Pick<WorkerStart, "localKeys"> & { readonly config: Pick<WorkerStart["config"], "user"> },
  claimed: string | undefined,
  key: Uint8Array | undefined,
): string | undefined {
  const name = claimed ?? config.user;
  const owner = name === "root" || name.startsWith("sudo_") ? config.user : name;
  const isKeyOf = (holder: string) => {
    const expected = localKeys.get(holder);
    return key !== undefined && expected !== undefined && equalSecrets(expected, key);
  };
  if (isKeyOf(owner)) return owner;
  // As in Salt: the holder of the master's own key may act under any name, such as an orchestration under that of the user who started it.
  return isKeyOf(config.user) ? config.user : undefined;
}
