/**
 * The minion's scheduler: runs each job at its time, with one timer. Questions and changes arrive as `manage_schedule` events on the minion's
 * bus; answers are events too. Source: Salt 3007's scheduler (events, files, fields); differences: docs/compatibility.md, "The minion's scheduler".
 */

import { scheduleLookMs } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { formatDate, standardFormat } from "../../python/strftime.ts";
import { ClockSet } from "../../schedule/clock-set.ts";
import type { ScheduledJob, Surrounding } from "../../schedule/job.ts";
import type { ScheduleClock } from "../../schedule/timing.ts";
import { boolField, mapField, textField } from "../../wire/fields.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { MinionFacts } from "../functions/host.ts";
import { ScheduleBook } from "./book.ts";
import { type RunnerOptions, ScheduleRunner } from "./runner.ts";

type SchedulerOptions = RunnerOptions & { readonly facts: () => MinionFacts };

/** Tag of events that question or change the schedule. */
export const manageTag = "manage_schedule";

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #book: ScheduleBook;
  readonly #runner: ScheduleRunner;
  readonly #clockSet = new ClockSet(Date.now());
  #timer: NodeJS.Timeout | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#book = new ScheduleBook(options.config, options.log, () => this.#clock());
    this.#runner = new ScheduleRunner(options);
    this.#book.setPillar(options.facts().pillar);
  }

  /** Starts running jobs, the first ones after one round (`loop_interval`). Idempotent. */
  start(): void {
    if (this.#isStarted || this.#isClosed) return;
    this.#isStarted = true;
    this.#timer = setTimeout(() => this.#tick(), this.#loopMs);
  }

  /** Stops starting jobs. Idempotent. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Adds a job of the minion's own; replaces one of the same name. */
  addJob(name: string, spec: ValueMap, isPersisted: boolean): void {
    if (!spec.has("enabled")) spec.set("enabled", true);
    this.#book.put(new Map([[name, spec]]));
    this.#changed(isPersisted);
  }

  deleteJob(name: string, isPersisted: boolean): void {
    if (!this.#book.delete(name)) this.#warnOfPillar(name);
    this.#changed(isPersisted);
  }

  hasOwnJob(name: string): boolean {
    return this.#book.own(name) !== undefined;
  }

  /** Replaces the jobs of the old pillar. */
  setPillar(pillar: ValueMap): void {
    this.#book.setPillar(pillar);
    this.#changed(false);
  }

  /** Does what a `manage_schedule` event asks for, and answers with another event. */
  manage(data: ValueMap): void {
    const func = textField(data, "func") ?? "";
    const name = textField(data, "name") ?? "";
    const isPersisted = data.get("persist") === true;
    switch (func) {
      case "add":
        this.#addGiven(data.get("schedule") ?? null, isPersisted);
        this.#complete("add_complete", data);
        break;
      case "delete":
        this.deleteJob(name, isPersisted);
        this.#complete("delete_complete", data);
        break;
      case "modify":
        this.#modify(name, mapField(data, "schedule"), isPersisted, data);
        break;
      case "enable":
      case "disable":
        this.#book.put(new Map([["enabled", func === "enable"]]));
        this.#changed(isPersisted);
        this.#complete(`${func}d_complete`, data);
        break;
      case "enable_job":
      case "disable_job":
        this.#changeable(name)?.spec.set("enabled", func === "enable_job");
        this.#changed(isPersisted);
        this.#complete(func === "enable_job" ? "enabled_job_complete" : "disabled_job_complete", data);
        break;
      case "postpone_job":
      case "skip_job":
        this.#appoint(this.#changeable(name), data);
        this.#changed(false);
        this.#complete(`${func}_complete`, data);
        break;
      case "run_job":
        this.#runNow(name);
        break;
      case "reload":
        this.#reload(data.get("schedule") ?? null);
        break;
      default:
        this.#answer(func, name, data);
        break;
    }
  }

  /** Answers questions: functions that do not change the schedule. */
  #answer(func: string, name: string, data: ValueMap): void {
    switch (func) {
      case "list":
        this.#fire("list_complete", data, { schedule: this.#book.listed(textField(data, "where")) });
        break;
      case "save_schedule":
        this.#book.persist();
        this.#fire("saved", data, {});
        break;
      case "get_next_fire_time": {
        const fireMs = this.#book.job(name)?.fireMs;
        const text = fireMs === undefined ? null : formatDate(fireMs, standardFormat);
        this.#fire("next_fire_time_complete", data, { next_fire_time: text });
        break;
      }
      case "job_status":
        if (boolField(data, "fire_event") !== true) break;
        this.#fire("job_status_complete", data, { data: this.#book.job(name)?.status() ?? new Map() });
        break;
      default:
        this.#options.log.error({ func }, "the scheduler does not have this function");
    }
  }

  #addGiven(given: Value, isPersisted: boolean): void {
    const { log } = this.#options;
    const [entry] = given instanceof Map && given.size === 1 ? given : [];
    const spec = entry?.[1];
    if (entry === undefined || !(spec instanceof Map)) {
      log.error("a job to schedule must be a map of one name to a map");
      return;
    }
    const name = strOf(entry[0]);
    if (this.#book.isInPillar(name)) this.#warnOfPillar(name);
    else this.addJob(name, spec, isPersisted);
  }

  #modify(name: string, spec: ValueMap | undefined, isPersisted: boolean, data: ValueMap): void {
    if (spec === undefined || this.#changeable(name) === undefined) return;
    this.deleteJob(name, false);
    this.#complete("delete_complete", data);
    this.#book.put(new Map([[name, spec]]));
    this.#changed(isPersisted);
  }

  /** The job if it is the minion's own. Logs a warning if it is the pillar's. */
  #changeable(name: string): ScheduledJob | undefined {
    const job = this.#book.own(name);
    if (job === undefined) this.#warnOfPillar(name);
    return job;
  }

  #warnOfPillar(name: string): void {
    if (!this.#book.isInPillar(name)) return;
    this.#options.log.warn({ job: name }, "a scheduled job of the pillar cannot be changed on the minion");
  }

  /** Carries out `skip_job` and `postpone_job`. `postpone_job` also adds the moment at which the job runs instead. */
  #appoint(job: ScheduledJob | undefined, data: ValueMap): void {
    const format = textField(data, "time_fmt") ?? standardFormat;
    for (const [list, time] of [
      ["skip_explicit", data.get("time")],
      ["run_explicit", data.get("new_time")],
    ] as const) {
      if (time === undefined) continue;
      const listed = job?.spec.get(list);
      const moment = new Map<Value, Value>([
        ["time", time],
        ["time_fmt", format],
      ]);
      job?.spec.set(list, [...(Array.isArray(listed) ? listed : []), moment]);
    }
  }

  #runNow(name: string): void {
    const job = this.#book.job(name);
    if (job === undefined) this.#options.log.warn({ job: name }, "there is no such scheduled job");
    else this.#runner.begin(job, job.fun, "as asked for", Date.now());
  }

  #reload(given: Value): void {
    const inner = given instanceof Map ? given.get("schedule") : undefined;
    const schedule = inner instanceof Map ? inner : given;
    if (schedule instanceof Map) this.#book.put(schedule);
    this.#changed(false);
  }

  #complete(what: string, asked: ValueMap): void {
    this.#fire(what, asked, { schedule: this.#book.listed() });
  }

  /** `request`: an id that the caller may have sent, to tell its answer from another caller's. */
  #fire(what: string, asked: ValueMap, members: { readonly [name: string]: Encodable }): void {
    const request = asked.get("request");
    this.#options.fire(`/salt/minion/minion_schedule_${what}`, { complete: true, ...members, request });
  }

  get #loopMs(): number {
    return this.#options.config.loop_interval * 1_000;
  }

  #clock(): ScheduleClock {
    const { grains, pillar } = this.#options.facts();
    const whens = [pillar.get("whens"), grains.get("whens")].filter((map) => map instanceof Map);
    return { nowMs: this.#nowMs(), loopMs: this.#loopMs, whens };
  }

  #nowMs(): number {
    const nowMs = Date.now();
    const stepMs = this.#clockSet.look(nowMs);
    if (stepMs !== 0) {
      this.#options.log.warn(
        { seconds: Math.round(stepMs / 1_000) },
        "the clock was set; intervals continue as before",
      );
      for (const job of this.#book.jobs) job.noteClockSet(stepMs, nowMs);
    }
    return nowMs;
  }

  /** Plans new jobs at once, so that answers show their next run. Jobs run from the next turn of the event loop on. */
  #changed(isPersisted: boolean): void {
    if (isPersisted) this.#book.persist();
    const surrounding = this.#surrounding();
    for (const job of this.#book.jobs) job.plan(surrounding);
    if (!this.#isStarted || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), 0);
  }

  #surrounding(): Surrounding {
    return { clock: this.#clock(), common: this.#book.settings, random: Math.random };
  }

  #tick(): void {
    const { log } = this.#options;
    const surrounding = this.#surrounding();
    const { nowMs } = surrounding.clock;
    let wakeMs = nowMs + scheduleLookMs;
    for (const job of this.#book.jobs) {
      const decision = job.look(surrounding);
      if (decision.kind === "run") {
        const why = decision.missedMs < 1_000 ? "due" : `missed by ${Math.floor(decision.missedMs / 1_000)} s`;
        this.#runner.begin(job, decision.fun ?? job.fun, why, nowMs);
      } else if (decision.kind === "skip") {
        job.noteSkip(decision.reason, nowMs);
        log.debug({ job: job.name, reason: decision.reason }, "a scheduled job is skipped");
      } else if (decision.kind === "faulty" && decision.isNew) {
        log.error({ job: job.name }, decision.fault);
      }
      wakeMs = Math.min(wakeMs, job.wakeMs(surrounding) ?? wakeMs);
    }
    this.#timer = setTimeout(() => this.#tick(), Math.max(1, wakeMs - nowMs));
  }
}
