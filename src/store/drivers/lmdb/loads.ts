/** Stores loads, and their index entries in the same transaction. */
import { isJid } from "../../../wire/jid.ts";
import type { LoadToPut } from "../../jobs/job-cache.ts";
import { transact } from "../../lmdb/env.ts";
import { appendToFeed, jobKind } from "./feed-table.ts";
import { indexJob } from "./job-index.ts";
import { encodeLoad, loadKey, otherKey, type Shard } from "./records.ts";

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
  const bytes = values.reduce((sum, { value }) => sum + value.byteLength, 0);
  transact(environment, { records: recordsOfAny + records.length * recordsPerLoad, bytes }, () => {
    for (const { record, key, value } of values) {
      if (record.isTakenOver === true && loads.doesExist(key)) continue;
      if (!isJid(record.jid)) others.putSync(otherKey(record.jid, Date.now()), Buffer.alloc(0));
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
