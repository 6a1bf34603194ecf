/**
 * Spreads an existing LMDB job cache over another number of files, by a copy in a new directory that then takes the old one's place. Also builds
 * the index of a cache of an earlier layout. A crash at any point leaves one whole cache. No other thread or process may have the cache open.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncDirectory } from "../../disk/durable-file.ts";
import { type BinaryDatabase, closeEnvironment, transact } from "../../lmdb/env.ts";
import { absorbLogs, listLogs } from "../../return-log/files.ts";
import { clearFeeds, copyFeeds } from "./feed.ts";
import { buildIndex } from "./job-index.ts";
import { ensureLayout, indexedVersion, markLayoutCurrent, readLayout } from "./layout.ts";
import {
  indexedIn,
  jidInLoadKey,
  jidInOtherKey,
  minionIdIn,
  openShards,
  type ReadShard,
  readShards,
  type Shard,
  shardIndexOf,
  storeReturns,
} from "./records.ts";

/** Bytes per transaction of the copy. A small machine has this much memory to spare. */
const copyBytes = 16 * 1024 * 1024;

type Table = "loads" | "returns" | "others" | "ends";
/** The text, from a record's key, that decides the record's file. */
const placeOf: Record<Table, (key: Buffer) => string> = {
  loads: jidInLoadKey,
  returns: minionIdIn,
  others: jidInOtherKey,
  ends: jidInLoadKey,
};

type Copy = { readonly key: Buffer; readonly value: Buffer };

/** Stores the records in one transaction per file. */
function storeCopies(table: Table, copies: readonly Copy[], to: readonly Shard[]): void {
  for (const [at, target] of to.entries()) {
    const own = copies.filter(({ key }) => shardIndexOf(placeOf[table](key), to.length) === at);
    const bytes = own.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
    if (own.length === 0) continue;
    transact(target.environment, { records: own.length, bytes }, () => {
      for (const { key, value } of own) target[table].putSync(key, value);
    });
  }
}

function copyTable(table: Table, from: BinaryDatabase, to: readonly Shard[]): void {
  let pending: Copy[] = [];
  let pendingBytes = 0;
  for (const { key, value } of from.getRange()) {
    // Copied, because the range reuses its key, and the value is a view that ends with the next step.
    pending.push({ key: Buffer.from(key), value: Buffer.from(value) });
    pendingBytes += key.length + value.length;
    if (pendingBytes < copyBytes) continue;
    storeCopies(table, pending, to);
    pending = [];
    pendingBytes = 0;
  }
  storeCopies(table, pending, to);
}

async function copyAll(from: readonly ReadShard[], to: readonly Shard[]): Promise<void> {
  for (const source of from) {
    for (const table of ["loads", "returns", "others", "ends"] as const) {
      const database = source[table];
      if (database !== undefined) copyTable(table, database, to);
    }
  }
  for (const target of to) await buildIndex(target, indexedIn);
}

/** Removes the leftovers of an interrupted run. If it stopped between the two renames, the old cache takes its place again. */
function recover(path: string, before: string, after: string): void {
  if (!existsSync(path) && existsSync(before)) renameSync(before, path);
  for (const leftover of [before, after]) rmSync(leftover, { recursive: true, force: true });
}

export type AbsorbOptions = {
  readonly storesEndTime?: boolean;
  readonly areReturnsFed?: boolean;
  readonly queue?: { readonly addReturns: (returnKeys: readonly Buffer[]) => void } | undefined;
};

/**
 * Stores the returns that a killed master had only in its logs. `options.queue` gets their keys first; it ignores keys whose returns are missing.
 *
 * @returns a sentence per damaged log
 * @throws SaltworksError STORE_FAILED, STORE_DAMAGED
 */
export async function absorbJobLogs(path: string, options: AbsorbOptions): Promise<string[]> {
  const layout = readLayout(path);
  return layout === undefined || listLogs(path).length === 0 ? [] : await bringLogsIn(path, layout.shards, options);
}

async function bringLogsIn(path: string, shards: number, options: AbsorbOptions): Promise<string[]> {
  const into = openShards(path, shards, true);
  try {
    return absorbLogs(path, (entries) => {
      options.queue?.addReturns(entries.map(({ key }) => key));
      storeReturns(into, entries, {
        isEndKept: options.storesEndTime === true,
        areFed: options.areReturnsFed === true,
      });
    });
  } finally {
    for (const { environment } of into) await closeEnvironment(environment);
  }
}

/**
 * Spreads the cache at `path` over `shards` files. Does nothing if it has this number or does not exist.
 *
 * @returns the former number of files if it changed, otherwise undefined
 * @throws SaltworksError STORE_FAILED; the cache is then unchanged
 */
export async function reshardJobCache(
  path: string,
  shards: number,
  options: AbsorbOptions = {},
): Promise<number | undefined> {
  const before = `${path}.before`;
  const after = `${path}.after`;
  recover(path, before, after);
  const layout = readLayout(path);
  if (layout === undefined || layout.shards === shards) return undefined;
  await bringLogsIn(path, layout.shards, options);
  ensureLayout(after, shards);
  const from = layout.version >= indexedVersion ? openShards(path, layout.shards, true) : readShards(path, layout);
  const to = openShards(after, shards, true);
  try {
    await copyAll(from, to);
    copyFeeds(from, to);
  } finally {
    for (const { environment } of [...from, ...to]) await closeEnvironment(environment);
  }
  renameSync(path, before);
  renameSync(after, path);
  syncDirectory(dirname(path));
  rmSync(before, { recursive: true });
  return layout.shards;
}

/**
 * Builds the index of a cache of layout 1. After a crash the next call builds it again.
 *
 * @returns the number of indexed jobs; undefined if the cache does not exist or has an index
 * @throws SaltworksError STORE_FAILED
 */
export async function indexJobCache(path: string): Promise<number | undefined> {
  const layout = readLayout(path);
  if (layout === undefined || layout.version >= indexedVersion) return undefined;
  const shards = openShards(path, layout.shards, true);
  try {
    let count = 0;
    for (const shard of shards) count += await buildIndex(shard, indexedIn);
    markLayoutCurrent(path, layout);
    return count;
  } finally {
    for (const { environment } of shards) await closeEnvironment(environment);
  }
}

/** Forgets what waited for a database that the configuration no longer names. @throws SaltworksError STORE_FAILED */
export async function clearJobFeeds(path: string): Promise<void> {
  const layout = readLayout(path);
  if (layout === undefined) return;
  const shards = openShards(path, layout.shards, true);
  try {
    clearFeeds(shards);
  } finally {
    for (const { environment } of shards) await closeEnvironment(environment);
  }
}
