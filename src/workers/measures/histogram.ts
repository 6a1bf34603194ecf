/**
 * Counts measured values in fixed buckets. One observation costs a binary search among twenty numbers, cheap enough for every batch.
 * Readers take the difference of two snapshots.
 */

/** `counts[i]`: number of values over `bounds[i - 1]` and up to `bounds[i]`. The last count is of values over every bound. */
export type HistogramSnapshot = {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
};

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** @param bounds in ascending order */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (bounds[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    this.#counts[low] = (this.#counts[low] ?? 0) + 1;
    this.#sum += value;
  }

  snapshot(): HistogramSnapshot {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }
}

/** Buckets of stages and waits, seconds: from a small batch's decryption to a hung disk. */
export const secondsBounds: readonly number[] = [
  0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30,
];
/** Buckets of a batch's items. Batches of more than 256, by a higher `batch_max_frames`, count in the last bucket. */
export const itemsBounds: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Buckets of the event loop's delay, seconds. A timer's rounding hides delays below 2 ms. */
export const delayBounds: readonly number[] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
