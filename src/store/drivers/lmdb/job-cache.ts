/**
 * Job cache in LMDB: `store_shards` files, each with loads (by job id) and returns (by job id and minion id); returns go first through a log
 * per writing thread (return-writer.ts), which readers of returns look into as well.
 * Many threads of one process may have it open at once, and any process may read it. docs/ARCHITECTURE.md, "What lasts".
 */
import { startTimeText } from "../../../wire/jid.ts";
import { openValue } from "../../disk/checked-value.ts";
import { attempt, storeFailed } from "../../disk/store-error.ts";
import { emptyJobCache } from "../../jobs/empty-job-cache.ts";
import { compareNewestFirst, type JobQuery, searchOneByOne } from "../../jobs/facts.ts";
import {
  compareIds,
  type Durability,
  type JobStore,
  type KeptAmount,
  type ListOptions,
  type LoadRecord,
  type LoadToPut,
  type PutOutcome,
  type ReturnPage,
  type ReturnRecord,
  type StoredReturn,
  type Trimmed,
  type TrimOptions,
} from "../../jobs/job-cache.ts";
import { type BinaryDatabase, closeEnvironment } from "../../lmdb/env.ts";
import { bodyIn, type LoggedEntry } from "../../log/frames.ts";
import { LoggedReturns } from "../../log/logged-returns.ts";
import { DamageNotes } from "./damage-notes.ts";
import { type JobIndex, noCacheFlag, postingJids, TermTexts, termKinds } from "./job-index.ts";
import { ensureLayout, hashedVersion, indexedVersion, makeDirectory, markLayoutCurrent, readLayout } from "./layout.ts";
import { keepLoads, keepNewLoad } from "./loads.ts";
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
import { searchIndex } from "./search.ts";
import { cutOf, trimShards } from "./trim.ts";

export type LmdbJobCacheOptions = {
  /** A directory of its own. */
  readonly path: string;
  readonly shards: number;
  readonly durability: Durability;
  /** Never makes or changes anything; a cache that isn't there reads as empty. */
  readonly isReadOnly?: boolean | undefined;
  /** Note when each job's last return came. */
  readonly storesEndTime?: boolean | undefined;
  /** Work in the background failed, to be tried again. Without it: a warning of the process. */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** Told in words, each time, what an answer lacks because its record is damaged; `onFault` gets each such record once. */
  readonly onLeftOut?: ((text: string) => void) | undefined;
  /** Gets the keys of returns that are in the store now, for whatever else wants them. What it throws goes to `onFault`. */
  readonly onStored?: ((returnKeys: readonly Buffer[]) => void) | undefined;
  /** How long returns may wait in the log, milliseconds, where that is less than usual. */
  readonly storeDelayMs?: number | undefined;
};

/**
 * Every write is a transaction of the calling thread's own: handing it to another thread costs half as much again, and lmdb would make
 * a transaction that meets one handed over a part of that, not durable when it returns.
 */
class LmdbJobCache implements JobStore {
  readonly #path: string;
  /** For writing. Empty if the cache is opened for reading. */
  readonly #shards: readonly Shard[];
  readonly #readShards: readonly ReadShard[];
  /** Whether the index has every job; otherwise they are looked through. */
  readonly #isIndexed: boolean;
  readonly #texts: readonly TermTexts[];
  readonly #isSynced: boolean;
  readonly #storesEndTime: boolean;
  readonly #onFault: (error: Error) => void;
  readonly #onStored: ((returnKeys: readonly Buffer[]) => void) | undefined;
  readonly #storeDelayMs: number | undefined;
  readonly #damage: DamageNotes;
  readonly #logged: LoggedReturns;
  /** Made with the first return: a cache that only reads or stores loads needs no log. */
  #writer: ReturnWriter | undefined;

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
      if (own.length > 0) attempt("a write failed", () => keepLoads(shard, own));
    }
  }

  async keepNewJob(job: LoadToPut): Promise<void> {
    const shard = this.#homeOf(job.jid);
    attempt("a write failed", () => keepNewLoad(shard, job));
  }

  job(jid: string): LoadRecord | undefined {
    return this.#read(() => {
      const { loads } = this.#shardOf(jid);
      loads.resetReadTxn();
      const bytes = loads.getBinary(loadKey(jid));
      return bytes === undefined ? undefined : decodeLoad(jid, bytes);
    });
  }

  request(jid: string): Uint8Array | undefined {
    return this.#read(() => {
      const { loads } = this.#shardOf(jid);
      loads.resetReadTxn();
      return this.#request(jid);
    });
  }

  returns(jid: string, { after, limit }: ReturnPage): StoredReturn[] {
    return this.#read(() => {
      const { start, end } = returnRange(jid);
      const range = { start: after === undefined ? start : returnKey(jid, after), exclusiveStart: after !== undefined };
      const found = new Map<string, StoredReturn>();
      // The logs first: what leaves them meanwhile is in the store by then. What is in both is the same, or the store's was first.
      for (const entry of this.#loggedOf(start)) {
        const minionId = minionIdIn(entry.key);
        const isOnPage = after === undefined || compareIds(minionId, after) > 0;
        if (isOnPage && !found.has(minionId)) found.set(minionId, { minionId, body: bodyIn(entry) });
      }
      for (const { returns } of this.#readShards) {
        returns.resetReadTxn();
        let count = 0;
        for (const { key, value } of returns.getRange({ ...range, end })) {
          if (!isReturnOf(key, start)) continue;
          const minionId = minionIdIn(key);
          const body = openValue(key, value);
          if (body !== undefined) found.set(minionId, { minionId, body });
          else if (!found.has(minionId)) this.#damage.noteReturn(jid, minionId);
          if (body !== undefined) count += 1;
          if (count === limit) break;
        }
      }
      return [...found.values()].sort((a, b) => compareIds(a.minionId, b.minionId)).slice(0, limit);
    });
  }

  returnOf(jid: string, minionId: string): Uint8Array | undefined {
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

  list({ newestFirst, limit, before }: ListOptions): string[] {
    const prefixes = newestFirst ? [timePrefix, otherPrefix] : [otherPrefix, timePrefix];
    return this.#read(() => {
      const found: string[] = [];
      for (const prefix of prefixes) {
        const jids = this.#readShards.flatMap(({ loads }) => jidsOf(loads, prefix, newestFirst, limit, before));
        jids.sort((a, b) => (a < b === newestFirst ? 1 : -1));
        found.push(...jids);
      }
      return found.slice(0, limit);
    });
  }

  find(query: JobQuery): string[] {
    return this.#read(() => {
      if (!this.#isIndexed) {
        const all = this.list({ newestFirst: true, limit: Number.MAX_SAFE_INTEGER });
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

  endTime(jid: string): string | undefined {
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

  async trim({ olderThanJid: tooOld, keep, stepsMax }: TrimOptions): Promise<Trimmed> {
    const tooMany = keep === undefined ? undefined : this.#cutFor(keep);
    const olderThanJid = tooMany !== undefined && tooMany > tooOld ? tooMany : tooOld;
    await this.#writer?.flush();
    const homeOf = (jid: string) => this.#homeOf(jid);
    const removed = attempt("old jobs cannot be removed", () =>
      trimShards(this.#shards, homeOf, olderThanJid, stepsMax),
    );
    return { removed, hasMore: removed >= stepsMax || (removed > 0 && tooMany !== undefined), olderThanJid };
  }

  async close(): Promise<void> {
    await this.#writer?.close();
    for (const { environment } of this.#readShards) await closeEnvironment(environment);
  }

  /** While there is more than may be kept: a job id before which the oldest few are. */
  #cutFor(keep: KeptAmount): string | undefined {
    return this.#read(() => {
      for (const { loads } of this.#shards) loads.resetReadTxn();
      return cutOf(this.#shards, keep);
    });
  }

  /** Returns of the job whose keys begin with `start`, from all writers' logs. */
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
        storeReturns(this.#shards, entries, this.#storesEndTime);
        this.#tellStored(entries);
      },
      onFault: this.#onFault,
      ...(this.#storeDelayMs === undefined ? {} : { storeDelayMs: this.#storeDelayMs }),
    });
  }

  /** They are stored whatever becomes of this. */
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
    if (shard === undefined) throw storeFailed("the job cache is read before it exists", undefined);
    return shard;
  }

  #homeOf(jid: string): Shard {
    const shard = this.#shards[shardIndexOf(jid, this.#shards.length)];
    if (shard === undefined) throw storeFailed("opened for reading", undefined);
    return shard;
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
  // Backwards, LMDB's start is included and its end is not: step over what must not be in.
  const range = newestFirst
    ? { start: high, end: low, reverse: true, limit: limit + 1 }
    : { start: low, end: high, limit };
  const jids = Array.from(loads.getKeys(range), jidInLoadKey);
  return jids.filter((jid) => before === undefined || jid < before).slice(0, limit);
}

/**
 * Opens or makes the cache. An existing one keeps the number of files that it has, and is without index if it was made without:
 * `reshardJobCache` and `indexJobCache` change that.
 *
 * @throws SaltworksError STORE_FAILED, STORE_DAMAGED
 */
export function openLmdbJobCache(o: LmdbJobCacheOptions): JobStore {
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

/** The layout comes last: with it the cache is there for readers. */
function openToWrite({ path, shards: shardCount, durability }: LmdbJobCacheOptions): Opened {
  const count = readLayout(path)?.shards ?? shardCount;
  makeDirectory(path);
  const shards = openShards(path, count, durability === "fsync");
  const layout = ensureLayout(path, count);
  if (layout.version === hashedVersion - 1) markLayoutCurrent(path, layout);
  const { version } = layout;
  return { shards, toWrite: shards, isIndexed: version >= indexedVersion };
}
