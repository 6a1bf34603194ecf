/**
 * Job cache in LMDB: `store_shards` files, each with loads (by job id) and returns (by job id and minion id); returns go through a log per
 * writing thread (return-writer.ts) first, which whoever reads returns looks into as well.
 * Many threads of one process may have it open at once, and any process may read it. docs/ARCHITECTURE.md, "What lasts".
 */
import { SaltworksError } from "../errors.ts";
import { isJid, jidTime } from "../wire/jid.ts";
import type {
  Durability,
  JobCache,
  ListOptions,
  LoadRecord,
  PutOutcome,
  ReturnRecord,
  StoredReturn,
  TrimOptions,
} from "./job-cache.ts";
import { type BinaryDatabase, type BinaryEnvironment, closeEnvironment, storeFailed, transact } from "./lmdb-env.ts";
import { ensureLayout, makeDirectory, readLayout } from "./lmdb-layout.ts";
import {
  decodeLoad,
  encodeLoad,
  isReturnOf,
  jidInLoadKey,
  jidInOtherKey,
  loadKey,
  minionIdIn,
  openShards,
  otherKey,
  otherPrefix,
  readShards,
  returnKey,
  returnRange,
  type Shard,
  shardIndexOf,
  storeReturns,
  timePrefix,
} from "./lmdb-records.ts";
import { listLogs, readLog } from "./return-log-files.ts";
import type { LoggedEntry } from "./return-log-frames.ts";
import { ReturnWriter } from "./return-writer.ts";

export type LmdbJobCacheOptions = {
  /** A directory of its own. */
  readonly path: string;
  readonly shards: number;
  readonly durability: Durability;
  /** Never makes or changes anything; a cache that isn't there reads as empty. */
  readonly isReadOnly?: boolean;
  /** Work in the background failed, to be tried again. Without it: a warning of the process. */
  readonly onFault?: (error: Error) => void;
};

/** Removes keys in one transaction. */
function removeAll(environment: BinaryEnvironment, database: BinaryDatabase, keys: readonly Buffer[]): void {
  if (keys.length === 0) return;
  transact(environment, () => {
    for (const key of keys) database.removeSync(key);
  });
}

/**
 * Every write is a transaction of the calling thread's own: handing it to another thread costs half as much again, and lmdb would make
 * a transaction that meets one handed over a part of that, not durable when it returns.
 */
class LmdbJobCache implements JobCache {
  readonly #path: string;
  readonly #shards: readonly Shard[];
  readonly #isSynced: boolean;
  readonly #onFault: (error: Error) => void;
  /** Made with the first return: who only reads or stores loads needs no log. */
  #writer: ReturnWriter | undefined;

  constructor(o: LmdbJobCacheOptions, shards: readonly Shard[]) {
    this.#path = o.path;
    this.#shards = shards;
    this.#isSynced = o.durability === "fsync";
    this.#onFault = o.onFault ?? ((error) => process.emitWarning(error));
  }

  async putReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    this.#writer ??= attempt("a write failed", () => this.#openWriter());
    return this.#writer.put(batch);
  }

  async putLoad(record: LoadRecord): Promise<void> {
    const { environment, loads, others } = this.#shardOf(record.jid);
    attempt("a write failed", () =>
      transact(environment, () => {
        if (!isJid(record.jid)) others.putSync(otherKey(record.jid, Date.now()), Buffer.alloc(0));
        loads.putSync(loadKey(record.jid), encodeLoad(record));
      }),
    );
  }

  async addMinions(jid: string, minionIds: readonly string[]): Promise<void> {
    const { environment, loads } = this.#shardOf(jid);
    const key = loadKey(jid);
    attempt("a write failed", () =>
      transact(environment, () => {
        const bytes = loads.getBinary(key);
        if (bytes === undefined) return;
        const record = decodeLoad(jid, bytes);
        const minions = [...new Set([...record.minions, ...minionIds])];
        loads.putSync(key, encodeLoad({ ...record, minions }));
      }),
    );
  }

  getLoad(jid: string): LoadRecord | undefined {
    return this.#read(() => {
      const { loads } = this.#shardOf(jid);
      loads.resetReadTxn();
      const bytes = loads.getBinary(loadKey(jid));
      return bytes === undefined ? undefined : decodeLoad(jid, bytes);
    });
  }

  getReturns(jid: string): StoredReturn[] {
    return this.#read(() => {
      const { start, end } = returnRange(jid);
      const found = new Map<string, StoredReturn>();
      // The logs first: what leaves them meanwhile is in the store by then. What is in both is the same, or the store's was first.
      for (const { key, body } of this.#logged()) {
        if (!key.subarray(0, start.length).equals(start) || !isReturnOf(key, start)) continue;
        const minionId = minionIdIn(key);
        if (!found.has(minionId)) found.set(minionId, { minionId, body });
      }
      for (const { returns } of this.#shards) {
        returns.resetReadTxn();
        for (const { key, value } of returns.getRange({ start, end })) {
          if (!isReturnOf(key, start)) continue;
          const minionId = minionIdIn(key);
          found.set(minionId, { minionId, body: value });
        }
      }
      return [...found.values()].sort((a, b) => (a.minionId < b.minionId ? -1 : 1));
    });
  }

  getReturn(jid: string, minionId: string): Uint8Array | undefined {
    return this.#read(() => {
      const wanted = returnKey(jid, minionId);
      const logged = this.#logged().find(({ key }) => key.equals(wanted));
      const { returns } = this.#shardOf(minionId);
      returns.resetReadTxn();
      return returns.getBinary(wanted) ?? logged?.body;
    });
  }

  listJids({ newestFirst, limit, before }: ListOptions): string[] {
    const prefixes = newestFirst ? [timePrefix, otherPrefix] : [otherPrefix, timePrefix];
    return this.#read(() => {
      const found: string[] = [];
      for (const prefix of prefixes) {
        const jids = this.#shards.flatMap(({ loads }) => jidsOf(loads, prefix, newestFirst, limit, before));
        jids.sort((a, b) => (a < b === newestFirst ? 1 : -1));
        found.push(...jids);
      }
      return found.slice(0, limit);
    });
  }

  async trim({ olderThanJid, stepsMax }: TrimOptions): Promise<number> {
    await this.#writer?.flush();
    return attempt("old jobs cannot be removed", () => this.#trim(olderThanJid, stepsMax));
  }

  #trim(olderThanJid: string, stepsMax: number): number {
    const end = Buffer.from(timePrefix + olderThanJid, "utf8");
    const start = Buffer.from(timePrefix, "utf8");
    let steps = 0;
    for (const shard of this.#shards) {
      // Readers that were killed would keep what is removed here from being used again.
      shard.environment.readerCheck();
      for (const database of [shard.returns, shard.loads]) {
        const keys = [...database.getKeys({ start, end, limit: stepsMax - steps })];
        removeAll(shard.environment, database, keys);
        steps += keys.length;
      }
    }
    if (!isJid(olderThanJid)) return steps;
    return steps + this.#trimOthers(jidTime(olderThanJid).getTime(), stepsMax - steps);
  }

  async close(): Promise<void> {
    await this.#writer?.close();
    for (const { environment } of this.#shards) await closeEnvironment(environment);
  }

  /** Jobs under ids that are no times, by the hour in which they were first seen. */
  #trimOthers(olderThanMs: number, stepsMax: number): number {
    const end = otherKey("", olderThanMs);
    let steps = 0;
    for (const { environment, others } of this.#shards) {
      for (const key of [...others.getKeys({ end, limit: Math.max(0, stepsMax - steps) })]) {
        const jid = jidInOtherKey(key);
        steps += this.#removeReturns(jid, stepsMax - steps);
        if (steps >= stepsMax) return steps;
        const home = this.#shardOf(jid);
        removeAll(home.environment, home.loads, [loadKey(jid)]);
        removeAll(environment, others, [key]);
        steps += 1;
      }
    }
    return steps;
  }

  #removeReturns(jid: string, countMax: number): number {
    let count = 0;
    for (const { environment, returns } of this.#shards) {
      const { start, end } = returnRange(jid);
      const keys = [...returns.getKeys({ start, end, limit: countMax - count })].filter((key) =>
        isReturnOf(key, start),
      );
      removeAll(environment, returns, keys);
      count += keys.length;
    }
    return count;
  }

  #openWriter(): ReturnWriter {
    return new ReturnWriter({
      directory: this.#path,
      isSynced: this.#isSynced,
      stored: {
        hasAny: (jid) => this.#hasReturns(jid),
        has: (jid, minionId) => this.#shardOf(minionId).returns.doesExist(returnKey(jid, minionId)),
      },
      store: (entries) => storeReturns(this.#shards, entries),
      onFault: this.#onFault,
    });
  }

  #hasReturns(jid: string): boolean {
    const { start, end } = returnRange(jid);
    return this.#shards.some(({ returns }) => {
      returns.resetReadTxn();
      return [...returns.getKeys({ start, end, limit: 1 })].length > 0;
    });
  }

  /** What is acknowledged and may not be in LMDB yet, of all writers. */
  #logged(): LoggedEntry[] {
    return listLogs(this.#path).flatMap(readLog);
  }

  #shardOf(name: string): Shard {
    const shard = this.#shards[shardIndexOf(name, this.#shards.length)];
    if (shard === undefined) throw storeFailed("the job cache is read before it exists", undefined);
    return shard;
  }

  #read<Result>(step: () => Result): Result {
    return attempt("the job cache cannot be read", step);
  }
}

function attempt<Result>(failure: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw error instanceof SaltworksError ? error : storeFailed(failure, error);
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

/** A cache that isn't there, for readers. */
const emptyJobCache: JobCache = {
  putReturns: () => Promise.reject(storeFailed("opened for reading", undefined)),
  putLoad: () => Promise.reject(storeFailed("opened for reading", undefined)),
  addMinions: () => Promise.reject(storeFailed("opened for reading", undefined)),
  getLoad: () => undefined,
  getReturns: () => [],
  getReturn: () => undefined,
  listJids: () => [],
  trim: () => Promise.resolve(0),
  close: () => Promise.resolve(),
};

/**
 * Opens or makes the cache. An existing one keeps the number of files that it has: `reshardJobCache` changes it.
 *
 * @throws SaltworksError STORE_FAILED
 */
export function openLmdbJobCache(o: LmdbJobCacheOptions): JobCache {
  const isReadOnly = o.isReadOnly ?? false;
  const shards = isReadOnly ? openToRead(o.path) : openToWrite(o);
  return shards === undefined ? emptyJobCache : new LmdbJobCache(o, shards);
}

function openToRead(path: string): Shard[] | undefined {
  const layout = readLayout(path);
  return layout === undefined ? undefined : readShards(path, layout.shards);
}

/** The layout comes last: with it the cache is there for readers. */
function openToWrite({ path, shards: shardCount, durability }: LmdbJobCacheOptions): Shard[] {
  const count = readLayout(path)?.shards ?? shardCount;
  makeDirectory(path);
  const shards = openShards(path, count, durability === "fsync");
  ensureLayout(path, count);
  return shards;
}
