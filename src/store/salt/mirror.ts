/**
 * Keeps Salt's own files current from our store, step by step: returns in `local_cache` layout, and minions' grains, pillars and mines.
 * The feed names what is to be written until it is written, so that a killed master goes on where it was.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { saltMirrorAtOnce, saltMirrorStepMs, saltReturnsWaitingMax } from "../../limits.ts";
import { jidAt, startTimeText } from "../../wire/jid.ts";
import { openValue } from "../disk/checked-value.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { storeFailed } from "../disk/store-error.ts";
import { DamageNotes } from "../drivers/lmdb/damage-notes.ts";
import { readLayout } from "../drivers/lmdb/layout.ts";
import { jidInReturnKey, minionIdIn, type ReadShard, readShards, shardIndexOf } from "../drivers/lmdb/records.ts";
import type { JobSearch } from "../jobs/job-cache.ts";
import type { MinionData } from "../minions/data.ts";
import type { FedReturn, SaltFeed } from "./feed.ts";
import { endTimeFile, jobDirectory, loadFile } from "./job-files.ts";
import { LocalCache, type LocalCacheOptions, writeLoadFiles } from "./local-cache.ts";
import { type MinionLayout, writeMinionFiles } from "./minion-files.ts";

const fileMode = 0o640;
/** Jobs whose load is known to be there, so that not every return looks. */
const knownJobsMax = 1_024;
/** Faults of the whole disk or of this process, which may pass. */
const passingFaults = ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM"] as const;

export type SaltMirrorOptions = LocalCacheOptions & {
  /** Directory of the LMDB job cache. */
  readonly jobsPath: string;
  readonly jobs: Pick<JobSearch, "job">;
  readonly minions: Pick<MinionData, "get" | "getMine">;
  readonly feed: SaltFeed;
  readonly layouts: readonly MinionLayout[];
  /** Note when each job's last return came. */
  readonly storesEndTime: boolean;
  /** What of our own store is damaged, once each. */
  readonly onFault: (error: Error) => void;
};

/** What one step did. `dropped`: too many waited. `gone`: removed from our store meanwhile. */
export type MirrorStep = {
  returns: number;
  duplicates: number;
  gone: number;
  failed: number;
  dropped: number;
  minions: number;
  /** Still to be written. */
  returnsWaiting: number;
  minionsWaiting: number;
  /** The disk takes nothing now: to be tried again later. */
  isHeldUp: boolean;
  readonly faults: string[];
};

export class SaltMirror {
  readonly #o: SaltMirrorOptions;
  readonly #cache: LocalCache;
  readonly #knownJobs = new Set<string>();
  readonly #damage: DamageNotes;
  #shards: readonly ReadShard[] | undefined;

  constructor(o: SaltMirrorOptions) {
    this.#o = o;
    this.#cache = new LocalCache(o);
    this.#damage = new DamageNotes(o.jobsPath, o);
  }

  /** @throws SaltworksError STORE_FAILED if our own store cannot be read */
  async step(): Promise<MirrorStep> {
    const { feed } = this.#o;
    const step: MirrorStep = {
      ...{ returns: 0, duplicates: 0, gone: 0, failed: 0, dropped: 0, minions: 0 },
      ...{ returnsWaiting: 0, minionsWaiting: 0, isHeldUp: false, faults: [] },
    };
    this.#dropExcess(step);
    const endMs = performance.now() + saltMirrorStepMs;
    for (let hasMore = true; hasMore && !step.isHeldUp && performance.now() < endMs; ) {
      const returns = await this.#writeReturns(step, endMs);
      const minions = step.isHeldUp ? 0 : this.#writeMinions(step, endMs);
      hasMore = returns + minions > 0;
    }
    step.returnsWaiting = feed.returnCount;
    step.minionsWaiting = feed.minionCount;
    return step;
  }

  #dropExcess(step: MirrorStep): void {
    const { feed } = this.#o;
    const excess = Math.min(feed.returnCount - saltReturnsWaitingMax, saltMirrorAtOnce);
    if (excess <= 0) return;
    feed.removeReturns(feed.returns(excess).map(({ place }) => place));
    step.dropped += excess;
  }

  /** @returns how many left the feed */
  async #writeReturns(step: MirrorStep, endMs: number): Promise<number> {
    const { feed } = this.#o;
    const done: Buffer[] = [];
    const ended = new Set<string>();
    const batch = feed.returns(saltMirrorAtOnce);
    if (batch.length === 0) return 0;
    for (const { returns } of this.#stored()) returns.resetReadTxn();
    for (const fed of batch) {
      if (performance.now() > endMs) break;
      await this.#attempt(step, async () => this.#writeReturn(fed, step, ended));
      if (step.isHeldUp) break;
      done.push(fed.place);
    }
    for (const jid of ended) await this.#attempt(step, async () => this.#writeEndTime(jid));
    feed.removeReturns(done);
    return done.length;
  }

  async #writeReturn({ returnKey }: FedReturn, step: MirrorStep, ended: Set<string>): Promise<void> {
    const [jid, minionId] = [jidInReturnKey(returnKey), minionIdIn(returnKey)];
    const shards = this.#stored();
    const value = shards[shardIndexOf(minionId, shards.length)]?.returns.getBinary(returnKey);
    const body = value === undefined ? undefined : openValue(returnKey, value);
    if (value !== undefined && body === undefined) this.#damage.noteReturn(jid, minionId);
    if (body === undefined) {
      step[value === undefined ? "gone" : "failed"] += 1;
      return;
    }
    this.#ensureLoad(jid);
    const [outcome] = await this.#cache.keepReturns([{ jid, minionId, body }]);
    step[outcome === "duplicate" ? "duplicates" : "returns"] += 1;
    if (this.#o.storesEndTime) ended.add(jid);
  }

  /** @returns how many left the feed */
  #writeMinions(step: MirrorStep, endMs: number): number {
    const { feed, cachedir, layouts, minions } = this.#o;
    const batch = feed.minions(saltMirrorAtOnce);
    const done: typeof batch = [];
    for (const fed of batch) {
      if (performance.now() > endMs) break;
      try {
        writeMinionFiles(cachedir, layouts, fed.id, { ...minions.get(fed.id), mine: minions.getMine(fed.id) });
        step.minions += 1;
      } catch (error) {
        this.#fail(step, error);
        if (step.isHeldUp) break;
      }
      done.push(fed);
    }
    feed.removeMinions(done);
    return done.length;
  }

  async #attempt(step: MirrorStep, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#fail(step, error);
    }
  }

  /** A file with a fault of its own is left out, because it would stop all others. */
  #fail(step: MirrorStep, error: unknown): void {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    step.isHeldUp = hasCodeIn(cause, ...passingFaults);
    step.failed += 1;
    step.faults.push(error instanceof Error ? error.message : String(error));
  }

  /** Read without the writers' logs, because the feed names only returns that have left them. */
  #stored(): readonly ReadShard[] {
    if (this.#shards !== undefined) return this.#shards;
    const layout = readLayout(this.#o.jobsPath);
    if (layout === undefined) throw storeFailed("the job cache is read before it exists", undefined);
    this.#shards = readShards(this.#o.jobsPath, layout);
    return this.#shards;
  }

  #ensureLoad(jid: string): void {
    if (this.#knownJobs.has(jid)) return;
    const isThere = existsSync(join(jobDirectory(this.#o.cachedir, this.#o.hashType, jid), loadFile));
    const load = isThere ? undefined : this.#o.jobs.job(jid);
    if (load !== undefined) writeLoadFiles(this.#o, load);
    if (!isThere && load === undefined) return;
    if (this.#knownJobs.size >= knownJobsMax) this.#knownJobs.clear();
    this.#knownJobs.add(jid);
  }

  #writeEndTime(jid: string): void {
    const path = join(jobDirectory(this.#o.cachedir, this.#o.hashType, jid), endTimeFile);
    replaceFile(path, startTimeText(jidAt(Date.now(), 0)), fileMode);
  }
}
