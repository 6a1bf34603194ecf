/** Puts loads into the file that holds them, each with what the index has of it. */
import { isJid } from "../../../wire/jid.ts";
import { encode } from "../../../wire/msgpack.ts";
import type { LoadToPut } from "../../jobs/job-cache.ts";
import { transact } from "../../lmdb/env.ts";
import { indexJob } from "./job-index.ts";
import { decodeLoad, encodeLoad, loadKey, otherKey, type Shard } from "./records.ts";

/** Records of one transaction of loads: each itself, and its terms with a posting, most of them next to another's. */
const recordsPerLoad = 8;
/** What one load alone may add, with many metadata pairs. */
const recordsOfAny = 256;

/** In one transaction. A job of Salt's takes the place of none that is there: it may have come meanwhile. @throws what LMDB or the file system says */
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

/** Further expected minions of a job; of an unknown one, nothing. @throws SaltworksError STORE_DAMAGED, and what LMDB or the file system says */
export function addToLoad({ environment, loads }: Shard, jid: string, minionIds: readonly string[]): void {
  const key = loadKey(jid);
  loads.resetReadTxn();
  const bytes = (loads.getBinary(key)?.byteLength ?? 0) + encode([...minionIds], "bin").byteLength;
  transact(environment, { records: 1, bytes }, () => {
    const present = loads.getBinary(key);
    if (present === undefined) return;
    const record = decodeLoad(jid, present);
    const minions = [...new Set([...record.minions, ...minionIds])];
    loads.putSync(key, encodeLoad({ ...record, minions }));
  });
}
