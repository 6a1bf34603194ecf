/**
 * Counts in shared memory how often cached pillars were forgotten, so that a pillar whose rendering began before that is not cached. All minions
 * share `forgetCountsMax` counts, so forgetting one minion's pillars may also prevent that another's is cached.
 */
import { forgetCountsMax } from "../../limits.ts";
import { createPartitionKey, Partitioner } from "./partition.ts";

/** A minion's count at one moment. */
export type ForgetMark = { readonly counts: SharedArrayBuffer; readonly place: number; readonly count: number };

export class ForgetCounts {
  readonly #counts = new Int32Array(new SharedArrayBuffer(forgetCountsMax * Int32Array.BYTES_PER_ELEMENT));
  readonly #places = new Partitioner(createPartitionKey(), forgetCountsMax);

  /** Callers call this before they remove the minion's pillars. */
  note(id: string): void {
    Atomics.add(this.#counts, this.#places.partitionOf(id), 1);
  }

  mark(id: string): ForgetMark {
    const place = this.#places.partitionOf(id);
    return { counts: this.#counts.buffer, place, count: Atomics.load(this.#counts, place) };
  }
}

/** Whether the minion's pillars were forgotten since the mark. May be called in any thread. */
export function isForgottenSince({ counts, place, count }: ForgetMark): boolean {
  return Atomics.load(new Int32Array(counts), place) !== count;
}
