/**
 * Jobs whose ids are times far ahead of the clock, made by a client or a master whose clock was wrong. They leave the cache by the hour in which they
 * were stored, which `others` keeps. Jobs that were stored while this machine's clock was wrong, or by an earlier release, are dated here.
 */
import { datedPerStepMax } from "../../../limits.ts";
import { isJid } from "../../../wire/jid.ts";
import { transact } from "../../lmdb/env.ts";
import { aheadKey, jidInLoadKey, jidInOtherKey, msPerHour, otherKey, type Shard } from "./records.ts";
import { jidsAfter } from "./walk-jids.ts";

const nothing = Buffer.alloc(0);

/** Looks through the jobs ahead once after the cache was opened, and again whenever the clock has gone back. Usually none is there. */
export class AheadJobs {
  readonly #shards: readonly Shard[];
  readonly #homeOf: (jid: string) => Shard;
  /** Where the look goes on; undefined when it is over. */
  #after: string | undefined;
  #lookedAtMs = Number.POSITIVE_INFINITY;

  constructor(shards: readonly Shard[], homeOf: (jid: string) => Shard) {
    this.#shards = shards;
    this.#homeOf = homeOf;
  }

  /** Dates up to `datedPerStepMax` jobs of each kind. @throws errors of LMDB or the file system */
  date(nowMs: number): void {
    if (nowMs < this.#lookedAtMs) this.#after = jidInLoadKey(aheadKey(nowMs));
    this.#lookedAtMs = nowMs;
    if (this.#after === undefined) return;
    const isAllDated = this.#moveLaterHours(nowMs);
    const jids = jidsAfter(this.#shards, this.#after, datedPerStepMax).filter(isJid);
    if (jids.length > 0) this.#dateJobs(jids, nowMs);
    if (jids.length === datedPerStepMax) this.#after = jids.at(-1);
    else if (isAllDated) this.#after = undefined;
  }

  #dateJobs(jids: readonly string[], nowMs: number): void {
    const dated = jidsDatedFrom(this.#shards, nothing);
    for (const shard of this.#shards) {
      const own = jids.filter((jid) => !dated.has(jid) && this.#homeOf(jid) === shard);
      if (own.length === 0) continue;
      transact(shard.environment, { records: own.length, bytes: 0 }, () => {
        for (const jid of own) shard.others.putSync(otherKey(jid, nowMs), nothing);
      });
    }
  }

  /** Moves jobs of hours to come to this hour. @returns whether none is left */
  #moveLaterHours(nowMs: number): boolean {
    let isDone = true;
    for (const { environment, others } of this.#shards) {
      others.resetReadTxn();
      const range = { start: otherKey("", nowMs + msPerHour), limit: datedPerStepMax };
      const keys = Array.from(others.getKeys(range), (key) => Buffer.from(key));
      if (keys.length === datedPerStepMax) isDone = false;
      if (keys.length === 0) continue;
      transact(environment, { records: 2 * keys.length, bytes: 0 }, () => {
        for (const key of keys) {
          others.removeSync(key);
          others.putSync(otherKey(jidInOtherKey(key), nowMs), nothing);
        }
      });
    }
    return isDone;
  }
}

/** Ids in `others` from the hour of `start` on. */
export function jidsDatedFrom(shards: readonly Shard[], start: Buffer): Set<string> {
  const jids = new Set<string>();
  for (const { others } of shards) {
    others.resetReadTxn();
    for (const key of others.getKeys({ start })) jids.add(jidInOtherKey(key));
  }
  return jids;
}
