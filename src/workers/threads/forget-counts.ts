/**
 * Counts in shared memory how often kept pillars were forgotten, so that a rendering that began before is not kept. `forgetCountsMax` counts
 * serve all minions: forgetting one minion may keep another's pillar from being kept.
 */
import { forgetCountsMax } from "../../limits.ts";
import { createPartitionKey, Partitioner } from "./partition.ts";

/** A minion's count at one moment. */
export type ForgetMark = { readonly counts: SharedArrayBuffer; readonly place: number; readonly count: number };

export class ForgetCounts {
  readonly #counts = new Int32Array(new SharedArrayBuffer(forgetCountsMax * Int32Array.BYTES_PER_ELEMENT));
  readonly #places = new Partitioner(createPartitionKey(), forgetCountsMax);

  /** Called before the removal. */
  note(id: string): void {
    Atomics.add(this.#counts, this.#places.partitionOf(id), 1);
  }

  mark(id: string): ForgetMark {
    const place = this.#places.partitionOf(id);
    return { counts: this.#counts.buffer, place, count: Atomics.load(this.#counts, place) };
  }
}

/** Works in any thread. */
export function isForgottenSince({ counts, place, count }: ForgetMark): boolean {
  return Atomics.load(new Int32Array(counts), place) !== count;
}
