/** Reports in the log what workers refused since the last look. From it operators learn without metrics why old minions stay away. */

const prefix = "refused.";

export class RefusedCounts {
  #former: ReadonlyMap<string, number> = new Map();
  readonly #onRefused: (counts: Readonly<Record<string, number>>) => void;

  constructor(onRefused: (counts: Readonly<Record<string, number>>) => void) {
    this.#onRefused = onRefused;
  }

  /** Reports the count of each reason since the last call, if any request was refused. */
  note(workers: readonly Readonly<Record<string, number>>[]): void {
    const sums = new Map<string, number>();
    for (const counters of workers) {
      for (const [name, count] of Object.entries(counters))
        if (name.startsWith(prefix)) sums.set(name, (sums.get(name) ?? 0) + count);
    }
    const increases: Record<string, number> = {};
    for (const [name, sum] of sums) {
      const former = this.#former.get(name) ?? 0;
      // A replaced worker counts from 0 again.
      const increase = sum >= former ? sum - former : sum;
      if (increase > 0) increases[name.slice(prefix.length)] = increase;
    }
    this.#former = sums;
    if (Object.keys(increases).length > 0) this.#onRefused(increases);
  }
}
