/**
 * The table of a feed in one file of the LMDB job cache. An entry's key is its place, a number that grows; its value is the time of storing, a letter
 * for its kind, and the key of the job or return. docs/decisions/0030-job-feed.md.
 */
import { feedEntriesMax } from "../../../limits.ts";
import type { BinaryDatabase } from "../../lmdb/env.ts";

const placeBytes = 8;
const timeBytes = 8;
const keyAt = timeBytes + 1;
export const jobKind = 1;
export const returnKind = 2;
/** It is shorter than any place, so it sorts before all. Its value is where `refill` goes on: a kind and a key, or nothing. */
export const missingKey = Buffer.from([0]);
export const firstPlace = Buffer.alloc(placeBytes);
/** Entries are short and adjacent, so dozens share a page. */
const entriesPerPage = 8;

/** Upper bound of the pages that adding or removing entries changes. */
export function feedPages(entries: number): number {
  return 1 + Math.ceil(entries / entriesPerPage);
}

/**
 * Adds entries to the end, in the caller's transaction. A full feed takes no more: it notes that something is missing, which `refill` adds later.
 *
 * @param keys of jobs or of returns, as `kind` says
 */
export function appendToFeed(
  feed: BinaryDatabase,
  kind: number,
  keys: readonly Buffer[],
  entriesMax = feedEntriesMax,
): void {
  if (keys.length === 0) return;
  if (countOf(feed) + keys.length > entriesMax) {
    feed.putSync(missingKey, Buffer.alloc(0));
    return;
  }
  const [last] = feed.getKeys({ reverse: true, limit: 1 });
  let place = last === undefined || !isPlace(last) ? 0n : last.readBigUInt64BE();
  const time = Buffer.alloc(timeBytes);
  time.writeDoubleBE(Date.now());
  for (const key of keys) {
    place += 1n;
    const placeKey = Buffer.alloc(placeBytes);
    placeKey.writeBigUInt64BE(place);
    feed.putSync(placeKey, Buffer.concat([time, Buffer.of(kind), key]));
  }
}

/** Whether a key in the table is an entry's place. */
export function isPlace(key: Buffer): boolean {
  return key.length === placeBytes;
}

export function countOf(feed: BinaryDatabase): number {
  return (feed.getStats() as { readonly entryCount: number }).entryCount;
}

/** The parts of an entry's value. `key`: of the job or return. */
export function partsOf(value: Buffer): { readonly storedMs: number; readonly kind: number; readonly key: Buffer } {
  return { storedMs: value.readDoubleBE(), kind: value[timeBytes] ?? 0, key: value.subarray(keyAt) };
}
