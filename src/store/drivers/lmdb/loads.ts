/** Puts loads into the file that holds them, each with what the index has of it. */
import { isJid } from "../../../wire/jid.ts";
import type { LoadToPut } from "../../jobs/job-cache.ts";
import { transact } from "../../lmdb/env.ts";
import { indexJob } from "./job-index.ts";
import { encodeLoad, loadKey, otherKey, type Shard } from "./records.ts";

/** Records of one transaction of loads: each itself, and its terms with a posting, most of them next to another's. */
const recordsPerLoad = 8;
/** What one load alone may add, with many metadata pairs. */
const recordsOfAny = 256;

/** In one transaction. A job of Salt's does not replace a job that is there, which may have come meanwhile. @throws what LMDB or the file system says */
export function keepLoads({ environment, others, loads, index }: Shard, records: readonly LoadToPut[]): void {
  const values = records.map((record) => ({ record, key: loadKey(record.jid), value: encodeLoad(record) }));
  const bytes = values.reduce((sum, { value }) => sum + value.byteLength, 0);
  transact(environment, { records: recordsOfAny + records.length * recordsPerLoad, bytes }, () => {
    for (const { record, key, value } of values) {
      if (record.isTakenOver === true && loads.doesExist(key)) continue;
      if (!isJid(record.jid)) others.putSync(otherKey(record.jid, Date.now()), Buffer.alloc(0));
      loads.putSync(key, value);
      indexJob(index, key, record.load, record.isNoCache ?? false);
    }
  });
}

/** Keeps a load unless there is one under its id: it is looked for first, because a transaction costs a sync. @throws what LMDB or the file system says */
export function keepNewLoad(shard: Shard, record: LoadToPut): void {
  shard.loads.resetReadTxn();
  if (!shard.loads.doesExist(loadKey(record.jid))) keepLoads(shard, [record]);
}
