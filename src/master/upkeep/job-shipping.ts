/**
 * Keeps the database of jobs current: runs the lane's steps one after another, waits after a failure, longer each time, and tells the operator how far
 * the database is behind. Only the answer to a publish waits for it, and not for long.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { databaseOf } from "../../config/options/job-cache-drivers.ts";
import { databasePlace } from "../../databases/registry.ts";
import { within } from "../../deadline.ts";
import { hasCode } from "../../errors.ts";
import { databaseRetryMsMax, databaseStopMs, jobCopyWaitMs } from "../../limits.ts";
import type { CacheStatus } from "../../runners/contract/contract.ts";
import type { FeedState } from "../../store/jobs/job-feed.ts";
import type { DatabaseTask, ShipAnswer } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import { expiryOptionsOf, JobExpiry, type JobExpiryOptions } from "./job-expiry.ts";
import { pauseUntil } from "./pause.ts";

/**
 * How often the feed is looked at while there is no full batch in it. Rows gather meanwhile, because a transaction costs a sync of the database and one of
 * our store.
 */
const lookEveryMs = 250;
/** The first wait after a failure. Each is twice the one before, with jitter, up to `databaseRetryMsMax`. */
const firstRetryMs = 250;
/** How often what waits is counted while the database takes nothing. */
const countEveryMs = 1_000;
/** How often the log repeats that the database is down. */
const tellAgainMs = 600_000;
/** Rows per second are measured over this time. */
const rateMs = 10_000;

export function jobShippingOf(parts: {
  readonly config: MasterConfig;
  readonly databases: LanePool | undefined;
  readonly logger: Logger;
}): JobShipping {
  const { config, databases: lane, logger } = parts;
  const name = databaseOf(config);
  const place = name === undefined ? "" : databasePlace(config, name);
  return new JobShipping({ lane, name, place, logger, expiry: expiryOptionsOf(config) });
}

export type JobShippingParts = {
  /** Undefined if no database gets jobs. */
  readonly lane: LanePool | undefined;
  readonly name: string | undefined;
  readonly place: string;
  readonly logger: Logger;
  /** Undefined: no row is removed for its age. */
  readonly expiry?: JobExpiryOptions | undefined;
};

export class JobShipping {
  /** `late`: publishes that were answered before the database had the job. */
  readonly counters = { jobs: 0, returns: 0, present: 0, refused: 0, gone: 0, batches: 0, failures: 0, late: 0 };
  readonly expiry: JobExpiry | undefined;
  readonly #parts: JobShippingParts;
  readonly #stop = new AbortController();
  /** Ends the wait after a failure. */
  #retry = new AbortController();
  /** Ends the wait for more rows. */
  #hurry = new AbortController();
  /** Called when all that was stored before is in the database; then with false if it is not. */
  #waiters: ((isCopied: boolean) => void)[] = [];
  readonly #running: Promise<void>;
  #feed: FeedState = { waiting: 0, oldestMs: undefined, isMissing: false };
  #hasAnswered = false;
  #fault: string | undefined;
  #faultSinceMs = 0;
  #toldMs = Number.NEGATIVE_INFINITY;
  #nextTryMs: number | undefined;
  #lastFault: string | undefined;
  #isMissingTold = false;
  #rate = { sinceMs: performance.now(), rows: 0, perSecond: 0 };

  constructor(parts: JobShippingParts) {
    this.#parts = parts;
    const { lane, expiry, logger } = parts;
    if (lane !== undefined && expiry !== undefined) this.expiry = new JobExpiry(lane, expiry, logger);
    this.#running = this.#run();
  }

  get isConfigured(): boolean {
    return this.#parts.lane !== undefined;
  }

  /** 0 or 1, for the metrics. */
  get isReachable(): number {
    return this.#hasAnswered && this.#fault === undefined ? 1 : 0;
  }

  get waiting(): number {
    return this.#feed.waiting;
  }

  /** Age of the oldest entry, seconds. */
  lagSeconds(nowMs: number): number {
    return this.#feed.oldestMs === undefined ? 0 : Math.max(0, (nowMs - this.#feed.oldestMs) / 1_000);
  }

  status(nowMs: number): Omit<CacheStatus, "eventReturns" | "migration"> {
    const { name, place } = this.#parts;
    return {
      ...{ name, place, counters: { ...this.counters }, expiry: this.expiry?.status() },
      state:
        name === undefined
          ? "none"
          : this.#fault !== undefined
            ? "failing"
            : !this.#hasAnswered
              ? "starting"
              : this.#isBehind(nowMs)
                ? "behind"
                : "current",
      waiting: this.#feed.waiting,
      lagSeconds: this.lagSeconds(nowMs),
      rowsPerSecond: this.#rate.perSecond,
      isMissing: this.#feed.isMissing,
      fault: this.#fault,
      lastFault: this.#lastFault,
      failingSeconds: this.#fault === undefined ? 0 : (nowMs - this.#faultSinceMs) / 1_000,
      nextTrySeconds: this.#nextTryMs === undefined ? undefined : Math.max(0, (this.#nextTryMs - nowMs) / 1_000),
    };
  }

  /** Resolves when the database has what was stored before, at the latest after `jobCopyWaitMs`, or at once while it takes nothing. */
  async untilCopied(): Promise<void> {
    if (!this.isConfigured || this.#fault !== undefined || this.#stop.signal.aborted) return;
    const copied = new Promise<boolean>((resolve) => this.#waiters.push(resolve));
    this.#hurry.abort();
    if (!(await within(copied, jobCopyWaitMs, () => false))) this.counters.late += 1;
  }

  /** Call it after the workers have closed their stores. Copies what waits for at most `databaseStopMs`; the next start copies the rest. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const endMs = performance.now() + databaseStopMs;
    while (this.isConfigured && this.#fault === undefined && performance.now() < endMs) {
      const step = await this.#step();
      if (step === undefined || step.batches === 0) break;
    }
    await this.#count();
    const { waiting } = this.#feed;
    if (waiting > 0) this.#parts.logger.warn({ waiting }, "the database of jobs gets the rest at the next start");
  }

  #isBehind(nowMs: number): boolean {
    return this.#feed.isMissing || this.lagSeconds(nowMs) * 1_000 > 10 * lookEveryMs;
  }

  async #run(): Promise<void> {
    if (!this.isConfigured) return;
    for (let retryMs = firstRetryMs; !this.#stop.signal.aborted; ) {
      const waiters = this.#waiters.splice(0);
      const step = await this.#step();
      const isOver = step === undefined || this.#fault !== undefined;
      if (!isOver && step.hasMore) this.#waiters.unshift(...waiters);
      else for (const settle of waiters) settle(!isOver);
      if (isOver) {
        // Jitter, so that several masters do not come back to a database at once.
        const waitMs = retryMs * (0.5 + Math.random() / 2);
        this.#nextTryMs = Date.now() + waitMs;
        await this.#waitAndCount(waitMs);
        retryMs = this.#retry.signal.aborted ? firstRetryMs : Math.min(2 * retryMs, databaseRetryMsMax);
        this.#retry = new AbortController();
        continue;
      }
      retryMs = firstRetryMs;
      this.#nextTryMs = undefined;
      // Old rows wait while jobs do.
      const isExpiring = !this.#isBehind(Date.now()) && (await this.expiry?.step()) === true;
      if (!isExpiring && !step.hasMore && !step.feed.isMissing) await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    this.#hurry = new AbortController();
    if (this.#waiters.length === 0)
      await pauseUntil(AbortSignal.any([this.#stop.signal, this.#hurry.signal]), lookEveryMs);
  }

  async #step(): Promise<ShipAnswer | undefined> {
    const { lane, logger } = this.#parts;
    try {
      const step = await lane?.run<ShipAnswer>({ kind: "ship" } satisfies DatabaseTask);
      if (step !== undefined) this.#note(step);
      return step;
    } catch (error) {
      // A step that waits for the database when the master stops ends with its thread.
      if (hasCode(error, "CHANNEL_CLOSED") || this.#stop.signal.aborted) return undefined;
      logger.error({ err: error }, "the database of jobs: a step failed");
      this.#noteFault((error as Error).message);
      return undefined;
    }
  }

  /** Tries a failing database again at once, because an operator may have mended it. */
  retry(): void {
    this.#retry.abort();
  }

  /** The feed grows while the database is down, and an operator who sees how much waits can tell how long the disk lasts. */
  async #waitAndCount(waitMs: number): Promise<void> {
    const endMs = performance.now() + waitMs;
    const ended = AbortSignal.any([this.#stop.signal, this.#retry.signal]);
    for (let leftMs = waitMs; leftMs > 0 && !ended.aborted; leftMs = endMs - performance.now()) {
      await pauseUntil(ended, Math.min(leftMs, countEveryMs));
      await this.#count();
    }
  }

  async #count(): Promise<void> {
    try {
      const state = await this.#parts.lane?.run<FeedState>({ kind: "look" } satisfies DatabaseTask);
      if (state !== undefined) this.#feed = state;
    } catch (error) {
      // The next step fails the same way, and that one is told.
      this.#parts.logger.debug({ err: error }, "the database of jobs: what waits was not counted");
    }
  }

  #note(step: ShipAnswer): void {
    const { logger, name } = this.#parts;
    for (const count of ["jobs", "returns", "present", "refused", "gone", "batches"] as const)
      this.counters[count] += step[count];
    this.#feed = step.feed;
    this.#measure(step.jobs + step.returns);
    for (const refusal of step.refusals)
      logger.error(
        { database: name },
        `the database of jobs refused a row, which only the local store has: ${refusal}`,
      );
    for (const text of step.complaints) logger.warn({ python: text }, "the site's Python wrote");
    this.#noteMissing(step.feed.isMissing);
    this.#noteFault(step.fault);
  }

  #measure(rows: number): void {
    this.#rate.rows += rows;
    const ms = performance.now() - this.#rate.sinceMs;
    if (ms < rateMs) return;
    this.#rate = { sinceMs: performance.now(), rows: 0, perSecond: Math.round((this.#rate.rows * 1_000) / ms) };
  }

  #noteMissing(isMissing: boolean): void {
    if (isMissing && !this.#isMissingTold)
      this.#parts.logger.error(
        { waiting: this.#feed.waiting },
        "too much waits for the database of jobs: later jobs stay in the local store only, and are copied when the others are",
      );
    this.#isMissingTold = isMissing;
  }

  #noteFault(fault: string | undefined): void {
    const { logger, name } = this.#parts;
    const { waiting } = this.#feed;
    if (fault === undefined) {
      this.#hasAnswered = true;
      if (this.#fault !== undefined) logger.info({ database: name, waiting }, "the database of jobs takes rows again");
      this.#fault = undefined;
      this.#toldMs = Number.NEGATIVE_INFINITY;
      return;
    }
    this.counters.failures += 1;
    if (this.#fault === undefined) this.#faultSinceMs = Date.now();
    this.#fault = fault;
    this.#lastFault = fault;
    if (performance.now() - this.#toldMs < tellAgainMs) return;
    this.#toldMs = performance.now();
    logger.error(
      { database: name, waiting, fault },
      "the database of jobs takes no rows: jobs wait in the local store, which removes none of them meanwhile",
    );
  }
}
