/** Logs what workers refused, so that operators learn without counters why old minions stay away. */

const prefix = "refused.";

export class Refusals {
  #former: ReadonlyMap<string, number> = new Map();
  readonly #onRefused: (counts: Readonly<Record<string, number>>) => void;

  constructor(onRefused: (counts: Readonly<Record<string, number>>) => void) {
    this.#onRefused = onRefused;
  }

  /** Reports how often each reason came since the last call, if any did. */
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
