/** The feed of the LMDB job cache: a table in each of its files, of which this reads and removes the oldest entries. docs/decisions/0030-job-feed.md. */
import { openValue } from "../../disk/checked-value.ts";
import { attempt } from "../../disk/store-error.ts";
import type { FeedEntry, FeedPlace, FeedRead, FeedState, JobFeed } from "../../jobs/job-feed.ts";
import { type BinaryDatabase, transact } from "../../lmdb/env.ts";
import {
  appendToFeed,
  countOf,
  type FeedPage,
  feedPages,
  jobKind,
  type KeyAtPlace,
  missingKey,
  pagesFrom,
  removeFromFeed,
  returnKind,
  waitingIn,
} from "./feed-table.ts";
import {
  closeShards,
  expectedIn,
  jidInLoadKey,
  jidInReturnKey,
  minionIdIn,
  requestIn,
  type Shard,
  shardIndexOf,
} from "./records.ts";

/** Waiting entries whose jobs are looked up before old jobs are removed. Over it no job is removed. */
const feedHoldsMax = 10_000;

/** Jobs that wait in the feed, which must not be removed from the store yet; "all" if too many wait to be listed. */
export function jidsInFeeds(shards: readonly Shard[]): ReadonlySet<string> | "all" {
  for (const { feed } of shards) feed.resetReadTxn();
  const isLong = shards.some(({ feed }) => waitingIn(feed) > feedHoldsMax || feed.doesExist(missingKey));
  if (isLong) return "all";
  return new Set(shards.flatMap(({ feed }) => Array.from(pagesFrom(feed)).flatMap(jidsIn)));
}

function jidsIn({ kind, keys }: FeedPage): string[] {
  return keys.map(({ key }) => jidIn(kind, key));
}

function jidIn(kind: number, key: Buffer): string {
  return kind === jobKind ? jidInLoadKey(key) : jidInReturnKey(key);
}

/** Moves all entries into the first file of a cache that is made anew with another number of files. */
export function copyFeeds(from: readonly { readonly feed?: BinaryDatabase }[], [to]: readonly Shard[]): void {
  if (to === undefined) return;
  for (const { feed } of from) {
    if (feed === undefined) continue;
    feed.resetReadTxn();
    const pages = Array.from(pagesFrom(feed));
    const isMissing = feed.doesExist(missingKey);
    transact(to.environment, { records: feedPages(waitingIn(feed)), bytes: 0 }, () => {
      for (const kind of [jobKind, returnKind]) {
        const own = pages.filter((page) => page.kind === kind);
        appendToFeed(
          to.feed,
          kind,
          own.flatMap(({ keys }) => keys.map(({ key }) => key)),
        );
      }
      if (isMissing) to.feed.putSync(missingKey, Buffer.alloc(0));
    });
  }
}

/** Forgets what waits, because the configuration no longer names a database. */
export function clearFeeds(shards: readonly Shard[]): void {
  for (const { environment, feed } of shards) {
    if (countOf(feed) > 0) transact(environment, { records: 1, bytes: 0 }, () => feed.clearSync());
  }
}

export class LmdbJobFeed implements JobFeed {
  readonly #shards: readonly Shard[];

  constructor(shards: readonly Shard[]) {
    this.#shards = shards;
  }

  get partCount(): number {
    return this.#shards.length;
  }

  read(part: number, { after, limit, bytesMax }: FeedRead): readonly FeedEntry[] {
    return attempt("the feed cannot be read", () => {
      for (const { feed, returns, loads } of this.#shards)
        for (const database of [feed, returns, loads]) database.resetReadTxn();
      const found: FeedEntry[] = [];
      let bytes = 0;
      for (const { kind, keys } of pagesFrom(this.#shard(part).feed, after))
        for (const place of keys) {
          const entry = this.#entryOf(kind, place);
          found.push(entry);
          bytes += entry.kind === "return" ? entry.body.byteLength : entry.kind === "job" ? entry.load.byteLength : 0;
          if (found.length === limit || bytes >= bytesMax) return found;
        }
      return found;
    });
  }

  remove(part: number, places: readonly FeedPlace[]): void {
    if (places.length === 0) return;
    const { environment, feed } = this.#shard(part);
    attempt("the feed cannot be written", () =>
      transact(environment, { records: feedPages(places.length), bytes: 0 }, () => removeFromFeed(feed, places)),
    );
  }

  refill(part: number, limit: number): boolean {
    const { environment, feed, loads, returns } = this.#shard(part);
    feed.resetReadTxn();
    if (!feed.doesExist(missingKey)) return false;
    attempt("the feed cannot be written", () =>
      transact(environment, { records: feedPages(limit), bytes: 0 }, () => {
        const at = Buffer.from(feed.getBinary(missingKey) ?? Buffer.alloc(0));
        const kind = at[0] ?? jobKind;
        const table = kind === jobKind ? loads : returns;
        const range = at.length > 1 ? { start: at.subarray(1), exclusiveStart: true } : {};
        const keys = Array.from(table.getKeys({ ...range, limit }), (key) => Buffer.from(key));
        appendToFeed(feed, kind, keys);
        const last = keys.at(-1);
        if (keys.length === limit && last !== undefined)
          feed.putSync(missingKey, Buffer.concat([Buffer.of(kind), last]));
        else if (kind === jobKind) feed.putSync(missingKey, Buffer.of(returnKind));
        else feed.removeSync(missingKey);
      }),
    );
    return true;
  }

  state(): FeedState {
    let [waiting, isMissing] = [0, false];
    let oldestMs: number | undefined;
    for (const { feed } of this.#shards) {
      feed.resetReadTxn();
      waiting += waitingIn(feed);
      isMissing ||= feed.doesExist(missingKey);
      for (const { storedMs } of pagesFrom(feed)) {
        oldestMs = Math.min(oldestMs ?? Number.POSITIVE_INFINITY, storedMs);
        break;
      }
    }
    return { waiting, oldestMs, isMissing };
  }

  async close(): Promise<void> {
    await closeShards(this.#shards);
  }

  #shard(part: number): Shard {
    const shard = this.#shards[part];
    if (shard === undefined) throw new RangeError(`the feed has no part ${part}`);
    return shard;
  }

  /** A cache whose number of files changed has entries that are not in the file of their record. */
  #entryOf(kind: number, place: KeyAtPlace): FeedEntry {
    const { key } = place;
    const isJob = kind === jobKind;
    const jid = jidIn(kind, key);
    const minionId = isJob ? "" : minionIdIn(key);
    const home = this.#shard(shardIndexOf(isJob ? jid : minionId, this.#shards.length));
    const stored = (isJob ? home.loads : home.returns).getBinary(key);
    if (stored === undefined) return { place, jid, kind: "gone" };
    // `getBinary` has copied the record, so it outlives the read transaction.
    if (isJob) {
      const load = requestIn(key, stored);
      if (load.byteLength === 0) return { place, jid, kind: "damaged" };
      return { place, jid, kind: "job", load, expected: () => expectedIn(key, stored) };
    }
    const body = openValue(key, stored);
    return body === undefined ? { place, jid, kind: "damaged" } : { place, jid, kind: "return", minionId, body };
  }
}
