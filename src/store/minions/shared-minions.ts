/** Minions' data of a member of a cluster: each write that changes something is marked as unsent. A write that brings what is there is not. */
import type { MinionData } from "./data.ts";
import type { ForgottenPart } from "./forgotten.ts";
import type { ShareMarks } from "./share-marks.ts";

/** Wraps `minions` for what minions and operators write here. What comes from other members is written past it. */
export function sharedMinions(minions: MinionData, marks: ShareMarks): MinionData {
  const noting = (id: string, part: ForgottenPart, isChange: boolean, write: () => Promise<void>) =>
    isChange || marks.isWriting(id, part) ? marks.noting(id, part, write) : write();
  const has = (id: string, part: ForgottenPart) =>
    marks.step(id, part) > 0 || (part === "facts" ? minions.get(id) : minions.getMine(id)) !== undefined;
  return {
    ...minions,
    putGrains: (id, grains, pillar) => {
      const stored = minions.get(id);
      const isSame = stored !== undefined && isEqual(stored.grains, grains) && isEqual(stored.pillar, pillar);
      return noting(id, "facts", !isSame, () => minions.putGrains(id, grains, pillar));
    },
    dropFacts: (id) => noting(id, "facts", has(id, "facts"), () => minions.dropFacts(id)),
    putMine: (id, mine) => {
      const stored = minions.getMine(id);
      const isSame = stored !== undefined && isEqual(stored, mine);
      return noting(id, "mine", !isSame, () => minions.putMine(id, mine));
    },
    dropMine: (id) => noting(id, "mine", has(id, "mine"), () => minions.dropMine(id)),
    drop: (id, isNoted) =>
      noting(id, "facts", has(id, "facts"), () => noting(id, "mine", has(id, "mine"), () => minions.drop(id, isNoted))),
  };
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
