/**
 * Minions' questions that wait for a place: minions take turns, and one minion has few questions that wait and fewer under way, so that
 * none of them can hold up the others by asking much. Pure.
 */

export type MinionTurnsLimits = {
  readonly underWayMax: number;
  readonly ofOneMinion: { readonly waitingMax: number; readonly underWayMax: number };
};

export class MinionTurns<Item extends { readonly id: string }> {
  readonly #limits: MinionTurnsLimits;
  /** By minion, the next in turn first; none is empty. */
  readonly #lines = new Map<string, Item[]>();
  readonly #underWay = new Map<string, number>();
  #underWayCount = 0;

  constructor(limits: MinionTurnsLimits) {
    this.#limits = limits;
  }

  get underWay(): number {
    return this.#underWayCount;
  }

  /** @returns false if the minion has all its places already */
  offer(item: Item): boolean {
    const line = this.#lines.get(item.id) ?? [];
    if (line.length >= this.#limits.ofOneMinion.waitingMax) return false;
    line.push(item);
    this.#lines.set(item.id, line);
    return true;
  }

  /** The next in turn, under way until `done`; undefined if none may begin now. */
  take(): Item | undefined {
    if (this.#underWayCount >= this.#limits.underWayMax) return undefined;
    // Passes over those minions alone that have some under way: not many.
    for (const [id, line] of this.#lines) {
      const ownCount = this.#underWay.get(id) ?? 0;
      if (ownCount >= this.#limits.ofOneMinion.underWayMax) continue;
      const item = line.shift();
      this.#lines.delete(id);
      if (line.length > 0) this.#lines.set(id, line);
      this.#underWay.set(id, ownCount + 1);
      this.#underWayCount += 1;
      return item;
    }
    return undefined;
  }

  done({ id }: Item): void {
    const leftCount = (this.#underWay.get(id) ?? 0) - 1;
    if (leftCount > 0) this.#underWay.set(id, leftCount);
    else this.#underWay.delete(id);
    this.#underWayCount -= 1;
  }
}
