/**
 * Whether a job that is due may run now: `range`, `skip_during_range`, `skip_explicit`, `until`, `after`. Pure.
 * Source: the behaviour of Salt 3007's scheduler, except that here all rules must allow the run; in Salt only the last rule counts.
 */

import { nextMidnight, parseDateText } from "../python/dateutil.ts";
import { strOf } from "../python/repr.ts";
import { parseByFormat, standardFormat } from "../python/strftime.ts";
import { isTrue } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";

export type Verdict =
  | { readonly kind: "open" }
  /** `opensMs`: the next start of the range that the job waits for. `isReplaced`: the schedule's `skip_function` runs instead. */
  | {
      readonly kind: "shut";
      readonly reason: SkipReason;
      readonly opensMs?: number | undefined;
      readonly isReplaced: boolean;
    }
  | { readonly kind: "faulty"; readonly fault: string };

export type SkipReason =
  | "disabled"
  | "maxrunning"
  | "not_in_range"
  | "in_skip_range"
  | "skip_explicit"
  | "until_passed"
  | "after_not_passed";

type Occasion = { readonly nowMs: number; readonly dueMs: number; readonly loopMs: number };

type Span = { readonly startMs: number; readonly endMs: number };
type Faulty = Extract<Verdict, { kind: "faulty" }>;

/** `common`: the schedule's own `skip_during_range`, for jobs without one. */
export function verdictOn(name: string, spec: ValueMap, common: ValueMap, occasion: Occasion): Verdict {
  const checks = [
    () => inRange(name, spec.get("range"), occasion.nowMs),
    () => outsideSkipRange(name, skipRangeOf(spec, common), occasion.nowMs),
    () => notSkipped(name, spec.get("skip_explicit"), occasion),
    () => within(name, spec, occasion.nowMs),
  ];
  for (const check of checks) {
    const verdict = check();
    if (verdict.kind !== "open") return verdict;
  }
  return { kind: "open" };
}

const open: Verdict = { kind: "open" };

function faulty(fault: string): Faulty {
  return { kind: "faulty", fault };
}

function skipRangeOf(spec: ValueMap, common: ValueMap): Value | undefined {
  return spec.has("skip_during_range") ? spec.get("skip_during_range") : common.get("skip_during_range");
}

function inRange(name: string, range: Value | undefined, nowMs: number): Verdict {
  if (range === undefined) return open;
  const span = readSpan(name, range, nowMs, "");
  if ("kind" in span) return span;
  const { startMs, endMs } = span;
  const isInside = startMs <= nowMs && nowMs <= endMs;
  if (range instanceof Map && isTrue(range.get("invert") ?? null)) {
    const isFree = nowMs <= startMs || nowMs >= endMs;
    return isFree ? open : { kind: "shut", reason: "in_skip_range", opensMs: endMs, isReplaced: false };
  }
  if (isInside) return open;
  return { kind: "shut", reason: "not_in_range", opensMs: nextStart(range, startMs, nowMs), isReplaced: true };
}

/** The next start of a range. A range without a date starts again tomorrow. */
function nextStart(range: Value, startMs: number, nowMs: number): number | undefined {
  if (startMs > nowMs) return startMs;
  const text = range instanceof Map ? strOf(range.get("start") ?? null) : "";
  const tomorrowMs = parseDateText(text, nextMidnight(nowMs));
  return tomorrowMs !== undefined && tomorrowMs > nowMs ? tomorrowMs : undefined;
}

function outsideSkipRange(name: string, range: Value | undefined, nowMs: number): Verdict {
  if (range === undefined || !isTrue(range)) return open;
  const span = readSpan(name, range, nowMs, " in skip_during_range");
  if ("kind" in span) return span;
  const isInside = span.startMs <= nowMs && nowMs <= span.endMs;
  return isInside ? { kind: "shut", reason: "in_skip_range", isReplaced: true } : open;
}

/** The moment after `skip_during_range` at which a job with `run_after_skip_range` runs; undefined without one. */
export function endOfSkipRange(name: string, spec: ValueMap, common: ValueMap, nowMs: number): number | undefined {
  if (!isTrue(spec.get("run_after_skip_range") ?? null)) return undefined;
  const range = skipRangeOf(spec, common);
  if (range === undefined || !isTrue(range)) return undefined;
  const span = readSpan(name, range, nowMs, "");
  return "kind" in span ? undefined : span.endMs;
}

function readSpan(name: string, range: Value, nowMs: number, where: string): Span | Faulty {
  if (!(range instanceof Map)) {
    return faulty(`schedule.handle_func: Invalid, range must be specified as a dictionary. Ignoring job ${name}.`);
  }
  const [startMs, endMs] = ["start", "end"].map((end) => parseDateText(strOf(range.get(end) ?? null), nowMs));
  if (startMs === undefined) return faulty(`Invalid date string for start${where}. Ignoring job ${name}.`);
  if (endMs === undefined) return faulty(`Invalid date string for end${where}. Ignoring job ${name}.`);
  if (endMs > startMs) return { startMs, endMs };
  return faulty(`schedule.handle_func: Invalid range, end must be larger than start. Ignoring job ${name}.`);
}

function notSkipped(name: string, list: Value | undefined, { nowMs, dueMs, loopMs }: Occasion): Verdict {
  const moments = explicitMoments(name, list);
  if ("kind" in moments) return moments;
  const isAt = (moment: number, ms: number) => moment <= ms && ms <= moment + loopMs;
  const isSkipped = moments.some((moment) => isAt(moment, dueMs) || isAt(moment, nowMs));
  return isSkipped ? { kind: "shut", reason: "skip_explicit", isReplaced: true } : open;
}

/** Moments of `skip_explicit` and `run_explicit`: `{time, time_fmt}`. */
export function explicitMoments(name: string, list: Value | undefined): number[] | Faulty {
  const moments: number[] = [];
  for (const member of Array.isArray(list) ? list : []) {
    const text = member instanceof Map ? strOf(member.get("time") ?? null) : strOf(member);
    const format = member instanceof Map ? strOf(member.get("time_fmt") ?? standardFormat) : standardFormat;
    const moment = parseByFormat(text, format);
    if (moment === undefined)
      return faulty(`Date string could not be parsed: ${text}, ${format}. Ignoring job ${name}.`);
    moments.push(moment);
  }
  return moments;
}

function within(name: string, spec: ValueMap, nowMs: number): Verdict {
  for (const [bound, reason] of [
    ["until", "until_passed"],
    ["after", "after_not_passed"],
  ] as const) {
    if (!spec.has(bound)) continue;
    const text = strOf(spec.get(bound) ?? null);
    const moment = parseDateText(text, nowMs);
    if (moment === undefined) return faulty(`Invalid date string ${text} for ${bound}. Ignoring job ${name}.`);
    const isShut = bound === "until" ? moment <= nowMs : moment >= nowMs;
    if (isShut) return { kind: "shut", reason, isReplaced: false };
  }
  return open;
}
