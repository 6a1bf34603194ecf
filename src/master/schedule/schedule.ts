/**
 * The master's own schedule (`schedule`): runner functions at their times, as an operator who has the master's key would run them. The rules of times
 * are those of a minion's schedule. Source: Salt 3007's scheduler on a master.
 */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { scheduledJobsRunningMax, scheduleLookMs } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { ClockSet } from "../../schedule/clock-set.ts";
import { ScheduledJob, type Surrounding, scheduleSettings } from "../../schedule/job.ts";
import { RunningJobs } from "../../schedule/running.ts";
import { wholeOf } from "../../schedule/timing.ts";
import { encode } from "../../wire/msgpack.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import { isSuccess, type ReactionCommands } from "../reactor/reactions.ts";

/** A job runs at most once in this time, as on a minion. */
const roundMs = 1_000;
/** What a minion's scheduler does with a return. Here the call is in the job cache, as any runner call. */
const withoutEffect = ["returner", "return_config", "return_kwargs", "return_job", "metadata"];

type MasterScheduleOptions = {
  readonly config: Pick<MasterConfig, "schedule">;
  readonly logger: Pick<Logger, "error" | "info" | "warn">;
  /** The machine's uptime by default. */
  readonly uptimeMs?: () => number;
};

export class MasterSchedule {
  /** Calls that were begun, that failed, and that were skipped because the job still runs, or too many do. */
  readonly counters = { run: 0, failed: 0, skipped: 0 };
  readonly #options: MasterScheduleOptions;
  readonly #commands: Pick<ReactionCommands, "run">;
  readonly #jobs: ScheduledJob[] = [];
  readonly #settings: ValueMap = new Map();
  readonly #running = new RunningJobs();
  readonly #clockSet: ClockSet;
  #timer: NodeJS.Timeout | undefined;

  /** `commands`: of which calls take the way of an operator's. */
  constructor(options: MasterScheduleOptions, commands: Pick<ReactionCommands, "run">) {
    this.#options = options;
    this.#commands = commands;
    this.#clockSet = new ClockSet(Date.now(), options.uptimeMs);
    for (const [name, written] of Object.entries(options.config.schedule)) this.#add(name, asValue(written ?? null));
    if (this.#jobs.length > 0) this.#wakeIn(roundMs);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #add(name: string, written: Value): void {
    const { logger } = this.#options;
    if (scheduleSettings.has(name)) {
      this.#settings.set(name, written);
      return;
    }
    if (!(written instanceof Map)) {
      logger.error({ job: name }, "a scheduled job must be a map, and is left out");
      return;
    }
    const ignored = withoutEffect.filter((option) => written.has(option));
    if (ignored.length > 0)
      logger.warn({ job: name, options: ignored }, "these options of a scheduled job have no effect");
    this.#jobs.push(new ScheduledJob(name, written, this.#clock(Date.now())));
  }

  #clock(nowMs: number): Surrounding["clock"] {
    return { nowMs, loopMs: roundMs, whens: [] };
  }

  #wakeIn(waitMs: number): void {
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, waitMs));
    this.#timer.unref();
  }

  #tick(): void {
    const { logger } = this.#options;
    const nowMs = Date.now();
    const stepMs = this.#clockSet.look(nowMs);
    const surrounding: Surrounding = { clock: this.#clock(nowMs), common: this.#settings, random: Math.random };
    let wakeMs = nowMs + scheduleLookMs;
    for (const job of this.#jobs) {
      if (stepMs !== 0) job.noteClockSet(stepMs, nowMs);
      const decision = job.look(surrounding);
      if (decision.kind === "run") this.#begin(job, decision.fun ?? job.fun, nowMs);
      else if (decision.kind === "skip") job.noteSkip(decision.reason, nowMs);
      else if (decision.kind === "faulty" && decision.isNew) logger.error({ job: job.name }, decision.fault);
      wakeMs = Math.min(wakeMs, job.wakeMs(surrounding) ?? wakeMs);
    }
    this.#wakeIn(wakeMs - nowMs);
  }

  #begin(job: ScheduledJob, called: Value, nowMs: number): void {
    const { logger } = this.#options;
    const { name, spec } = job;
    const fun = strOf(called);
    if (!this.#hasRoom(job)) {
      this.counters.skipped += 1;
      job.noteSkip("maxrunning", nowMs);
      return;
    }
    job.noteRun(nowMs);
    if (isTrue(spec.get("dry_run") ?? null)) return;
    logger.info({ job: name, fun }, "running a scheduled job");
    this.counters.run += 1;
    const end = this.#running.begin(name);
    this.#call(fun, spec)
      .then((succeeded) => {
        if (!succeeded) this.#fail(name, fun, "see its event and the job cache");
      })
      .catch((error: unknown) => this.#fail(name, fun, error instanceof Error ? error.message : String(error)))
      .finally(end);
  }

  async #call(fun: string, spec: ValueMap): Promise<boolean> {
    const [args, kwargs] = [spec.get("args"), spec.get("kwargs")];
    const given = { arg: Array.isArray(args) ? args : [], kwarg: kwargs instanceof Map ? kwargs : new Map() };
    const load = encode({ cmd: "runner", fun, kwarg: given, sync: true }, "raw");
    const reply = await this.#commands.run("runner", load);
    return reply !== undefined && isSuccess(reply);
  }

  #fail(job: string, fun: string, reason: string): void {
    this.counters.failed += 1;
    this.#options.logger.error({ job, fun, reason }, "a scheduled job failed");
  }

  /** Checks the job's `maxrunning`, by default 1, and `scheduledJobsRunningMax` for all jobs together. */
  #hasRoom({ name, spec, isListed }: ScheduledJob): boolean {
    if (this.#running.all >= scheduledJobsRunningMax) {
      this.#options.logger.error(
        { job: name, max: scheduledJobsRunningMax },
        "too many scheduled jobs run; this one is skipped",
      );
      return false;
    }
    const most = isListed ? (wholeOf(spec.get("maxrunning") ?? null) ?? 1) : scheduledJobsRunningMax;
    return this.#running.of(name) < most;
  }
}
