/**
 * Updates Salt's own files from our store, step by step: returns in `local_cache` layout, and minions' grains, pillars and mines.
 * An entry stays in the queue until it is written, so a master that was killed goes on where it stopped.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { saltMirrorAtOnce, saltMirrorStepMs, saltReturnsWaitingMax } from "../../limits.ts";
import { jidAt, startTimeText } from "../../wire/jid.ts";
import { replaceFile } from "../disk/durable-file.ts";
import type { JobCacheReader } from "../jobs/job-cache.ts";
import type { KeyedReturns } from "../jobs/keyed-returns.ts";
import type { MinionData } from "../minions/data.ts";
import { endTimeFile, jobDirectory, type LocalCacheOptions, loadFile } from "./job-files.ts";
import { LocalCache, writeLoadFiles } from "./local-cache.ts";
import { type MinionLayout, writeMinionFiles } from "./minion-files.ts";
import type { MirrorQueue, QueuedReturn } from "./mirror-queue.ts";

const fileMode = 0o640;
/** Bound of the jobs whose load is known to be written, so that not every return needs a look at the disk. */
const knownJobsMax = 1_024;
/** Errors of the whole disk or of this process. They may pass, so the step is tried again. */
const passingFaults = ["ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ENOMEM"] as const;

export type SaltMirrorOptions = LocalCacheOptions & {
  readonly jobs: Pick<JobCacheReader, "job">;
  /** The returns whose keys are in the queue. */
  readonly returns: Pick<KeyedReturns, "refresh" | "at">;
  readonly minions: Pick<MinionData, "parts">;
  readonly queue: MirrorQueue;
  readonly layouts: readonly MinionLayout[];
  /** Write the time of each job's last return (`endtime`). */
  readonly storesEndTime: boolean;
};

/** The counts of one step. `dropped`: not written, because too many returns waited. `gone`: removed from our store meanwhile. */
export type MirrorStep = {
  returns: number;
  duplicates: number;
  gone: number;
  failed: number;
  dropped: number;
  minions: number;
  /** Entries that are still in the queue. */
  returnsWaiting: number;
  minionsWaiting: number;
  /** The disk or the process refuses writes now. The caller tries again later. */
  isHeldUp: boolean;
  readonly faults: string[];
};

export class SaltMirror {
  readonly #o: SaltMirrorOptions;
  readonly #cache: LocalCache;
  readonly #knownJobs = new Set<string>();

  constructor(o: SaltMirrorOptions) {
    this.#o = o;
    this.#cache = new LocalCache(o);
  }

  /** @throws SaltworksError STORE_FAILED if our own store cannot be read */
  async step(): Promise<MirrorStep> {
    const { queue } = this.#o;
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
    step.returnsWaiting = queue.returnCount;
    step.minionsWaiting = queue.minionCount;
    return step;
  }

  #dropExcess(step: MirrorStep): void {
    const { queue } = this.#o;
    const excess = Math.min(queue.returnCount - saltReturnsWaitingMax, saltMirrorAtOnce);
    if (excess <= 0) return;
    queue.removeReturns(queue.returns(excess).map(({ place }) => place));
    step.dropped += excess;
  }

  /** @returns how many left the queue */
  async #writeReturns(step: MirrorStep, endMs: number): Promise<number> {
    const { queue } = this.#o;
    const done: Buffer[] = [];
    const ended = new Set<string>();
    const batch = queue.returns(saltMirrorAtOnce);
    if (batch.length === 0) return 0;
    await this.#o.returns.refresh();
    for (const queued of batch) {
      if (performance.now() > endMs) break;
      await this.#attempt(step, async () => this.#writeReturn(queued, step, ended));
      if (step.isHeldUp) break;
      done.push(queued.place);
    }
    for (const jid of ended) await this.#attempt(step, async () => this.#writeEndTime(jid));
    queue.removeReturns(done);
    return done.length;
  }

  async #writeReturn({ returnKey }: QueuedReturn, step: MirrorStep, ended: Set<string>): Promise<void> {
    const found = await this.#o.returns.at(returnKey);
    if (found === "gone" || found === "damaged") {
      step[found === "gone" ? "gone" : "failed"] += 1;
      return;
    }
    const { jid } = found;
    await this.#ensureLoad(jid);
    const [outcome] = await this.#cache.keepReturns([found]);
    step[outcome === "duplicate" ? "duplicates" : "returns"] += 1;
    if (this.#o.storesEndTime) ended.add(jid);
  }

  /** @returns how many left the queue */
  #writeMinions(step: MirrorStep, endMs: number): number {
    const { queue, cachedir, layouts, minions } = this.#o;
    const batch = queue.minions(saltMirrorAtOnce);
    const done: typeof batch = [];
    for (const queued of batch) {
      if (performance.now() > endMs) break;
      try {
        const parts = minions.parts(queued.id);
        writeMinionFiles(cachedir, layouts, queued.id, parts);
        step[parts.damaged.size > 0 ? "failed" : "minions"] += 1;
      } catch (error) {
        this.#fail(step, error);
        if (step.isHeldUp) break;
      }
      done.push(queued);
    }
    queue.removeMinions(done);
    return done.length;
  }

  async #attempt(step: MirrorStep, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#fail(step, error);
    }
  }

  /** Counts a failed write. Only a passing error holds the step up; a file with its own fault is left out, so that it does not stop all others. */
  #fail(step: MirrorStep, error: unknown): void {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    step.isHeldUp = hasCodeIn(cause, ...passingFaults);
    step.failed += 1;
    step.faults.push(error instanceof Error ? error.message : String(error));
  }

  async #ensureLoad(jid: string): Promise<void> {
    if (this.#knownJobs.has(jid)) return;
    const isThere = existsSync(join(jobDirectory(this.#o.cachedir, this.#o.hashType, jid), loadFile));
    const load = isThere ? undefined : await this.#o.jobs.job(jid);
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
