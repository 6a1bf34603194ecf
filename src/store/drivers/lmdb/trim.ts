/** Takes old jobs out of the files of the LMDB job cache: by age, number or bytes, in transactions of a bounded number of records. */
import { isJid, jidTime } from "../../../wire/jid.ts";
import type { KeptAmount } from "../../jobs/job-cache.ts";
import { type BinaryDatabase, type BinaryEnvironment, transact } from "../../lmdb/env.ts";
import { unindexJob } from "./job-index.ts";
import {
  isReturnOf,
  jidInLoadKey,
  jidInOtherKey,
  loadKey,
  otherKey,
  otherPrefix,
  returnRange,
  type Shard,
  timePrefix,
} from "./records.ts";

/** Jobs removed at once while there are too many. */
const jobsPerCut = 256;
/** Jobs removed at once while they take too many bytes. They may be large, and their size shows only once they are gone. */
const jobsPerBytesCut = 16;

/** Keys that go together stand together, and mostly this many share a page. */
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

function keysIn(database: BinaryDatabase, start: Buffer, end: Buffer, limit: number): Buffer[] {
  return limit <= 0 ? [] : Array.from(database.getKeys({ start, end, limit }), (key) => Buffer.from(key));
}

/** @returns how many records went */
export function trimShards(
  shards: readonly Shard[],
  homeOf: (jid: string) => Shard,
  olderThanJid: string,
  stepsMax: number,
): number {
  const end = Buffer.from(timePrefix + olderThanJid, "utf8");
  const start = Buffer.from(timePrefix, "utf8");
  let steps = 0;
  for (const shard of shards) {
    // Readers that were killed would keep what is removed here from being used again.
    shard.environment.readerCheck();
    for (const database of [shard.returns, shard.ends]) {
      const keys = keysIn(database, start, end, stepsMax - steps);
      removeAll(shard.environment, database, keys);
      steps += keys.length;
    }
    const keys = keysIn(shard.loads, start, end, stepsMax - steps);
    removeLoads(shard, keys);
    steps += keys.length;
  }
  if (!isJid(olderThanJid)) return steps;
  return steps + trimOthers(shards, homeOf, jidTime(olderThanJid).getTime(), stepsMax - steps);
}

/** Jobs whose ids are not times, by the hour in which they were last seen. */
function trimOthers(
  shards: readonly Shard[],
  homeOf: (jid: string) => Shard,
  olderThanMs: number,
  stepsMax: number,
): number {
  const end = otherKey("", olderThanMs);
  let steps = 0;
  let later: ReadonlySet<string> | undefined;
  for (const { environment, others } of shards) {
    for (const key of keysIn(others, Buffer.alloc(0), end, stepsMax - steps)) {
      const jid = jidInOtherKey(key);
      later ??= jidsFrom(shards, end);
      // The id was used again: what is stored under it is young.
      if (later.has(jid)) {
        removeAll(environment, others, [key]);
        steps += 1;
        continue;
      }
      steps += removeReturns(shards, jid, stepsMax - steps);
      if (steps >= stepsMax) return steps;
      for (const shard of shards) removeAll(shard.environment, shard.ends, [loadKey(jid)]);
      removeLoads(homeOf(jid), [loadKey(jid)]);
      removeAll(environment, others, [key]);
      steps += 1;
    }
  }
  return steps;
}

/** Ids that are not times and were seen from this hour on. */
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

/** The id of the first job that stays when the oldest few of too many go; undefined while there are not too many. The latest always stays. */
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

/** Pages in use: what has been removed is used again, so that the file itself may be larger. */
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
