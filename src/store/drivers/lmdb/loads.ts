/** Stores loads, and their index entries in the same transaction. */
import { jobMinionsBelowMax } from "../../../limits.ts";
import type { LoadToPut } from "../../jobs/job-cache.ts";
import { transact } from "../../lmdb/env.ts";
import { appendToFeed, jobKind } from "./feed-table.ts";
import { indexJob } from "./job-index.ts";
import { aheadKey, decodeLoad, encodeLoad, loadKey, otherKey, type Shard } from "./records.ts";

/** Usual number of records that a load adds: its own, and a term and a posting each, mostly on pages that other loads change, too. */
const recordsPerLoad = 8;
/** Records that one load with many metadata pairs may add. */
const recordsOfAny = 256;

/** Whether the jobs are added to the feed. A job of a Salt master never is, because its returns are not in our store. */
export type FedLoads = { readonly areFed: boolean };

/**
 * Stores loads in one transaction. A job that is taken over from a Salt master does not replace an existing one, which may have come meanwhile.
 *
 * @throws errors of LMDB or the file system
 */
export function keepLoads(shard: Shard, records: readonly LoadToPut[], { areFed }: FedLoads): void {
  const { environment, others, loads, index, feed } = shard;
  const values = records.map((record) => ({ record, key: loadKey(record.jid), value: encodeLoad(record) }));
  const nowMs = Date.now();
  const ahead = aheadKey(nowMs);
  const bytes = values.reduce((sum, { value }) => sum + value.byteLength, 0);
  transact(environment, { records: recordsOfAny + records.length * recordsPerLoad, bytes }, () => {
    for (const { record, key, value } of values) {
      if (record.isTakenOver === true && loads.doesExist(key)) continue;
      if (key.compare(ahead) > 0) others.putSync(otherKey(record.jid, nowMs), Buffer.alloc(0));
      loads.putSync(key, value);
      indexJob(index, key, record.load, record.isNoCache ?? false);
    }
    const own = areFed ? values.filter(({ record }) => record.isTakenOver !== true) : [];
    appendToFeed(
      feed,
      jobKind,
      own.map(({ key }) => key),
    );
  });
}

/** Stores a load if its id is new. Looks before it opens a transaction, because each costs a sync. @throws errors of LMDB or the file system */
export function keepNewLoad(shard: Shard, jid: string, make: () => LoadToPut, fed: FedLoads): void {
  shard.loads.resetReadTxn();
  if (!shard.loads.doesExist(loadKey(jid))) keepLoads(shard, [make()], fed);
}

/**
 * Adds expected minions to a stored load, up to `jobMinionsBelowMax` in all. The index stays, because it does not hold minions.
 *
 * @throws SaltworksError STORE_DAMAGED; errors of LMDB or the file system
 */
export function addMinionsToLoad({ environment, loads }: Shard, jid: string, minions: readonly string[]): void {
  const key = loadKey(jid);
  loads.resetReadTxn();
  const found = loads.getBinary(key);
  if (found === undefined || isWhole(jid, found, minions)) return;
  transact(environment, { records: 1, bytes: found.byteLength + bytesOf(minions) }, () => {
    // Another thread may have changed the load between the look and the transaction.
    const stored = loads.getBinary(key);
    if (stored === undefined) return;
    const load = decodeLoad(jid, stored);
    const all = new Set(load.minions);
    for (const id of minions) if (all.size < jobMinionsBelowMax) all.add(id);
    loads.putSync(key, encodeLoad({ ...load, minions: [...all] }));
  });
}

function isWhole(jid: string, stored: Buffer, minions: readonly string[]): boolean {
  const known = new Set(decodeLoad(jid, stored).minions);
  return known.size >= jobMinionsBelowMax || minions.every((id) => known.has(id));
}

function bytesOf(minions: readonly string[]): number {
  return minions.reduce((sum, id) => sum + Buffer.byteLength(id) + 5, 0);
}
