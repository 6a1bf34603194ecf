/**
 * Marks in shared memory of the threads that are within a transaction of LMDB. A thread that is ended there keeps the lock of the data file until
 * the process ends, and its own end waits for that lock, so only a thread without a mark may be ended.
 */
import { threadId } from "node:worker_threads";

/** More than a process has threads at a time. Ids grow by one with each thread. */
const placesCount = 1_024;

let own: Int32Array | undefined;

export function newTransactionMarks(): SharedArrayBuffer {
  return new SharedArrayBuffer(placesCount * Int32Array.BYTES_PER_ELEMENT);
}

/** From now on this thread marks its transactions. A thread that had its place before may have died within one. */
export function markTransactions(memory: SharedArrayBuffer): void {
  own = new Int32Array(memory);
  Atomics.store(own, threadId % placesCount, 0);
}

/** Runs a transaction of this thread. */
export function marked<Result>(transaction: () => Result): Result {
  if (own === undefined) return transaction();
  const place = threadId % placesCount;
  Atomics.add(own, place, 1);
  try {
    return transaction();
  } finally {
    Atomics.sub(own, place, 1);
  }
}

export function isInTransaction(memory: SharedArrayBuffer, ofThread: number): boolean {
  return Atomics.load(new Int32Array(memory), ofThread % placesCount) > 0;
}
