/** Adds the records of a migration to the LMDB job cache, beside the workers that write it. Nothing of it goes into the feed. */
import { takenJidBytesMax } from "../../../limits.ts";
import { jidOfStartTime } from "../../../wire/jid.ts";
import { checkedValue } from "../../disk/checked-value.ts";
import { attempt } from "../../disk/store-error.ts";
import type {
  ImportBatch,
  Imported,
  ImportedEnd,
  ImportedJob,
  ImportedReturn,
  JobImport,
} from "../../jobs/job-import.ts";
import { transact } from "../../lmdb/env.ts";
import { keepLoads } from "./loads.ts";
import {
  closeShards,
  decodeLoad,
  keepEnd,
  loadKey,
  returnKey,
  type Shard,
  shardIndexOf,
  storeReturns,
} from "./records.ts";

/** Longest key that LMDB holds, bytes. */
const keyBytesMax = 1_978;

export class LmdbJobImport implements JobImport {
  readonly #shards: readonly Shard[];
  readonly #storesEndTime: boolean;

  constructor(shards: readonly Shard[], storesEndTime: boolean) {
    this.#shards = shards;
    this.#storesEndTime = storesEndTime;
  }

  refusalOf(jid: string, minionId = ""): string | undefined {
    if (jid === "" || jid.includes("\0") || Buffer.byteLength(jid) > takenJidBytesMax)
      return `its job id is not one of 1 to ${takenJidBytesMax} bytes`;
    const isKey = !minionId.includes("\0") && returnKey(jid, minionId).byteLength <= keyBytesMax;
    return isKey ? undefined : "the minion's id is too long, or has a zero byte";
  }

  async write({ jobs, returns, ends }: ImportBatch): Promise<Imported> {
    return attempt("migrated jobs cannot be stored", () => {
      const newJobs = this.#keepJobs(jobs);
      const newReturns = this.#keepReturns(returns);
      if (this.#storesEndTime) this.#keepEnds(ends);
      const present = jobs.length + returns.length - newJobs - newReturns;
      return { jobs: newJobs, returns: newReturns, present };
    });
  }

  async close(): Promise<void> {
    await closeShards(this.#shards);
  }

  /** A job that only the takeover from Salt has stored becomes an own one, because its returns follow. */
  #keepJobs(jobs: readonly ImportedJob[]): number {
    let added = 0;
    for (const shard of this.#shards) {
      shard.loads.resetReadTxn();
      const fresh = jobs.filter(({ jid }) => this.#homeOf(jid) === shard && isNew(shard, jid));
      if (fresh.length > 0) keepLoads(shard, fresh, { areFed: false });
      added += fresh.length;
    }
    return added;
  }

  #keepReturns(returns: readonly ImportedReturn[]): number {
    const fresh = new Map<string, { readonly key: Buffer; readonly value: Buffer }>();
    for (const { returns: stored } of this.#shards) stored.resetReadTxn();
    for (const { jid, minionId, body } of returns) {
      const key = returnKey(jid, minionId);
      if (this.#homeOf(minionId).returns.doesExist(key)) continue;
      fresh.set(key.toString("latin1"), { key, value: checkedValue(key, body) });
    }
    storeReturns(this.#shards, [...fresh.values()], { areFed: false });
    return fresh.size;
  }

  #keepEnds(ends: readonly ImportedEnd[]): void {
    for (const { jid, end } of ends) {
      const digits = jidOfStartTime(end);
      if (digits === undefined) continue;
      const { environment, ends: stored } = this.#homeOf(jid);
      transact(environment, { records: 1, bytes: digits.length }, () => keepEnd(stored, loadKey(jid), digits));
    }
  }

  #homeOf(name: string): Shard {
    const shard = this.#shards[shardIndexOf(name, this.#shards.length)];
    if (shard === undefined) throw new RangeError("the job cache has no files");
    return shard;
  }
}

/** A damaged record counts as present, because its remains may be wanted. */
function isNew({ loads }: Shard, jid: string): boolean {
  const stored = loads.getBinary(loadKey(jid));
  if (stored === undefined) return true;
  try {
    return decodeLoad(jid, stored).isTakenOver === true;
  } catch {
    return false;
  }
}
