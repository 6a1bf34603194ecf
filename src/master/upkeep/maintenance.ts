/** Maintenance every `loop_interval`: rotates the AES key if it is due, removes expired tokens, reads the workers' faults, trims old jobs. */
import { trimmedPerStepMax } from "../../limits.ts";
import { jidAt } from "../../wire/jid.ts";
import type { TrimAnswer } from "../../workers/messages/worker.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { bootMs, ClockStep } from "./clock-step.ts";

export type MaintenanceOptions = {
  readonly intervalMs: number;
  /** Age at which jobs leave the cache; 0 keeps them. */
  readonly keepJobsMs: number;
  /** Most jobs and bytes that the cache keeps, newest first; 0: unbounded. */
  readonly keep: { readonly jobsMax: number; readonly bytesMax: number };
  readonly pool: Pick<WorkerPool, "offer">;
  readonly rotateIfDue: () => Promise<void>;
  readonly sweepTokens: (nowMs: number) => Promise<void>;
  /** Reads the workers' faults, which come with their counters, because workers do not write to the log. */
  readonly readFaults: () => Promise<unknown>;
  readonly onFault: (error: Error) => void;
  /** Called when the wall clock was set by `stepMs`. After a step forward, jobs and tokens are not removed for their age for `clockTrustMs`. */
  readonly onClockSet: (stepMs: number) => void;
  /** A monotonic clock. */
  readonly steadyMs?: () => number;
};

export class Maintenance {
  /** `maintained`: rounds begun. */
  readonly counters = { trimmed: 0, maintained: 0 };
  readonly #options: MaintenanceOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #clock: ClockStep;
  #isTrimming = false;
  #isSweeping = false;
  #isClosed = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#clock = new ClockStep(Date.now(), options.steadyMs ?? bootMs);
    this.#timer = setInterval(() => this.run(Date.now()), options.intervalMs);
  }

  run(nowMs: number): void {
    const { rotateIfDue, readFaults, onFault, onClockSet } = this.#options;
    this.counters.maintained += 1;
    const setByMs = this.#clock.look(nowMs);
    if (setByMs !== 0) onClockSet(setByMs);
    rotateIfDue().catch(onFault);
    // Tokens that have expired by an untrusted clock are refused, but not removed.
    if (this.#clock.isTrusted) this.#sweep(nowMs).catch(onFault);
    readFaults().catch(onFault);
    this.trim(nowMs).catch(onFault);
  }

  async #sweep(nowMs: number): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      await this.#options.sweepTokens(nowMs);
    } finally {
      this.#isSweeping = false;
    }
  }

  /** Trims in short steps until no old job is left, so that it keeps up with new jobs. One run at a time. */
  async trim(nowMs: number): Promise<void> {
    const { keep, pool } = this.#options;
    const keepJobsMs = this.#clock.isTrusted ? this.#options.keepJobsMs : 0;
    const isKeepingAll = keepJobsMs <= 0 && keep.jobsMax <= 0 && keep.bytesMax <= 0;
    if (isKeepingAll || this.#isTrimming) return;
    this.#isTrimming = true;
    const olderThanJid = jidAt(keepJobsMs <= 0 ? 0 : nowMs - keepJobsMs, 0);
    const task = { kind: "trim", olderThanJid, keep, stepsMax: trimmedPerStepMax };
    try {
      for (let hasMore = true; hasMore && !this.#isClosed; ) {
        const answer = await pool.offer<TrimAnswer>(0, { bytes: 0, build: () => ({ task, transfer: [] }) });
        this.counters.trimmed += answer.removed;
        hasMore = answer.hasMore;
      }
    } finally {
      this.#isTrimming = false;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}
