/**
 * The table of a feed in one file of the LMDB job cache. A record is a page of entries that were stored together, because a record for each entry
 * takes several times as long to write, to read and to remove. docs/decisions/0030-job-feed.md has its form.
 */
import { feedEntriesMax } from "../../../limits.ts";
import type { FeedPlace } from "../../jobs/job-feed.ts";
import type { BinaryDatabase } from "../../lmdb/env.ts";

const placeBytes = 8;
const timeBytes = 8;
const kindAt = timeBytes;
const keysAt = kindAt + 1;
export const jobKind = 1;
export const returnKind = 2;
/** Added to the kind of a page. Records of an earlier release have one entry, whose key is all that follows the kind. */
const pageFlag = 4;
const lengthBytes = 2;
/** Two pages of the table share a page of the file. */
const pageBytesMax = 1_900;
/** Keys that are not places are shorter, so they sort before all. The value of this one is where `refill` goes on: a kind and a key, or nothing. */
export const missingKey = Buffer.from([0]);
/** Its value is the number of entries. A table of an earlier release lacks it. */
const countKey = Buffer.from([0, 0]);
const firstPlace = Buffer.alloc(placeBytes);
/** Entries that share a page of the file, if their ids are the longest. */
const entriesPerPage = 8;

export type KeyAtPlace = FeedPlace & { readonly key: Buffer };
export type FeedPage = {
  readonly number: number;
  readonly storedMs: number;
  readonly kind: number;
  /** Keys of the entries that have not left. */
  readonly keys: readonly KeyAtPlace[];
};

/** Upper bound of the file's pages that adding or removing entries changes. */
export function feedPages(entries: number): number {
  return 2 + Math.ceil(entries / entriesPerPage);
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
  const waiting = waitingIn(feed);
  if (waiting + keys.length > entriesMax) {
    feed.putSync(missingKey, Buffer.alloc(0));
    return;
  }
  const [last] = feed.getKeys({ reverse: true, limit: 1 });
  let page = last === undefined || !isPlace(last) ? 0 : numberOf(last);
  for (let at = 0; at < keys.length; ) {
    const count = fitting(keys, at);
    page += 1;
    feed.putSync(keyOf(page), pageOf(kind, Date.now(), keys.slice(at, at + count)));
    at += count;
  }
  noteWaiting(feed, waiting + keys.length);
}

/** How many keys from `at` on go into one page, at least one. */
function fitting(keys: readonly Buffer[], at: number): number {
  let bytes = keysAt;
  for (let end = at; end < keys.length; end += 1) {
    bytes += lengthBytes + (keys[end]?.byteLength ?? 0);
    if (bytes > pageBytesMax && end > at) return end - at;
  }
  return keys.length - at;
}

function pageOf(kind: number, storedMs: number, keys: readonly Buffer[]): Buffer {
  const value = Buffer.allocUnsafe(keys.reduce((sum, key) => sum + lengthBytes + key.byteLength, keysAt));
  value.writeDoubleBE(storedMs);
  value[kindAt] = kind + pageFlag;
  let at = keysAt;
  for (const key of keys) {
    value.writeUInt16BE(key.byteLength, at);
    value.set(key, at + lengthBytes);
    at += lengthBytes + key.byteLength;
  }
  return value;
}

/** The pages from a place on, oldest first. What they hold is valid as long as it is kept. */
export function* pagesFrom(feed: BinaryDatabase, after?: FeedPlace): Generator<FeedPage> {
  const start = after === undefined ? firstPlace : keyOf(after.page);
  for (const { key, value } of feed.getRange({ start })) {
    const page = pageIn(key, Buffer.from(value));
    if (after === undefined || page.number > after.page) yield page;
    else yield { ...page, keys: page.keys.filter(({ index }) => index > after.index) };
  }
}

function pageIn(place: Buffer, value: Buffer): FeedPage {
  const [number, storedMs, kind] = [numberOf(place), value.readDoubleBE(), value[kindAt] ?? 0];
  if (kind < pageFlag)
    return { number, storedMs, kind, keys: [{ page: number, index: 0, key: value.subarray(keysAt) }] };
  const keys: KeyAtPlace[] = [];
  for (let at = keysAt, index = 0; at + lengthBytes <= value.byteLength; index += 1) {
    const start = at + lengthBytes;
    at = start + value.readUInt16BE(at);
    if (at > start) keys.push({ page: number, index, key: value.subarray(start, at) });
  }
  return { number, storedMs, kind: kind - pageFlag, keys };
}

/** Removes entries, in the caller's transaction. A page of which some stay keeps an empty key for each that has left, so places stay what they are. */
export function removeFromFeed(feed: BinaryDatabase, places: readonly FeedPlace[]): void {
  const waiting = waitingIn(feed);
  let removed = 0;
  for (let at = 0; at < places.length; ) {
    const number = places[at]?.page ?? 0;
    const left = new Set<number>();
    for (; places[at]?.page === number; at += 1) left.add(places[at]?.index ?? 0);
    removed += removeFromPage(feed, number, left);
  }
  noteWaiting(feed, waiting - removed);
}

/** @returns how many have left */
function removeFromPage(feed: BinaryDatabase, number: number, left: ReadonlySet<number>): number {
  const place = keyOf(number);
  const value = feed.getBinary(place);
  if (value === undefined) return 0;
  const { kind, keys, storedMs } = pageIn(place, value);
  const staying = keys.filter(({ index }) => !left.has(index));
  if (staying.length === 0) feed.removeSync(place);
  else if (staying.length < keys.length) {
    const all: Buffer[] = Array((staying.at(-1)?.index ?? 0) + 1).fill(Buffer.alloc(0));
    for (const { index, key } of staying) all[index] = key;
    feed.putSync(place, pageOf(kind, storedMs, all));
  }
  return keys.length - staying.length;
}

/** Entries that wait. */
export function waitingIn(feed: BinaryDatabase): number {
  const noted = feed.getBinary(countKey);
  if (noted !== undefined) return noted.readDoubleBE();
  // A table of an earlier release, whose records have one entry each.
  return countOf(feed) - (feed.doesExist(missingKey) ? 1 : 0);
}

function noteWaiting(feed: BinaryDatabase, waiting: number): void {
  const value = Buffer.alloc(timeBytes);
  value.writeDoubleBE(waiting);
  feed.putSync(countKey, value);
}

function isPlace(key: Buffer): boolean {
  return key.length === placeBytes;
}

function numberOf(place: Buffer): number {
  return Number(place.readBigUInt64BE());
}

function keyOf(page: number): Buffer {
  const key = Buffer.allocUnsafe(placeBytes);
  key.writeBigUInt64BE(BigInt(page));
  return key;
}

/** Records of a table. */
export function countOf(table: BinaryDatabase): number {
  return (table.getStats() as { readonly entryCount: number }).entryCount;
}
