/** Removes old rows from the database of jobs every `loop_interval`, in short steps beside the copying of jobs, and counts them. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { isCleanedDatabase } from "../../config/options/job-cache-drivers.ts";
import type { ExpiredRows } from "../../databases/expiry.ts";
import { hasCode } from "../../errors.ts";
import type { ExpiryStatus } from "../../runners/contract/contract.ts";
import type { DatabaseTask } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";

export type JobExpiryOptions = {
  readonly keepSeconds: number;
  readonly archives: boolean;
  readonly everyMs: number;
};

/**
 * Undefined if all rows stay. As in Salt, only the tables of `master_job_cache` are cleaned: with `ext_job_cache` minions write there, and other
 * programs may keep what they wrote.
 */
export function expiryOptionsOf(config: MasterConfig): JobExpiryOptions | undefined {
  const { keep_jobs_seconds: keepSeconds, archive_jobs: archives, loop_interval: everySeconds } = config;
  if (keepSeconds === 0 || !isCleanedDatabase(config)) return undefined;
  return { keepSeconds, archives, everyMs: everySeconds * 1_000 };
}

export class JobExpiry {
  readonly counters = { jobs: 0, returns: 0, events: 0, failures: 0 };
  readonly #lane: Pick<LanePool, "run">;
  readonly #o: JobExpiryOptions;
  readonly #logger: Logger;
  #round = { jobs: 0, returns: 0, events: 0 };
  #dueMs = 0;
  #fault: string | undefined;
  #isUnderWay = false;

  constructor(lane: Pick<LanePool, "run">, o: JobExpiryOptions, logger: Logger) {
    this.#lane = lane;
    this.#o = o;
    this.#logger = logger;
  }

  /** Does one step if a round is due. @returns whether the round goes on */
  async step(): Promise<boolean> {
    if (performance.now() < this.#dueMs) return false;
    const { keepSeconds, archives, everyMs } = this.#o;
    const task = { kind: "expire", keepSeconds, archives } satisfies DatabaseTask;
    try {
      this.#note(await this.#lane.run<ExpiredRows>(task));
    } catch (error) {
      if (hasCode(error, "CHANNEL_CLOSED")) return false;
      this.#noteFault((error as Error).message);
      this.#isUnderWay = false;
    }
    if (!this.#isUnderWay) this.#dueMs = performance.now() + everyMs;
    return this.#isUnderWay;
  }

  status(): ExpiryStatus {
    const { keepSeconds, archives } = this.#o;
    const { jobs, returns, events } = this.counters;
    return { keepSeconds, archives, jobs, returns, events, isUnderWay: this.#isUnderWay, fault: this.#fault };
  }

  #note({ isDone, fault, ...rows }: ExpiredRows): void {
    for (const kind of ["jobs", "returns", "events"] as const) {
      this.counters[kind] += rows[kind];
      this.#round[kind] += rows[kind];
    }
    this.#isUnderWay = !isDone && fault === undefined;
    if (fault !== undefined) this.#noteFault(fault);
    else this.#fault = undefined;
    if (this.#isUnderWay) return;
    const { jobs, returns, events } = this.#round;
    if (jobs + returns + events > 0)
      this.#logger.info({ ...this.#round, archives: this.#o.archives }, "old rows left the database of jobs");
    this.#round = { jobs: 0, returns: 0, events: 0 };
  }

  /** Tells each fault once until another comes or a round succeeds. */
  #noteFault(fault: string): void {
    this.counters.failures += 1;
    if (fault !== this.#fault)
      this.#logger.error({ fault }, "old rows of the database of jobs cannot be removed: the next round tries again");
    this.#fault = fault;
  }
}
