/**
 * Spreads an existing LMDB job cache over another number of files: copied into a new directory, which then takes the old one's place;
 * and gives one of an earlier layout what it lacks. A crash at any point leaves one whole cache. No other thread or process may have it open meanwhile.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { syncDirectory } from "../../disk/durable-file.ts";
import { type BinaryDatabase, closeEnvironment, transact } from "../../lmdb/env.ts";
import { absorbLogs, listLogs } from "../../log/files.ts";
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

/** One transaction of the copy, bytes: well under what a small machine spares. */
const copyBytes = 16 * 1024 * 1024;

type Table = "loads" | "returns" | "others" | "ends";
/** By what a record of each table finds its file. */
const placeOf: Record<Table, (key: Buffer) => string> = {
  loads: jidInLoadKey,
  returns: minionIdIn,
  others: jidInOtherKey,
  ends: jidInLoadKey,
};

type Copy = { readonly key: Buffer; readonly value: Buffer };

/** In one transaction a file. */
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
    // Copies: the range reuses its key, and the value is a view until the next step.
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

/** Undoes what an interrupted run left. */
function recover(path: string, before: string, after: string): void {
  if (!existsSync(path) && existsSync(before)) renameSync(before, path);
  for (const leftover of [before, after]) rmSync(leftover, { recursive: true, force: true });
}

export type AbsorbOptions = {
  readonly storesEndTime?: boolean;
  readonly feed?: { readonly addReturns: (returnKeys: readonly Buffer[]) => void } | undefined;
};

/**
 * Brings in the returns that a master which was killed had only in its logs.
 *
 * @param feed - gets their keys first, for whatever else wants them: keys of returns that never came are passed over there
 * @returns which logs are damaged, a sentence each
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
      options.feed?.addReturns(entries.map(({ key }) => key));
      storeReturns(into, entries, options.storesEndTime);
    });
  } finally {
    for (const { environment } of into) await closeEnvironment(environment);
  }
}

/**
 * Brings the cache at `path` to `shards` files; does nothing if it has them or isn't there.
 *
 * @returns the former number of files, if that was another one
 * @throws SaltworksError STORE_FAILED; the cache is then as it was
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
  const from = readShards(path, layout);
  const to = openShards(after, shards, true);
  try {
    await copyAll(from, to);
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
 * Builds the index of a cache that was made before there was one. What was begun is gone on with after a crash.
 *
 * @returns how many jobs it has now, or undefined if the cache is not there or has its index
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
