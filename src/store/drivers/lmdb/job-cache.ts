/**
 * Job cache in LMDB: `store_shards` files, each with loads (by job id) and returns (by job id and minion id). A return goes first into the log of
 * the writing thread (return-writer.ts); readers of returns read the logs, too.
 * Several threads of one process may have the cache open for writing, and any process may read it. docs/ARCHITECTURE.md, "What lasts".
 */
import { startTimeText } from "../../../wire/jid.ts";
import { openValue } from "../../disk/checked-value.ts";
import { attempt, storeFailed } from "../../disk/store-error.ts";
import { DamageNotes } from "../../jobs/damage-notes.ts";
import { emptyJobCache } from "../../jobs/empty-job-cache.ts";
import { compareNewestFirst, type JobQuery, searchOneByOne } from "../../jobs/facts.ts";
import type {
  Durability,
  JobCache,
  ListOptions,
  LoadRecord,
  LoadToPut,
  PutOutcome,
  ReturnPage,
  ReturnRecord,
  ReturnsFound,
  Trimmed,
  TrimOptions,
} from "../../jobs/job-cache.ts";
import type { FeedKind } from "../../jobs/job-feed.ts";
import { type BinaryDatabase, closeEnvironment } from "../../lmdb/env.ts";
import { bodyIn, type LoggedEntry } from "../../return-log/frames.ts";
import { LoggedReturns } from "../../return-log/logged-returns.ts";
import { jidsInFeeds } from "./feed.ts";
import { type JobIndex, noCacheFlag, postingJids, TermTexts, termKinds } from "./job-index.ts";
import { ensureLayout, hashedVersion, indexedVersion, makeDirectory, markLayoutCurrent, readLayout } from "./layout.ts";
import { addMinionsToLoad, keepLoads, keepNewLoad } from "./loads.ts";
import {
  decodeLoad,
  endIn,
  isReturnOf,
  jidInLoadKey,
  loadKey,
  minionIdIn,
  openShards,
  otherPrefix,
  type ReadShard,
  readShards,
  requestIn,
  returnKey,
  returnRange,
  type Shard,
  shardIndexOf,
  storedEnd,
  storeReturns,
  timePrefix,
} from "./records.ts";
import { ReturnWriter } from "./return-writer.ts";
import { type PageSource, readReturnsPage } from "./returns-page.ts";
import { searchIndex } from "./search.ts";
import { JobTrim } from "./trim.ts";

export type LmdbJobCacheOptions = {
  /** Directory that holds only this cache. */
  readonly path: string;
  readonly shards: number;
  readonly durability: Durability;
  /** Opens for reading only. A cache that does not exist reads as empty. */
  readonly isReadOnly?: boolean | undefined;
  /** Store when each job's last return came. */
  readonly storesEndTime?: boolean | undefined;
  /** Gets each failure of background work, which is tried again, and each damaged record once. Default: a warning of the process. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** Gets a text for each damaged record that an answer leaves out, every time. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
  /** Gets the keys of returns once they are in LMDB. An error that it throws goes to `onFault`. */
  readonly onStored?: ((returnKeys: readonly Buffer[]) => void) | undefined;
  /** How long returns may wait in the log until they go into LMDB, milliseconds. Default: the writer's own. */
  readonly storeDelayMs?: number | undefined;
  /** What is added to the feed. Default: nothing. */
  readonly feeds?: FeedKind | undefined;
};

const none: ReadonlySet<string> = new Set();

/**
 * Every write is a synchronous transaction of the calling thread. lmdb's asynchronous transactions, which run on another thread, cost half as
 * much again. A synchronous transaction that meets one would become a part of it, and would not be durable when it returns.
 */
class LmdbJobCache implements JobCache {
  readonly #path: string;
  /** The shards for writing. Empty if the cache is opened for reading only. */
  readonly #shards: readonly Shard[];
  readonly #readShards: readonly ReadShard[];
  /** Whether the index has every job. If not, a search reads the jobs one by one. */
  readonly #isIndexed: boolean;
  readonly #texts: readonly TermTexts[];
  readonly #isSynced: boolean;
  readonly #storesEndTime: boolean;
  readonly #onFault: (error: Error) => void;
  readonly #onStored: ((returnKeys: readonly Buffer[]) => void) | undefined;
  readonly #storeDelayMs: number | undefined;
  readonly #feeds: FeedKind;
  readonly #damage: DamageNotes;
  readonly #logged: LoggedReturns;
  /** Opened with the first return. A cache that only reads, or stores only loads, needs no log. */
  #writer: ReturnWriter | undefined;
  #trim: JobTrim | undefined;

  constructor(o: LmdbJobCacheOptions, { shards, toWrite, isIndexed }: Opened) {
    this.#path = o.path;
    this.#logged = new LoggedReturns(o.path);
    this.#shards = toWrite;
    this.#readShards = shards;
    this.#isIndexed = isIndexed;
    this.#texts = shards.map(() => new TermTexts());
    this.#storesEndTime = o.storesEndTime ?? false;
    this.#isSynced = o.durability === "fsync";
    this.#onStored = o.onStored;
    this.#storeDelayMs = o.storeDelayMs;
    this.#feeds = o.feeds ?? "none";
    this.#onFault = o.onFault ?? ((error) => process.emitWarning(error));
    this.#damage = new DamageNotes(o.path, { onFault: this.#onFault, onLeftOut: o.onLeftOut });
  }

  async keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    this.#writer ??= attempt("a write failed", () => this.#openWriter());
    return this.#writer.put(batch);
  }

  async keepJobs(jobs: readonly LoadToPut[]): Promise<void> {
    for (const shard of this.#shards) {
      const own = jobs.filter(({ jid }) => this.#homeOf(jid) === shard);
      if (own.length > 0) attempt("a write failed", () => keepLoads(shard, own, this.#fedLoads));
    }
  }

  async keepNewJob(jid: string, make: () => LoadToPut): Promise<void> {
    attempt("a write failed", () => keepNewLoad(this.#homeOf(jid), jid, make, this.#fedLoads));
  }

  async addMinions(jid: string, _syndic: string, minions: readonly string[]): Promise<void> {
    attempt("a write failed", () => addMinionsToLoad(this.#homeOf(jid), jid, minions));
  }

  async job(jid: string): Promise<LoadRecord | undefined> {
    return this.#read(() => {
      const { loads } = this.#shardOf(jid);
      loads.resetReadTxn();
      const bytes = loads.getBinary(loadKey(jid));
      return bytes === undefined ? undefined : decodeLoad(jid, bytes);
    });
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    return this.#read(() => {
      const { loads } = this.#shardOf(jid);
      loads.resetReadTxn();
      return this.#request(jid);
    });
  }

  async returns(jid: string, page: ReturnPage): Promise<ReturnsFound> {
    const source: PageSource = {
      shards: this.#readShards,
      shardOf: (minionId) => this.#shardOf(minionId),
      loggedOf: (start) => this.#loggedOf(start),
      onDamaged: (minionId) => this.#damage.noteReturn(jid, minionId),
    };
    return this.#read(() => readReturnsPage(source, jid, page));
  }

  async returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    return this.#read(() => {
      const wanted = returnKey(jid, minionId);
      const logged = this.#logged.byKey().get(wanted.toString("latin1"));
      const { returns } = this.#shardOf(minionId);
      returns.resetReadTxn();
      const value = returns.getBinary(wanted);
      const body = value === undefined ? undefined : openValue(wanted, value);
      if (value !== undefined && body === undefined) this.#damage.noteReturn(jid, minionId);
      return body ?? (logged === undefined ? undefined : bodyIn(logged));
    });
  }

  async whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return this.#read(() => {
      const { start } = returnRange(jid);
      const logged = new Set(this.#loggedOf(start).map(({ key }) => minionIdIn(key)));
      for (const { returns } of this.#shards) returns.resetReadTxn();
      return minionIds.filter((id) => logged.has(id) || this.#shardOf(id).returns.doesExist(returnKey(jid, id)));
    });
  }

  async list(o: ListOptions): Promise<string[]> {
    return this.#read(() => this.#list(o));
  }

  async find(query: JobQuery): Promise<string[]> {
    return this.#read(() => {
      if (!this.#isIndexed) {
        const all = this.#list({ newestFirst: true, limit: Number.MAX_SAFE_INTEGER });
        return searchOneByOne(all, (jid) => this.#request(jid), query);
      }
      const found = this.#indexes().flatMap((index, at) => {
        index.jobTerms.resetReadTxn();
        const texts = this.#texts[at] ?? new TermTexts();
        return searchIndex({ index, texts, requestOf: (jid) => this.#request(jid) }, query);
      });
      return this.#readShards.length === 1 ? found : found.sort(compareNewestFirst).slice(0, query.limit);
    });
  }

  async endTime(jid: string): Promise<string | undefined> {
    return this.#read(() => {
      const { start } = returnRange(jid);
      const ends = this.#loggedOf(start).map((entry) => endIn(bodyIn(entry)));
      for (const { ends: stored } of this.#readShards) {
        stored?.resetReadTxn();
        const key = loadKey(jid);
        const value = stored?.getBinary(key);
        const end = value === undefined ? undefined : storedEnd(key, value);
        if (value !== undefined && end === undefined) this.#damage.noteEnd(jid);
        ends.push(end);
      }
      const last = ends
        .filter((end) => end !== undefined)
        .sort()
        .at(-1);
      return last === undefined ? undefined : startTimeText(last);
    });
  }

  async unkeptJobs(): Promise<string[]> {
    return this.#read(() => this.#indexes().flatMap((index) => postingJids(index, termKinds.flag, noCacheFlag)));
  }

  async trim(o: TrimOptions): Promise<Trimmed> {
    await this.#writer?.flush();
    const homeOf = (jid: string) => this.#homeOf(jid);
    const held = () => (this.#feeds === "none" ? none : jidsInFeeds(this.#shards));
    this.#trim ??= new JobTrim(this.#shards, { homeOf, held });
    const trim = this.#trim;
    return attempt("old jobs cannot be removed", () => trim.run(o));
  }

  async close(): Promise<void> {
    await this.#writer?.close();
    for (const { environment } of this.#readShards) await closeEnvironment(environment);
  }

  get #fedLoads(): { readonly areFed: boolean } {
    return { areFed: this.#feeds !== "none" };
  }

  /** The returns in all writers' logs of the job whose keys begin with `start`. */
  #loggedOf(start: Buffer): LoggedEntry[] {
    return this.#logged
      .entries()
      .filter(({ key }) => key.subarray(0, start.length).equals(start) && isReturnOf(key, start));
  }

  #openWriter(): ReturnWriter {
    return new ReturnWriter({
      directory: this.#path,
      isSynced: this.#isSynced,
      stored: {
        hasAny: (jid) => this.#hasReturns(jid),
        has: (jid, minionId) => this.#shardOf(minionId).returns.doesExist(returnKey(jid, minionId)),
      },
      store: (entries) => {
        storeReturns(this.#shards, entries, { isEndKept: this.#storesEndTime, areFed: this.#feeds === "all" });
        this.#tellStored(entries);
      },
      onFault: this.#onFault,
      ...(this.#storeDelayMs === undefined ? {} : { storeDelayMs: this.#storeDelayMs }),
    });
  }

  /** Calls `onStored`. Its failure does not matter to the returns, which are stored. */
  #tellStored(entries: readonly LoggedEntry[]): void {
    try {
      this.#onStored?.(entries.map(({ key }) => key));
    } catch (error) {
      this.#onFault(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #hasReturns(jid: string): boolean {
    const { start, end } = returnRange(jid);
    return this.#readShards.some(({ returns }) => {
      returns.resetReadTxn();
      return [...returns.getKeys({ start, end, limit: 1 })].length > 0;
    });
  }

  #shardOf(name: string): ReadShard {
    const shard = this.#readShards[shardIndexOf(name, this.#readShards.length)];
    if (shard === undefined) throw storeFailed("the job cache does not exist yet", undefined);
    return shard;
  }

  #homeOf(jid: string): Shard {
    const shard = this.#shards[shardIndexOf(jid, this.#shards.length)];
    if (shard === undefined) throw storeFailed("the store is open for reading only", undefined);
    return shard;
  }

  #list({ newestFirst, limit, before }: ListOptions): string[] {
    const prefixes = newestFirst ? [timePrefix, otherPrefix] : [otherPrefix, timePrefix];
    const found: string[] = [];
    for (const prefix of prefixes) {
      const jids = this.#readShards.flatMap(({ loads }) => jidsOf(loads, prefix, newestFirst, limit, before));
      jids.sort((a, b) => (a < b === newestFirst ? 1 : -1));
      found.push(...jids);
    }
    return found.slice(0, limit);
  }

  #indexes(): JobIndex[] {
    return this.#readShards.flatMap(({ index }) => (index === undefined ? [] : [index]));
  }

  #request(jid: string): Uint8Array | undefined {
    const key = loadKey(jid);
    const record = this.#shardOf(jid).loads.getBinary(key);
    if (record === undefined) return undefined;
    const request = requestIn(key, record);
    if (request.byteLength === 0) this.#damage.noteLoad(jid);
    return request;
  }

  #read<Result>(step: () => Result): Result {
    return attempt("the job cache cannot be read", step);
  }
}

function jidsOf(
  loads: BinaryDatabase,
  prefix: string,
  newestFirst: boolean,
  limit: number,
  before: string | undefined,
): string[] {
  const low = Buffer.from(prefix, "utf8");
  const high = Buffer.from(
    before === undefined ? String.fromCharCode(prefix.charCodeAt(0) + 1) : prefix + before,
    "utf8",
  );
  loads.resetReadTxn();
  // A range includes its start and excludes its end, also in reverse. So one more key is read, and the filter drops `before` itself.
  const range = newestFirst
    ? { start: high, end: low, reverse: true, limit: limit + 1 }
    : { start: low, end: high, limit };
  const jids = Array.from(loads.getKeys(range), jidInLoadKey);
  return jids.filter((jid) => before === undefined || jid < before).slice(0, limit);
}

/**
 * Opens the cache, or makes a new one. An existing cache keeps its number of files, which `reshardJobCache` changes, and stays without an index
 * if it has none, until `indexJobCache` builds it.
 *
 * @throws SaltworksError STORE_FAILED, STORE_DAMAGED
 */
export function openLmdbJobCache(o: LmdbJobCacheOptions): JobCache {
  const isReadOnly = o.isReadOnly ?? false;
  const opened = isReadOnly ? openToRead(o.path) : openToWrite(o);
  return opened === undefined ? emptyJobCache : new LmdbJobCache(o, opened);
}

type Opened = {
  readonly shards: readonly ReadShard[];
  readonly toWrite: readonly Shard[];
  readonly isIndexed: boolean;
};

function openToRead(path: string): Opened | undefined {
  const layout = readLayout(path);
  if (layout === undefined) return undefined;
  return { shards: readShards(path, layout), toWrite: [], isIndexed: layout.version >= indexedVersion };
}

/** Writes the layout file last, because readers open the cache as soon as it exists. */
function openToWrite({ path, shards: shardCount, durability }: LmdbJobCacheOptions): Opened {
  const count = readLayout(path)?.shards ?? shardCount;
  makeDirectory(path);
  const shards = openShards(path, count, durability === "fsync");
  const layout = ensureLayout(path, count);
  if (layout.version === hashedVersion - 1) markLayoutCurrent(path, layout);
  const { version } = layout;
  return { shards, toWrite: shards, isIndexed: version >= indexedVersion };
}
