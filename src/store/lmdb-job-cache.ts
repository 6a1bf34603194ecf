/**
 * Job cache in LMDB: `store_shards` files, each with loads (by job id) and returns (by job id and minion id).
 * Many threads of one process may have it open at once, and any process may read it. docs/ARCHITECTURE.md, "What lasts".
 */
import { asyncPendingBytesMax } from "../limits.ts";
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
import { type BinaryDatabase, type BinaryEnvironment, closeEnvironment, committed, storeFailed } from "./lmdb-env.ts";
import { ensureLayout, readLayout } from "./lmdb-layout.ts";
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
  returnKey,
  returnRange,
  type Shard,
  shardIndexOf,
  timePrefix,
} from "./lmdb-records.ts";

export type LmdbJobCacheOptions = {
  /** A directory of its own. */
  readonly path: string;
  readonly shards: number;
  readonly durability: Durability;
  /** Never makes or changes anything; a cache that isn't there reads as empty. */
  readonly isReadOnly?: boolean;
};

function removeAll(
  environment: BinaryEnvironment,
  database: BinaryDatabase,
  keys: readonly Buffer[],
): Promise<boolean> {
  return environment.batch(() => {
    for (const key of keys) void database.remove(key);
  });
}

class LmdbJobCache implements JobCache {
  readonly #shards: readonly Shard[];
  readonly #durability: Durability;
  #pendingBytes = 0;
  readonly #pendingKeys = new Set<string>();
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(shards: readonly Shard[], durability: Durability) {
    this.#shards = shards;
    this.#durability = durability;
  }

  async putReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    if (this.#durability === "async") return this.#putSoon(batch);
    const isStored = await committed(this.#writeReturns(batch));
    return isStored.map((stored) => (stored ? "stored" : "duplicate"));
  }

  async putLoad(record: LoadRecord): Promise<void> {
    const shard = this.#shardOf(record.jid);
    const write = shard.environment.batch(() => {
      this.#noteOther(shard, record.jid);
      void shard.loads.put(loadKey(record.jid), encodeLoad(record));
    });
    await committed(write);
  }

  async addMinions(jid: string, minionIds: readonly string[]): Promise<void> {
    const { loads } = this.#shardOf(jid);
    const key = loadKey(jid);
    const add = () => {
      const bytes = loads.getBinary(key);
      if (bytes === undefined) return;
      const record = decodeLoad(jid, bytes);
      const minions = [...new Set([...record.minions, ...minionIds])];
      // Part of the transaction under way, which is what is awaited.
      void loads.put(key, encodeLoad({ ...record, minions }));
    };
    await committed(loads.transaction(add));
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
      const found: StoredReturn[] = [];
      for (const { returns } of this.#shards) {
        returns.resetReadTxn();
        for (const { key, value } of returns.getRange({ start, end })) {
          if (!isReturnOf(key, start)) continue;
          found.push({ minionId: minionIdIn(key), body: value });
        }
      }
      return found.sort((a, b) => (a.minionId < b.minionId ? -1 : 1));
    });
  }

  getReturn(jid: string, minionId: string): Uint8Array | undefined {
    return this.#read(() => {
      const { returns } = this.#shardOf(minionId);
      returns.resetReadTxn();
      return returns.getBinary(returnKey(jid, minionId));
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
    const end = Buffer.from(timePrefix + olderThanJid, "utf8");
    const start = Buffer.from(timePrefix, "utf8");
    let steps = 0;
    for (const shard of this.#shards) {
      // Readers that were killed would keep what is removed here from being used again.
      shard.environment.readerCheck();
      for (const database of [shard.returns, shard.loads]) {
        const keys = [...database.getKeys({ start, end, limit: stepsMax - steps })];
        await committed(removeAll(shard.environment, database, keys));
        steps += keys.length;
      }
    }
    if (!isJid(olderThanJid)) return steps;
    return steps + (await this.#trimOthers(jidTime(olderThanJid).getTime(), stepsMax - steps));
  }

  async close(): Promise<void> {
    await this.#lastWrite;
    for (const { environment } of this.#shards) await closeEnvironment(environment);
  }

  /** Jobs under ids that are no times, by the hour in which they were first seen. */
  async #trimOthers(olderThanMs: number, stepsMax: number): Promise<number> {
    const end = otherKey("", olderThanMs);
    let steps = 0;
    for (const { environment, others } of this.#shards) {
      for (const key of [...others.getKeys({ end, limit: Math.max(0, stepsMax - steps) })]) {
        const jid = jidInOtherKey(key);
        steps += await this.#removeReturns(jid, stepsMax - steps);
        if (steps >= stepsMax) return steps;
        const home = this.#shardOf(jid);
        await committed(removeAll(home.environment, home.loads, [loadKey(jid)]));
        await committed(removeAll(environment, others, [key]));
        steps += 1;
      }
    }
    return steps;
  }

  async #removeReturns(jid: string, countMax: number): Promise<number> {
    let count = 0;
    for (const { environment, returns } of this.#shards) {
      const { start, end } = returnRange(jid);
      const keys = [...returns.getKeys({ start, end, limit: countMax - count })].filter((key) =>
        isReturnOf(key, start),
      );
      await committed(removeAll(environment, returns, keys));
      count += keys.length;
    }
    return count;
  }

  /** Durability "async": what is already known is told, the write goes on alone; when too much waits, the caller waits too. */
  async #putSoon(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    const outcomes: PutOutcome[] = [];
    const fresh: ReturnRecord[] = [];
    const keys: string[] = [];
    let bytes = 0;
    for (const { returns } of this.#shards) returns.resetReadTxn();
    for (const record of batch) {
      const key = `${record.jid}\0${record.minionId}`;
      const { returns } = this.#shardOf(record.minionId);
      const isKnown = this.#pendingKeys.has(key) || returns.doesExist(returnKey(record.jid, record.minionId));
      outcomes.push(isKnown ? "duplicate" : "stored");
      if (isKnown) continue;
      keys.push(key);
      this.#pendingKeys.add(key);
      bytes += record.body.byteLength;
      // A copy: the caller may reuse its bytes as soon as this resolves.
      fresh.push({ ...record, body: Uint8Array.from(record.body) });
    }
    this.#pendingBytes += bytes;
    const done = committed(this.#writeReturns(fresh)).finally(() => {
      this.#pendingBytes -= bytes;
      for (const key of keys) this.#pendingKeys.delete(key);
    });
    const isTooMuch = this.#pendingBytes > asyncPendingBytesMax;
    this.#lastWrite = Promise.allSettled([this.#lastWrite, done]);
    if (isTooMuch) await done;
    return outcomes;
  }

  /** One transaction per file that the batch touches. @returns whether each was new */
  async #writeReturns(batch: readonly ReturnRecord[]): Promise<boolean[]> {
    const writes: Promise<boolean>[] = [];
    const transactions: Promise<boolean>[] = [];
    for (const [shard, indexes] of this.#byShard(batch)) {
      const putAll = () => {
        for (const index of indexes) {
          const record = batch[index];
          if (record !== undefined) writes[index] = this.#putReturn(shard, record);
        }
      };
      transactions.push(shard.environment.batch(putAll));
    }
    const [isStored] = await Promise.all([Promise.all(writes), Promise.all(transactions)]);
    return isStored;
  }

  #byShard(batch: readonly ReturnRecord[]): Map<Shard, number[]> {
    const groups = new Map<Shard, number[]>();
    for (const [index, { minionId }] of batch.entries()) {
      const shard = this.#shardOf(minionId);
      const group = groups.get(shard);
      if (group === undefined) groups.set(shard, [index]);
      else group.push(index);
    }
    return groups;
  }

  #putReturn(shard: Shard, { jid, minionId, body }: ReturnRecord): Promise<boolean> {
    this.#noteOther(shard, jid);
    const value = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const options = { noOverwrite: true };
    // The typings leave this option out of the asynchronous form.
    return shard.returns.put(returnKey(jid, minionId), value, options as unknown as number);
  }

  #noteOther(shard: Shard, jid: string): void {
    if (isJid(jid)) return;
    // Part of the batch under way, which is what is awaited.
    void shard.others.put(otherKey(jid, Date.now()), Buffer.alloc(0));
  }

  #shardOf(name: string): Shard {
    const shard = this.#shards[shardIndexOf(name, this.#shards.length)];
    if (shard === undefined) throw storeFailed("the job cache is read before it exists", undefined);
    return shard;
  }

  #read<Result>(step: () => Result): Result {
    try {
      return step();
    } catch (error) {
      throw storeFailed("the job cache cannot be read", error);
    }
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
  const layout = isReadOnly ? readLayout(o.path) : ensureLayout(o.path, o.shards);
  if (layout === undefined) return emptyJobCache;
  const shards = openShards(o.path, layout.shards, { isReadOnly, isSyncedOnCommit: o.durability === "fsync" });
  return new LmdbJobCache(shards, o.durability);
}
