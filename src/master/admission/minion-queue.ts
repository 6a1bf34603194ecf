/**
 * A fair queue of minions' questions: round robin over minions. Each minion may have few questions waiting and under way, so that one with many does
 * not delay others. If all together have too many, a minion with the most loses its newest. Pure.
 */

export type MinionQueueLimits = {
  readonly underWayMax: number;
  readonly ofOneMinion: { readonly waitingMax: number; readonly underWayMax: number };
};

export class MinionQueue<Item extends { readonly id: string }> {
  readonly #limits: MinionQueueLimits;
  /** Non-empty lines by minion, the next in turn first. */
  readonly #lines = new Map<string, Item[]>();
  /** Minions by the number of their waiting questions: index n holds the minions with n. */
  readonly #byWaiting: Set<string>[] = [];
  readonly #underWay = new Map<string, number>();
  #underWayCount = 0;

  constructor(limits: MinionQueueLimits) {
    this.#limits = limits;
  }

  get underWay(): number {
    return this.#underWayCount;
  }

  waitingOf(id: string): number {
    return this.#lines.get(id)?.length ?? 0;
  }

  /** Waiting questions of the minion with the most. */
  get mostWaiting(): number {
    return Math.max(
      0,
      this.#byWaiting.findLastIndex((ids) => ids.size > 0),
    );
  }

  /** @returns false if all places of the minion are taken */
  offer(item: Item): boolean {
    const line = this.#lines.get(item.id) ?? [];
    if (line.length >= this.#limits.ofOneMinion.waitingMax) return false;
    line.push(item);
    this.#lines.set(item.id, line);
    this.#moved(item.id, line.length - 1, line.length);
    return true;
  }

  /** Removes the newest question of a minion with the most; undefined if none waits. */
  giveUp(): Item | undefined {
    const most = this.mostWaiting;
    const [id] = this.#byWaiting[most] ?? [];
    const line = id === undefined ? undefined : this.#lines.get(id);
    if (id === undefined || line === undefined) return undefined;
    const item = line.pop();
    if (line.length === 0) this.#lines.delete(id);
    this.#moved(id, most, most - 1);
    return item;
  }

  /** The next in turn, under way until `done`; undefined if none may begin now. */
  take(): Item | undefined {
    if (this.#underWayCount >= this.#limits.underWayMax) return undefined;
    // Skips only minions with questions under way, which are few.
    for (const [id, line] of this.#lines) {
      const ownCount = this.#underWay.get(id) ?? 0;
      if (ownCount >= this.#limits.ofOneMinion.underWayMax) continue;
      const item = line.shift();
      this.#lines.delete(id);
      if (line.length > 0) this.#lines.set(id, line);
      this.#moved(id, line.length + 1, line.length);
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

  #moved(id: string, from: number, to: number): void {
    this.#byWaiting[from]?.delete(id);
    if (to === 0) return;
    while (this.#byWaiting.length <= to) this.#byWaiting.push(new Set());
    this.#byWaiting[to]?.add(id);
  }
}

/** Removes a question of a minion with the most, to make room for a new one of `id`. @returns undefined if no minion has more than `id` would have */
export function givenUpFor<Item extends { readonly id: string }>(
  id: string,
  turns: readonly MinionQueue<Item>[],
): Item | undefined {
  let ownCount = 0;
  let [crowded] = turns;
  for (const each of turns) {
    ownCount += each.waitingOf(id);
    if (each.mostWaiting > (crowded?.mostWaiting ?? 0)) crowded = each;
  }
  return crowded !== undefined && crowded.mostWaiting > ownCount + 1 ? crowded.giveUp() : undefined;
}
