/** Starts scheduled jobs within their limits, and sends their returns. */

import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { scheduledJobsRunningMax } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { ScheduledJob } from "../../schedule/job.ts";
import { RunningJobs } from "../../schedule/running.ts";
import { wholeOf } from "../../schedule/timing.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { jidText, now } from "../functions/clock-text.ts";
import type { ScheduledCall } from "../functions/scheduled-return.ts";
import { scheduledCallOf, scheduledReturnOf } from "./call.ts";

export type RunnerOptions = {
  readonly config: MinionConfig;
  readonly log: Logger;
  /** Fires on the minion's bus. */
  readonly fire: (tag: string, data: Encodable) => void;
  /** Resolves to the members of the job's return; undefined if it was killed. `isListed`: `saltutil.running` shows it. */
  readonly run: (call: ScheduledCall, isListed: boolean) => Promise<ValueMap | undefined>;
};

/** Tag of returns on the minion's bus. The minion sends them to its master. */
export const scheduleReturnTag = "__schedule_return";

export class ScheduleRunner {
  readonly #options: RunnerOptions;
  readonly #running = new RunningJobs();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Runs `fun` as this job, unless a limit is reached (see `#hasRoom`). `why` goes to the log. */
  begin(job: ScheduledJob, fun: Value, why: string, nowMs: number): void {
    const { config, log, run } = this.#options;
    const { name, spec } = job;
    if (!this.#hasRoom(job)) {
      job.noteSkip("maxrunning", nowMs);
      return;
    }
    if (isTrue(spec.get("dry_run") ?? null)) {
      log.debug({ job: name }, "dry run: the function is not called");
      return;
    }
    job.noteRun(nowMs);
    const call = scheduledCallOf(config, job, fun, jidText(now()));
    log.info({ job: name, fun: strOf(fun), jid: call.record.get("jid"), why }, "running a scheduled job");
    const end = this.#running.begin(name);
    run(call, job.isListed)
      .then((members) => {
        if (members !== undefined) this.#report(job, members);
      })
      .catch((error: unknown) => log.error({ err: error, job: name }, "the minion failed to run a scheduled job"))
      .finally(end);
  }

  /** Checks the job's `maxrunning`, by default 1, and `scheduledJobsRunningMax` for all jobs together. */
  #hasRoom({ name, spec, isListed }: ScheduledJob): boolean {
    const { log } = this.#options;
    if (this.#running.all >= scheduledJobsRunningMax) {
      log.error({ job: name, max: scheduledJobsRunningMax }, "too many scheduled jobs run; this one is skipped");
      return false;
    }
    if (!isListed) return true;
    spec.set("jid_include", true);
    if (!spec.has("maxrunning")) spec.set("maxrunning", 1);
    const most = wholeOf(spec.get("maxrunning") ?? null) ?? 1;
    const isFull = this.#running.of(name) >= most;
    if (isFull) log.debug({ job: name, most }, "a scheduled job is skipped: it still runs");
    return !isFull;
  }

  #report({ name, spec }: ScheduledJob, members: ValueMap): void {
    const { config, log, fire } = this.#options;
    if (members.get("success") === false) {
      log.warn({ job: name, reason: members.get("return") }, "a scheduled job failed");
    }
    const load = scheduledReturnOf(config, spec, members);
    if (load !== undefined) fire(scheduleReturnTag, load);
  }
}
