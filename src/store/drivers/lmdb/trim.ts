/** Removes old jobs from the LMDB job cache by age, number or bytes, in transactions of a bounded number of records. */
import { isJid, jidAt, jidTime } from "../../../wire/jid.ts";
import type { KeptAmount, Trimmed, TrimOptions } from "../../jobs/job-cache.ts";
import { type BinaryDatabase, type BinaryEnvironment, transact } from "../../lmdb/env.ts";
import { AheadJobs, jidsDatedFrom } from "./ahead.ts";
import { unindexJob } from "./job-index.ts";
import {
  aheadKey,
  isReturnOf,
  jidInLoadKey,
  jidInOtherKey,
  jidInReturnKey,
  loadKey,
  otherKey,
  otherPrefix,
  returnRange,
  type Shard,
  timePrefix,
} from "./records.ts";

/** Bound of the jobs removed at once while the cache holds too many. */
const jobsPerCut = 256;
/** Jobs removed at once while the cache holds too many bytes. The number is small, because a job's size shows only once it is removed. */
const jobsPerBytesCut = 16;

/** Usual number of adjacent keys on one page. Keys that are removed together are adjacent. */
const neighbours = 8;

/** Removes keys in one transaction. */
function removeAll(environment: BinaryEnvironment, database: BinaryDatabase, keys: readonly Buffer[]): void {
  if (keys.length === 0) return;
  transact(environment, { records: Math.ceil(keys.length / neighbours), bytes: 0 }, () => {
    for (const key of keys) database.removeSync(key);
  });
}

function removeLoads({ environment, loads, index }: Shard, keys: readonly Buffer[]): void {
  if (keys.length === 0) return;
  transact(environment, { records: keys.length, bytes: 0 }, () => {
    for (const key of keys) {
      loads.removeSync(key);
      unindexJob(index, key);
    }
  });
}

/** @returns whether a key's record may be removed */
function freeTest({ held }: TrimScope, jidIn: (key: Buffer) => string): (key: Buffer) => boolean {
  let now: ReturnType<TrimScope["held"]> | undefined;
  return (key) => {
    now ??= held();
    return now !== "all" && !now.has(jidIn(key));
  };
}

function keysIn(database: BinaryDatabase, start: Buffer, end: Buffer, limit: number): Buffer[] {
  return limit <= 0 ? [] : Array.from(database.getKeys({ start, end, limit }), (key) => Buffer.from(key));
}

/**
 * `homeOf`: the file of a job's load. `held`: jobs that stay, because a database does not have them yet. It is asked after the keys are read, so that
 * it knows of each record that is about to be removed.
 */
type TrimScope = { readonly homeOf: (jid: string) => Shard; readonly held: () => ReadonlySet<string> | "all" };

/** The trimming of one cache. */
export class JobTrim {
  readonly #shards: readonly Shard[];
  readonly #scope: TrimScope;
  readonly #ahead: AheadJobs;

  constructor(shards: readonly Shard[], scope: TrimScope) {
    this.#shards = shards;
    this.#scope = scope;
    this.#ahead = new AheadJobs(shards, scope.homeOf);
  }

  /** @throws errors of LMDB or the file system */
  run({ olderThanJid: tooOld, keep, stepsMax }: TrimOptions): Trimmed {
    // Salt's files keep them, too.
    if (this.#scope.held() === "all") return { removed: 0, hasMore: false, olderThanJid: "" };
    const nowMs = Date.now();
    this.#ahead.date(nowMs);
    for (const { loads } of this.#shards) loads.resetReadTxn();
    const cut = keep === undefined ? undefined : cutOf(this.#shards, keep);
    const end = cut !== undefined && cut > tooOld ? cut : tooOld;
    // A job id far ahead is not a time by which other jobs are old.
    const olderThanJid = end > jidAt(nowMs, 0) ? tooOld : end;
    const removed = trimShards(this.#shards, this.#scope, { end, olderThanJid, stepsMax });
    return { removed, hasMore: removed >= stepsMax || (removed > 0 && cut !== undefined), olderThanJid };
  }
}

/** `end`: jobs whose ids are times go before this one. `olderThanJid`: the time before which the others must have been stored. */
type TrimBounds = { readonly end: string; readonly olderThanJid: string; readonly stepsMax: number };

/** @returns the number of removed records */
function trimShards(
  shards: readonly Shard[],
  scope: TrimScope,
  { end: endJid, olderThanJid, stepsMax }: TrimBounds,
): number {
  const end = Buffer.from(timePrefix + endJid, "utf8");
  const start = Buffer.from(timePrefix, "utf8");
  let steps = 0;
  for (const shard of shards) {
    // Clears the slots of killed readers, which would keep LMDB from reusing the freed pages.
    shard.environment.readerCheck();
    for (const { database, jidIn } of [
      { database: shard.returns, jidIn: jidInReturnKey },
      { database: shard.ends, jidIn: jidInLoadKey },
    ]) {
      const keys = keysIn(database, start, end, stepsMax - steps).filter(freeTest(scope, jidIn));
      removeAll(shard.environment, database, keys);
      steps += keys.length;
    }
    const keys = keysIn(shard.loads, start, end, stepsMax - steps).filter(freeTest(scope, jidInLoadKey));
    removeLoads(shard, keys);
    steps += keys.length;
  }
  if (!isJid(olderThanJid)) return steps;
  return steps + trimOthers(shards, scope, jidTime(olderThanJid).getTime(), stepsMax - steps);
}

/**
 * Removes jobs whose ids are not times, or are far ahead, and whose last load or return came in an hour before `olderThanMs`. Each table of each file has
 * one transaction: entries of `others` go last, so that after a crash the next trim finds the rest.
 */
function trimOthers(shards: readonly Shard[], scope: TrimScope, olderThanMs: number, stepsMax: number): number {
  const end = otherKey("", olderThanMs);
  const parts = shards.map((shard) => {
    const keys = keysIn(shard.others, Buffer.alloc(0), end, stepsMax).filter(freeTest(scope, jidInOtherKey));
    return { shard, keys, entries: [] as Buffer[], returns: [] as Buffer[] };
  });
  if (parts.every(({ keys }) => keys.length === 0)) return 0;
  const later = jidsDatedFrom(shards, end);
  const ahead = aheadKey(Date.now());
  const gone = new Set<string>();
  let steps = 0;
  for (const { key, entries } of parts.flatMap(({ keys, entries }) => keys.map((key) => ({ key, entries })))) {
    if (steps >= stepsMax) break;
    const jid = jidInOtherKey(key);
    // If the id was used again in a later hour, or is a time by now, only this entry goes.
    if (!(gone.has(jid) || later.has(jid) || loadKey(jid).compare(ahead) < 0)) {
      for (const { shard, returns } of parts) {
        const found = returnKeys(shard, jid, stepsMax - steps);
        returns.push(...found);
        steps += found.length;
      }
      if (steps >= stepsMax) break;
      gone.add(jid);
    }
    entries.push(key);
    steps += 1;
  }
  const keys = Array.from(gone, loadKey);
  for (const { shard, returns } of parts) removeAll(shard.environment, shard.returns, returns);
  for (const shard of shards) removeAll(shard.environment, shard.ends, keys);
  for (const shard of shards)
    removeLoads(
      shard,
      Array.from(gone)
        .filter((jid) => scope.homeOf(jid) === shard)
        .map(loadKey),
    );
  for (const { shard, entries } of parts) removeAll(shard.environment, shard.others, entries);
  return steps;
}

function returnKeys({ returns }: Shard, jid: string, countMax: number): Buffer[] {
  const { start, end } = returnRange(jid);
  return keysIn(returns, start, end, countMax).filter((key) => isReturnOf(key, start));
}

/** If the cache holds more than `keep`: the job id before which the oldest few jobs are removed; otherwise undefined. The latest job always stays. */
function cutOf(shards: readonly Shard[], { jobsMax, bytesMax }: KeptAmount): string | undefined {
  const excess = jobsMax === 0 ? 0 : sum(shards.map(({ loads }) => statsOf(loads).entryCount)) - jobsMax;
  const isTooLarge = bytesMax !== 0 && sum(shards.map(usedBytes)) > bytesMax;
  const goCount = Math.max(Math.min(excess, jobsPerCut), isTooLarge ? jobsPerBytesCut : 0);
  if (goCount <= 0) return undefined;
  const start = Buffer.from(timePrefix, "utf8");
  const end = Buffer.from(otherPrefix, "utf8");
  const oldest = shards.flatMap(({ loads }) => keysIn(loads, start, end, goCount + 1).map(jidInLoadKey)).sort();
  const cut = oldest[Math.min(goCount, oldest.length - 1)];
  return cut === oldest[0] ? undefined : cut;
}

type Stats = {
  readonly entryCount: number;
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
};

function statsOf(database: BinaryDatabase): Stats {
  return database.getStats() as Stats;
}

/** Bytes of the pages in use. LMDB keeps freed pages for reuse, so the file may be larger. */
function usedBytes({ loads, returns, others, ends, index }: Shard): number {
  return sum(
    [loads, returns, others, ends, ...Object.values(index)].map((database) => {
      const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = statsOf(database);
      return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
    }),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
