/** Finds the user whose key an operator's request has. Compares in constant time, before the rest of the request is read. */
import { equalSecrets } from "../../crypto/compare.ts";
import type { ShardStart } from "../messages/shard.ts";

/**
 * @param claimed the user that the request names; without one the master's own
 * @returns the user whose key it is: the master's for root and for sudo users. Undefined if the key is wrong.
 */
export function keyOwner(
  { localKeys, config }: Pick<ShardStart, "localKeys"> & { readonly config: Pick<ShardStart["config"], "user"> },
  claimed: string | undefined,
  key: Uint8Array | undefined,
): string | undefined {
  const name = claimed ?? config.user;
  const owner = name === "root" || name.startsWith("sudo_") ? config.user : name;
  const expected = localKeys.get(owner);
  return key !== undefined && expected !== undefined && equalSecrets(expected, key) ? owner : undefined;
}
