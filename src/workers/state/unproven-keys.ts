/**
 * Counts the key files that unknown clients have caused: pending keys, and keys that `autoreject_file` rejected. All workers share the counts.
 * Other programs may remove such files, so the files are counted anew when a count is at its bound.
 */
import { keyRecountMs } from "../../limits.ts";
import type { KeyDirectories } from "../../store/keys/keys.ts";

export type UnprovenState = "pending" | "rejected";

/** Indices in the shared memory. */
const placeOf: Readonly<Record<UnprovenState, number>> = { pending: 0, rejected: 1 };
const uncounted = -1;

/** Makes the shared counts, which every worker gets as it starts. */
export function createKeyCounts(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(Object.keys(placeOf).length * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(memory).fill(uncounted);
  return memory;
}

/** The number of pending keys by the shared count; 0 before the first count. */
export function pendingCount(memory: SharedArrayBuffer): number {
  return Math.max(0, Atomics.load(new Int32Array(memory), placeOf.pending));
}

export class UnprovenKeys {
  readonly #counts: Int32Array;
  readonly #keys: Pick<KeyDirectories, "list">;
  readonly #max: number;
  readonly #countedMs: Record<UnprovenState, number> = {
    pending: Number.NEGATIVE_INFINITY,
    rejected: Number.NEGATIVE_INFINITY,
  };

  constructor(memory: SharedArrayBuffer, keys: Pick<KeyDirectories, "list">, max: number) {
    this.#counts = new Int32Array(memory);
    this.#keys = keys;
    this.#max = max;
  }

  /** Counts one more file. @returns false at the bound; then the caller must not write the file */
  take(state: UnprovenState, nowMs: number): boolean {
    const place = placeOf[state];
    const known = Atomics.load(this.#counts, place);
    const isDue = known === uncounted || (known >= this.#max && nowMs - this.#countedMs[state] >= keyRecountMs);
    if (isDue) {
      Atomics.store(this.#counts, place, this.#keys.list(state).length);
      this.#countedMs[state] = nowMs;
    }
    if (Atomics.add(this.#counts, place, 1) < this.#max) return true;
    Atomics.sub(this.#counts, place, 1);
    return false;
  }
}
