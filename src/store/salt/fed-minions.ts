/** Minions' data that notes each change in the feed, too: before it is stored, so that none is lost, and after, so that the last one counts. */
import type { MinionData } from "../minions/data.ts";
import type { SaltFeed } from "./feed.ts";

/** Faults of the feed go to `onFault`, and the data is stored all the same. */
export function feedingMinions(
  minions: MinionData,
  feed: Pick<SaltFeed, "addMinion">,
  onFault: (error: Error) => void,
): MinionData {
  const note = (id: string) => {
    try {
      feed.addMinion(id);
    } catch (error) {
      onFault(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const noting = async (id: string, write: () => Promise<void>) => {
    note(id);
    await write();
    note(id);
  };
  return {
    ...minions,
    putGrains: (id, grains, pillar) => noting(id, () => minions.putGrains(id, grains, pillar)),
    dropFacts: (id) => noting(id, () => minions.dropFacts(id)),
    putMine: (id, mine) => noting(id, () => minions.putMine(id, mine)),
    dropMine: (id) => noting(id, () => minions.dropMine(id)),
    drop: (id, isNoted) => noting(id, () => minions.drop(id, isNoted)),
  };
}
