/** The batch jobs (`-b`) that run in this master, at most `batchesRunningMax`, by job id. docs/decisions/0020-batches-in-the-master.md. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { batchesRunningMax, batchLogsMax } from "../../limits.ts";
import {
  BatchLog,
  batchDirectory,
  hasBatch,
  listBatches,
  readBatchSummary,
  removeBatch,
} from "../../store/jobs/batch-log.ts";
import { readBatchOptions } from "../../wire/batch-options.ts";
import { jidTime } from "../../wire/jid.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { JobTracker } from "../jobs/tracker.ts";
import type { Bus } from "../ports/bus.ts";
import type { Job, Published, Publisher } from "../publish/publisher.ts";
import { bootMs, ClockStep } from "../upkeep/clock-step.ts";
import { BatchJob } from "./job.ts";
import type { BatchEffects, BatchTimes } from "./ping.ts";
import { recoverBatch } from "./recovery.ts";
import type { BatchControl, BatchSharing, RunningBatch } from "./sharing.ts";

export type BatchesOptions = Omit<BatchEffects, "onOver" | "logs"> & {
  /** Undefined without a cluster. */
  readonly sharing?: BatchSharing | undefined;
  /** Age at which the log of a finished batch job is removed; 0 keeps all. */
  readonly keepMs: number;
};

export type BatchesParts = {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly bus: Pick<Bus, "fire">;
  /** Undefined without a cluster. `demand` throws unless this member may act for the jobs that it owns. */
  readonly leases: { readonly batches: BatchSharing; readonly demand: () => void } | undefined;
};
type BatchesJobs = Pick<BatchEffects, "readJob" | "retcodes"> & {
  readonly publisher: Publisher;
  readonly tracker: JobTracker;
};

export function batchesOf({ config, logger, bus, leases }: BatchesParts, jobs: BatchesJobs): Batches {
  const { publisher, tracker, readJob, retcodes } = jobs;
  return new Batches({
    publish: (job, onAccepted) =>
      publisher.publish(job, (published) => {
        onAccepted?.(published);
        leases?.demand();
      }),
    sharing: leases?.batches,
    untilWritten: () => publisher.untilWritten(),
    hasLowerMasters: config.order_masters,
    newJid: () => publisher.newJid(),
    record: (job, published) => publisher.record(job, published),
    follow: (options) => tracker.follow(options),
    readJob,
    retcodes,
    fire: (tag, data) => bus.fire(tag, data),
    logger,
    directory: batchDirectory(config.cachedir),
    nowMs: Date.now,
    keepMs: config.keep_jobs_seconds * 1_000,
  });
}

const owedAbortRetryMs = 30_000;

export class Batches {
  readonly counters = { begun: 0, resumed: 0, refused: 0, over: 0 };
  readonly #options: BatchesOptions;
  readonly #running = new Map<string, BatchJob>();
  readonly #clock: ClockStep;
  /** Batch jobs that are being begun and have no job id yet. */
  #pending = 0;
  /** Aborts that could not be written: the user by job id. They are tried again, and the batch jobs do not run meanwhile. */
  readonly #owedAborts = new Map<string, string>();
  #owedTimer: NodeJS.Timeout | undefined;

  constructor(options: BatchesOptions) {
    this.#options = options;
    this.#clock = new ClockStep(options.nowMs(), options.steadyMs ?? bootMs);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /**
   * Begins a batch job. Resolves when its ping is sent and its log is on disk. The rest runs in the background.
   *
   * @returns undefined if the target expects no minion
   * @throws SaltworksError QUEUE_FULL, FUNCTION_ARGUMENTS for invalid options, STORE_FAILED, or what a publish throws
   */
  async begin(job: Job, fields: ValueMap, times: BatchTimes): Promise<Published | undefined> {
    const [options, fault] = readBatchOptions(fields);
    if (options === undefined) throw new SaltworksError("FUNCTION_ARGUMENTS", fault);
    if (this.#running.size + this.#pending >= batchesRunningMax) {
      this.counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", `${batchesRunningMax} batches run already`, { batchesRunningMax });
    }
    this.#pending += 1;
    try {
      const begun = await BatchJob.begin(job, options, times, this.#effectsOf());
      if (begun === undefined) return undefined;
      this.counters.begun += 1;
      this.#running.set(begun.batch.jid, begun.batch);
      // If the write fails, the client gets an error, so the batch job must not run later.
      await begun.batch.sync().catch((error: Error) => {
        this.#owe(begun.batch.jid, job.user);
        throw error;
      });
      begun.beginSteps().catch((error: Error) => begun.batch.fail(error));
      return begun.published;
    } finally {
      this.#pending -= 1;
    }
  }

  /** Running batch jobs of all members, by job id. */
  states(): ReadonlyMap<string, RunningBatch> {
    const own = [...this.#running].map(([jid, { run }]) => [jid, { state: run.state, ...run.counts }] as const);
    return new Map([...(this.#options.sharing?.states() ?? []), ...own]);
  }

  /**
   * Pauses, resumes or aborts a batch job. Resolves when the change is on disk. An abort that cannot be written is tried again.
   *
   * @returns "changed", "unknown", or the present state if the action does not change it
   * @throws SaltworksError STORE_FAILED
   */
  async control(action: BatchControl, jid: string, user: string): Promise<string> {
    const batch = this.#running.get(jid);
    const elsewhere = batch === undefined ? this.#options.sharing?.control(action, jid, user) : undefined;
    try {
      const answer = await (elsewhere ?? this.#controlHere(batch, action, jid, user));
      if (action === "abort") this.#owedAborts.delete(jid);
      return answer;
    } catch (error) {
      if (action === "abort" && hasCode(error, "STORE_FAILED")) this.#owe(jid, user);
      throw error;
    }
  }

  async #controlHere(batch: BatchJob | undefined, action: BatchControl, jid: string, user: string): Promise<string> {
    if (batch !== undefined) return (await batch.control(action, user)) ? "changed" : batch.run.state;
    return action === "abort" ? await this.#abortStopped(jid, user) : "unknown";
  }

  /** Resumes the unfinished batch jobs of an earlier master process. Those of a cluster have an owner by lease, which `takeOver` makes this member. */
  resume(): void {
    const { directory, logger } = this.#options;
    for (const jid of listBatches(directory)) {
      try {
        const summary = readBatchSummary(directory, jid);
        if (summary?.last.kind !== "done" && summary?.first.cluster === undefined) this.takeOver(jid);
      } catch (error) {
        logger.error({ err: error, batch: jid }, "a batch job cannot be resumed");
      }
    }
    this.sweep();
  }

  /** Goes on with a batch job from its log. @throws SaltworksError STORE_FAILED */
  takeOver(jid: string): void {
    const batch = BatchJob.reopen(jid, this.#effectsOf());
    if (batch === undefined) return;
    this.#running.set(jid, batch);
    this.counters.resumed += 1;
    this.#options.logger.info({ batch: jid }, "a batch job is resumed");
    recoverBatch(batch).catch((error: Error) => batch.fail(error));
  }

  isRunning(jid: string): boolean {
    return this.#running.has(jid);
  }

  /** Whether an abort waits to be written. The batch job must not run before. */
  owesAbort(jid: string): boolean {
    return this.#owedAborts.has(jid);
  }

  /** Stops a batch job here. Another member, or this one later, goes on with it. */
  release(jid: string): void {
    this.#running.get(jid)?.close();
    this.#running.delete(jid);
  }

  /** Stops all batch jobs. Unfinished ones are resumed at the next start. */
  close(): void {
    clearInterval(this.#owedTimer);
    this.#payAborts();
    for (const batch of this.#running.values()) batch.close();
    this.#running.clear();
  }

  /** Aborts a batch job that is not running now, but would be resumed at the next start. */
  async #abortStopped(jid: string, user: string): Promise<string> {
    const { directory } = this.#options;
    // Reads only the end of the log.
    const isOpen = hasBatch(directory, jid) && readBatchSummary(directory, jid)?.last.kind !== "done";
    const isAborted = isOpen && (await BatchJob.abortStopped(jid, user, this.#effectsOf()));
    return isAborted ? "changed" : "unknown";
  }

  #owe(jid: string, user: string): void {
    this.#owedAborts.set(jid, user);
    this.#owedTimer ??= setInterval(() => this.#payAborts(), owedAbortRetryMs).unref();
  }

  /** A batch job that runs again, here or at another member, is aborted where it runs. */
  #payAborts(): void {
    for (const [jid, user] of this.#owedAborts)
      this.control("abort", jid, user).catch((error: Error) =>
        this.#options.logger.error({ err: error, batch: jid }, "the abort of a batch job cannot be written"),
      );
  }

  #effectsOf(): BatchEffects {
    return { ...this.#options, logs: this.#options.sharing?.logs ?? BatchLog, onOver: () => this.#noteOver() };
  }

  #noteOver(): void {
    for (const [jid, batch] of this.#running) {
      if (!batch.isClosed) continue;
      this.#running.delete(jid);
      this.counters.over += 1;
    }
    this.sweep();
  }

  /** Removes old logs of finished batch jobs. */
  sweep(): void {
    const { directory, keepMs, nowMs, logger, sharing } = this.#options;
    // Until then a log without an end may be of a batch job that another member goes on with.
    if (sharing?.isCopied === false) return;
    this.#clock.look(nowMs());
    // After the clock was set forward, ages may be wrong.
    const isAgeKnown = keepMs > 0 && this.#clock.isTrusted;
    try {
      const states = this.states();
      const finished = listBatches(directory).filter((jid) => !states.has(jid));
      const surplus = finished.length - batchLogsMax;
      for (const [index, jid] of finished.entries()) {
        const isOld = isAgeKnown && jidTime(jid).getTime() < nowMs() - keepMs;
        if (!isOld && index >= surplus) break;
        removeBatch(directory, jid);
        sharing?.forget(jid);
      }
    } catch (error) {
      logger.error({ err: error }, "logs of old batch jobs cannot be removed");
    }
  }
}
