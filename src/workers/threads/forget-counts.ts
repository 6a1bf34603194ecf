/**
 * How often kept pillars were forgotten, in memory that all threads see: a rendering that began before must not keep what it gives. Minions
 * share a number of counts, so that forgetting one minion may cost another a pillar that is then not kept.
 */
import { forgetCountsMax } from "../../limits.ts";
import { createPartitionKey, Partitioner } from "./partition.ts";

/** A minion's count as it was. */
export type ForgetMark = { readonly counts: SharedArrayBuffer; readonly place: number; readonly count: number };

export class ForgetCounts {
  readonly #counts = new Int32Array(new SharedArrayBuffer(forgetCountsMax * Int32Array.BYTES_PER_ELEMENT));
  readonly #places = new Partitioner(createPartitionKey(), forgetCountsMax);

  /** Before anything is removed. */
  note(id: string): void {
    Atomics.add(this.#counts, this.#places.partitionOf(id), 1);
  }

  mark(id: string): ForgetMark {
    const place = this.#places.partitionOf(id);
    return { counts: this.#counts.buffer, place, count: Atomics.load(this.#counts, place) };
  }
}

/** In any thread. */
export function isForgottenSince({ counts, place, count }: ForgetMark): boolean {
  return Atomics.load(new Int32Array(counts), place) !== count;
}
