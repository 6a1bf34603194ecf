/** What a member's job cache has of some jobs. */
import type { StoredReturns } from "../../scenarios/measures/accounting.ts";

/** Closes `stored`. @returns the minions of each job whose return it has */
export async function readReturns(
  stored: StoredReturns,
  jids: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const returns = new Map<string, ReadonlySet<string>>();
  try {
    for (const jid of jids) returns.set(jid, await stored.of(jid));
  } finally {
    await stored.close();
  }
  return returns;
}
