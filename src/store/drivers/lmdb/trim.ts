/** Removes old jobs from the LMDB job cache by age, number or bytes, in transactions of a bounded number of records. */
import { isJid, jidTime } from "../../../wire/jid.ts";
import type { KeptAmount } from "../../jobs/job-cache.ts";
import { type BinaryDatabase, type BinaryEnvironment, transact } from "../../lmdb/env.ts";
import { unindexJob } from "./job-index.ts";
import {
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
export type TrimScope = { readonly homeOf: (jid: string) => Shard; readonly held: () => ReadonlySet<string> | "all" };

/** @returns the number of removed records */
export function trimShards(shards: readonly Shard[], scope: TrimScope, olderThanJid: string, stepsMax: number): number {
  const end = Buffer.from(timePrefix + olderThanJid, "utf8");
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

/** Removes jobs whose ids are not times and whose last load or return came in an hour before `olderThanMs`. */
function trimOthers(shards: readonly Shard[], scope: TrimScope, olderThanMs: number, stepsMax: number): number {
  const end = otherKey("", olderThanMs);
  let steps = 0;
  let later: ReadonlySet<string> | undefined;
  for (const { environment, others } of shards) {
    for (const key of keysIn(others, Buffer.alloc(0), end, stepsMax - steps).filter(freeTest(scope, jidInOtherKey))) {
      const jid = jidInOtherKey(key);
      later ??= jidsFrom(shards, end);
      // The id was used again in a later hour, so only this entry goes.
      if (later.has(jid)) {
        removeAll(environment, others, [key]);
        steps += 1;
        continue;
      }
      steps += removeReturns(shards, jid, stepsMax - steps);
      if (steps >= stepsMax) return steps;
      for (const shard of shards) removeAll(shard.environment, shard.ends, [loadKey(jid)]);
      removeLoads(scope.homeOf(jid), [loadKey(jid)]);
      removeAll(environment, others, [key]);
      steps += 1;
    }
  }
  return steps;
}

/** Ids in `others` from the hour of `start` on. */
function jidsFrom(shards: readonly Shard[], start: Buffer): Set<string> {
  return new Set(shards.flatMap(({ others }) => Array.from(others.getKeys({ start }), jidInOtherKey)));
}

function removeReturns(shards: readonly Shard[], jid: string, countMax: number): number {
  let count = 0;
  for (const { environment, returns } of shards) {
    const { start, end } = returnRange(jid);
    const keys = keysIn(returns, start, end, countMax - count).filter((key) => isReturnOf(key, start));
    removeAll(environment, returns, keys);
    count += keys.length;
  }
  return count;
}

/** If the cache holds more than `keep`: the job id before which the oldest few jobs are removed; otherwise undefined. The latest job always stays. */
export function cutOf(shards: readonly Shard[], { jobsMax, bytesMax }: KeptAmount): string | undefined {
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
