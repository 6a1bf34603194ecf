/**
 * Counts measured values in fixed buckets. One observation costs a search among twenty numbers, so that batches can be measured as they run.
 * Readers take the difference of two snapshots.
 */

/** `counts[i]`: values up to `bounds[i]` and over the bound before; the last one: values over every bound. */
export type HistogramSnapshot = {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
};

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` ascend. */
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

/** Stages and waits, seconds: from a small batch's decryption to a hung disk. */
export const secondsBounds: readonly number[] = [
  0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30,
];
/** Items of a batch. Larger batches, with a higher `batch_max_frames`, count in the last bucket. */
export const itemsBounds: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** Event-loop delay, seconds. Below 2 ms a timer's rounding hides it. */
export const delayBounds: readonly number[] = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
