/** Whose key an operator's request comes with: compared in constant time, and before anything else of the request is looked at. */
import { equalSecrets } from "../../crypto/compare.ts";
import type { ShardStart } from "../messages/shard.ts";

/**
 * @param claimed the user that the request names; the master's own if it names none
 * @returns the user whose key it is: the master's for root and for those who come by sudo. Undefined if the key is wrong.
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
