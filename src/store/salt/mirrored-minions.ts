/**
 * Minions' data that also notes each change in the mirror's queue: before the write, so that a crash loses no change,
 * and after it, so that the mirror reads the last state.
 */
import type { MinionData } from "../minions/data.ts";
import type { MirrorQueue } from "./mirror-queue.ts";

/** Wraps `minions`. Faults of the queue go to `onFault`; the data is stored all the same. */
export function mirroredMinions(
  minions: MinionData,
  queue: Pick<MirrorQueue, "addMinion">,
  onFault: (error: Error) => void,
): MinionData {
  const note = (id: string) => {
    try {
      queue.addMinion(id);
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
