/**
 * Runs one migration of jobs at a time: the lane's steps one after another, with waits after a failure. It goes on when the operator's command has ended,
 * and ends with the master. Nothing else of the master waits for it.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { databaseOf } from "../../config/options/job-cache-drivers.ts";
import type { MigrationProgress } from "../../databases/migration/migration.ts";
import { checkMigrationNames, type MigrationNames } from "../../databases/migration/open.ts";
import type { MigrationAnswer, MigrationTask } from "../../databases/migration/thread.ts";
import { SaltworksError } from "../../errors.ts";
import { logItemsMax, migrationFailuresMax, migrationRetryMsMax } from "../../limits.ts";
import type { MigrationStatus } from "../../runners/contract/contract.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import { pauseUntil } from "./pause.ts";

const firstRetryMs = 250;

export type JobMigrationParts = {
  readonly config: MasterConfig;
  /** The lane that copies jobs into the configured database, which also writes what migrates there. */
  readonly databases: Pick<LanePool, "run"> | undefined;
  readonly migrations: Pick<LanePool, "run">;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
  /** Default: `migrationRetryMsMax`. */
  readonly retryMsMax?: number;
};

type Running = MigrationNames & { state: MigrationStatus["state"]; progress?: MigrationProgress; fault?: string };

export class JobMigration {
  readonly #parts: JobMigrationParts;
  readonly #stop = new AbortController();
  #last: Running | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: JobMigrationParts) {
    this.#parts = parts;
  }

  status(): MigrationStatus | undefined {
    const last = this.#last;
    return last && { ...last, progress: last.progress, fault: last.fault };
  }

  /** Resolves once both job caches have answered, or if this migration is under way. @throws SaltworksError FUNCTION_FAILED */
  async start(names: MigrationNames): Promise<void> {
    const { config, logger } = this.#parts;
    const last = this.#last;
    if (last?.state === "running") {
      if (last.from === names.from && last.to === names.to) return;
      const text = `a migration from ${last.from} to ${last.to} is under way: jobs.cache_status shows it`;
      throw new SaltworksError("FUNCTION_FAILED", text);
    }
    const running: Running = { ...checkMigrationNames(config, names), state: "running" };
    this.#last = running;
    try {
      const { progress, fault } = await this.#run(running, "begin");
      if (fault !== undefined) throw new SaltworksError("FUNCTION_FAILED", fault.message);
      if (progress !== undefined) running.progress = progress;
    } catch (error) {
      this.#last = last;
      throw error;
    }
    const { from, to } = running;
    logger.info({ from, to, isResumed: running.progress?.isResumed }, "a migration of jobs has begun");
    this.#running = this.#copy(running);
  }

  /** The next start of the same migration goes on from its mark. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #copy(running: Running): Promise<void> {
    for (let failures = 0; running.state === "running"; ) {
      const fault = await this.#step(running);
      if (fault === undefined) {
        failures = 0;
        continue;
      }
      running.fault = fault.message;
      failures += 1;
      if (!fault.isPassing || failures >= migrationFailuresMax) running.state = "failed";
      else
        await pauseUntil(
          this.#stop.signal,
          Math.min(firstRetryMs * 2 ** failures, this.#parts.retryMsMax ?? migrationRetryMsMax),
        );
      if (this.#stop.signal.aborted) running.state = "failed";
    }
    await this.#run(running, "leave").catch((error: unknown) =>
      this.#parts.logger.warn({ err: error }, "a migration of jobs was not closed"),
    );
    this.#tellEnd(running);
  }

  /** @returns why it failed */
  async #step(running: Running): Promise<MigrationAnswer["fault"]> {
    if (this.#stop.signal.aborted) return { message: "the master is shutting down", isPassing: false };
    try {
      const { progress, fault } = await this.#run(running, "step");
      if (progress !== undefined) this.#note(running, progress);
      return fault;
    } catch (error) {
      // The thread was lost, or did not answer. The next one goes on from the mark.
      return { message: (error as Error).message, isPassing: true };
    }
  }

  #note(running: Running, progress: MigrationProgress): void {
    running.progress = progress;
    for (let at = 0; at < progress.leftOut.length; at += logItemsMax)
      this.#parts.logger.warn(
        { leftOut: progress.leftOut.slice(at, at + logItemsMax) },
        "a migration of jobs has left out what it cannot read or write",
      );
    if (progress.isDone) running.state = "done";
  }

  #tellEnd({ from, to, state, progress, fault }: Running): void {
    const facts = { from, to, ...progress?.counts };
    if (state === "done") this.#parts.logger.info(facts, "a migration of jobs is done");
    else this.#parts.logger.error({ ...facts, fault }, "a migration of jobs has stopped: the same command goes on");
  }

  async #run({ from, to }: MigrationNames, what: MigrationTask["what"]): Promise<MigrationAnswer> {
    const { config, databases, migrations } = this.#parts;
    const lane = to === databaseOf(config) && databases !== undefined ? databases : migrations;
    return await lane.run<MigrationAnswer>({ kind: "migrate", what, from, to } satisfies MigrationTask);
  }
}
