/**
 * One scheduled job: its specification as operators see it, and its progress. `look` decides whether it runs now; `wakeMs` is the time of the next
 * `look`.
 * Source: the behaviour and the names (`_next_fire_time`, `_skip_reason`...) of Salt 3007's scheduler.
 */

import { scheduleCorrectionMsMax } from "../limits.ts";
import { formatDate } from "../python/strftime.ts";
import { isTrue } from "../python/values.ts";
import { Ext, type Value, type ValueMap } from "../wire/values.ts";
import { drawSplay, isMissed, nextChange, nextDue, type ScheduleClock, type Timing, timingOf } from "./timing.ts";
import { endOfSkipRange, explicitMoments, type SkipReason, type Verdict, verdictOn } from "./windows.ts";

/** Members of a schedule that are settings, not jobs. */
export const scheduleSettings = new Set(["enabled", "skip_function", "skip_during_range", "splay"]);

export type Surrounding = {
  readonly clock: ScheduleClock;
  /** The schedule's own settings: `enabled`, `splay`, `skip_during_range`, `skip_function`. */
  readonly common: ValueMap;
  /** From 0 to below 1. */
  readonly random: () => number;
};

export type Decision =
  | { readonly kind: "wait" }
  /** `fun`: the function that runs in place of the job's own. `missedMs`: how late the run is. */
  | { readonly kind: "run"; readonly fun?: Value; readonly missedMs: number }
  | { readonly kind: "skip"; readonly reason: SkipReason }
  /** `isNew`: the fault was not reported before. */
  | { readonly kind: "faulty"; readonly fault: string; readonly isNew: boolean };

/** The extension type of a time in Salt's msgpack. */
const timeExtension = 78;
export const timeTextFormat = "%Y%m%dT%H:%M:%S.%f";

function timeValue(epochMs: number): Ext {
  return new Ext(timeExtension, Buffer.from(formatDate(epochMs, timeTextFormat)));
}

/** The text in `timeTextFormat` of a value that `timeValue` made. */
export function timeTextOf(value: Value): string | undefined {
  return value instanceof Ext && value.type === timeExtension ? Buffer.from(value.data).toString("latin1") : undefined;
}

export class ScheduledJob {
  readonly name: string;
  /** The configured members and the scheduler's defaults: `name`, and from the first run on `jid_include` and `maxrunning`. */
  readonly spec: ValueMap;
  #sinceMs: number;
  #handledMs: number | undefined;
  /** The next due moment without splay. */
  #nextMs: number | undefined;
  #splay: { readonly forMs: number; readonly seconds: number } | undefined;
  #isStartPending: boolean;
  #explicitDoneMs: number;
  #lastRunMs: number | undefined;
  #skipped: { readonly reason: SkipReason; readonly atMs: number } | undefined;
  #fault: string | undefined;
  #changeMs: number | undefined;
  /** Undefined for a job without an interval. */
  #everyMs: number | undefined;

  constructor(name: string, spec: ValueMap, clock: ScheduleClock) {
    this.name = name;
    this.spec = spec;
    this.#sinceMs = clock.nowMs;
    this.#explicitDoneMs = clock.nowMs - clock.loopMs - 1;
    this.#isStartPending = isTrue(spec.get("run_on_start") ?? null);
    if (!spec.has("name")) spec.set("name", name);
  }

  /** The function to run; null if the specification does not name one. */
  get fun(): Value {
    return this.spec.get("function") ?? this.spec.get("func") ?? this.spec.get("fun") ?? null;
  }

  get isListed(): boolean {
    return !this.spec.has("jid_include") || isTrue(this.spec.get("jid_include") ?? null);
  }

  get isEnabled(): boolean {
    return !this.spec.has("enabled") || isTrue(this.spec.get("enabled") ?? null);
  }

  /** The next moment at which the timer runs the job, splay included. */
  get fireMs(): number | undefined {
    return this.#nextMs === undefined ? undefined : this.#nextMs + (this.#splay?.seconds ?? 0) * 1_000;
  }

  /** When to look at the job again; undefined if only a change can make it run. Valid after `look`. */
  wakeMs(surrounding: Surrounding): number | undefined {
    const moments = [this.fireMs, this.#nextExplicit(surrounding), this.#changeMs];
    const known = moments.filter((moment) => moment !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** Finds the next moment at which the job runs. `fireMs` then returns it. */
  plan(surrounding: Surrounding): void {
    const timing = timingOf(this.name, this.spec, surrounding.clock);
    if (timing.kind !== "faulty") this.#plan(timing, surrounding);
  }

  /** Decides what to do with the job now. The decision counts as carried out: the next call decides about the next moment. */
  look(surrounding: Surrounding): Decision {
    const { clock, common } = surrounding;
    const timing = timingOf(this.name, this.spec, clock);
    if (timing.kind === "faulty") return this.#failed(timing.fault);
    const faultOfSplay = this.#plan(timing, surrounding);
    if (faultOfSplay !== undefined) return this.#failed(faultOfSplay);
    const isStart = this.#isStartPending;
    this.#isStartPending = false;
    const explicitMs = this.#nextExplicit(surrounding);
    const dueMs = [this.fireMs, explicitMs].find((moment) => moment !== undefined && moment <= clock.nowMs);
    if (dueMs === undefined && !isStart) return { kind: "wait" };
    const occasion = { nowMs: clock.nowMs, dueMs: dueMs ?? clock.nowMs, loopMs: clock.loopMs };
    const verdict: Verdict = isStart ? { kind: "open" } : verdictOn(this.name, this.spec, common, occasion);
    this.#pass(timing, verdict, clock.nowMs, isStart && dueMs === undefined);
    this.#plan(timing, surrounding);
    if (verdict.kind === "faulty") return this.#failed(verdict.fault);
    this.#fault = undefined;
    return this.#decide(verdict, surrounding, clock.nowMs - occasion.dueMs);
  }

  /**
   * Call when the clock was set by `stepMs`, to `nowMs`. An interval continues as if the clock had not been set. Other timers follow the new time:
   * if the clock went back by at most `scheduleCorrectionMsMax`, handled moments are not repeated; if by more, they are.
   */
  noteClockSet(stepMs: number, nowMs: number): void {
    const isInterval = this.#everyMs !== undefined;
    const adjusted = (ms: number) =>
      isInterval ? ms + stepMs : stepMs < -scheduleCorrectionMsMax ? Math.min(ms, nowMs) : ms;
    this.#sinceMs = adjusted(this.#sinceMs);
    if (!this.spec.has("once")) this.#handledMs = this.#handledMs === undefined ? undefined : adjusted(this.#handledMs);
    if (stepMs < -scheduleCorrectionMsMax) this.#explicitDoneMs = Math.min(this.#explicitDoneMs, nowMs);
    this.#nextMs = undefined;
    this.#changeMs = undefined;
  }

  /** Call when the job was started. */
  noteRun(nowMs: number): void {
    this.#lastRunMs = nowMs;
    this.#skipped = undefined;
  }

  noteSkip(reason: SkipReason, nowMs: number): void {
    this.#skipped = { reason, atMs: nowMs };
  }

  /** The specification with the job's progress, as Salt's events and `schedule.job_status` show it. */
  status(): ValueMap {
    const status: ValueMap = new Map(this.spec);
    const timeOrNull = (ms: number | undefined) => (ms === undefined ? null : timeValue(ms));
    status.set("_next_fire_time", timeOrNull(this.fireMs));
    status.set("_splay", this.#splay === undefined ? null : timeOrNull(this.fireMs));
    if (this.#everyMs !== undefined) status.set("_seconds", Math.round(this.#everyMs / 1_000));
    if (this.#nextMs !== undefined) status.set("_next_scheduled_fire_time", timeValue(this.#nextMs));
    if (this.#lastRunMs !== undefined) status.set("_last_run", timeValue(this.#lastRunMs));
    if (this.#fault !== undefined) status.set("_error", this.#fault);
    if (this.#skipped !== undefined) {
      status.set("_skipped", true).set("_skip_reason", this.#skipped.reason);
      status.set("_skipped_time", timeValue(this.#skipped.atMs));
    }
    return status;
  }

  /** Finds the next due moment and its splay, unless they are known. @returns the fault of a splay */
  #plan(timing: Timing, { clock, common, random }: Surrounding): string | undefined {
    const isAppointed = timing.kind === "once" || timing.kind === "when";
    if (isAppointed && this.fireMs !== undefined && isMissed(this.fireMs, clock.nowMs)) this.#nextMs = undefined;
    this.#nextMs ??= nextDue(timing, { sinceMs: this.#sinceMs, handledMs: this.#handledMs }, clock);
    this.#everyMs = timing.kind === "interval" ? timing.everyMs : undefined;
    this.#changeMs = this.#nextMs === undefined ? nextChange(timing, clock.nowMs) : undefined;
    if (this.#nextMs === undefined || this.#splay?.forMs === this.#nextMs) return undefined;
    const splay = (this.spec.has("splay") ? this.spec.get("splay") : common.get("splay")) ?? null;
    const seconds = isTrue(splay) ? drawSplay(splay, random) : 0;
    this.#splay = typeof seconds === "number" && seconds > 0 ? { forMs: this.#nextMs, seconds } : undefined;
    return typeof seconds === "string" ? seconds : undefined;
  }

  /** Records that this moment is handled. `isExtra`: the moment does not come from the timer. */
  #pass(timing: Timing, verdict: Verdict, nowMs: number, isExtra: boolean): void {
    this.#explicitDoneMs = nowMs;
    const isDue = this.fireMs !== undefined && this.fireMs <= nowMs;
    if (timing.kind !== "interval" && (isExtra || !isDue)) return;
    this.#handledMs = timing.kind === "when" || timing.kind === "once" ? this.#nextMs : nowMs;
    this.#nextMs = undefined;
    if (timing.kind === "interval" && verdict.kind === "shut" && verdict.opensMs !== undefined) {
      this.#nextMs = verdict.opensMs;
    }
  }

  #decide(verdict: Verdict, { common }: Surrounding, missedMs: number): Decision {
    const isOff = (common.has("enabled") && !isTrue(common.get("enabled") ?? null)) || !this.isEnabled;
    if (isOff) return { kind: "skip", reason: "disabled" };
    if (verdict.kind !== "shut") return { kind: "run", missedMs };
    const instead = common.get("skip_function") ?? null;
    if (verdict.isReplaced && isTrue(instead)) return { kind: "run", fun: instead, missedMs };
    return { kind: "skip", reason: verdict.reason };
  }

  #failed(fault: string): Decision {
    const isNew = this.#fault !== fault;
    this.#fault = fault;
    return { kind: "faulty", fault, isNew };
  }

  /** The next moment set by hand (`run_explicit`), or the next end of a `skip_during_range`. Leaves out missed moments. */
  #nextExplicit({ clock, common }: Surrounding): number | undefined {
    const listed = explicitMoments(this.name, this.spec.get("run_explicit"));
    const afterSkip = endOfSkipRange(this.name, this.spec, common, clock.nowMs);
    const moments = [
      ...(Array.isArray(listed) ? listed : []),
      ...(afterSkip === undefined ? [] : [afterSkip + clock.loopMs]),
    ].filter((moment) => moment > this.#explicitDoneMs && !isMissed(moment, clock.nowMs));
    return moments.length === 0 ? undefined : Math.min(...moments);
  }
}
