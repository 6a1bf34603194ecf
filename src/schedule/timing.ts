/**
 * When a scheduled job is due: reads and applies the timers of its specification. Pure: the clock is an argument.
 * Source: the behaviour of Salt 3007's scheduler; differences: docs/compatibility.md, "The minion's scheduler".
 */

import { Cron } from "croner";
import { scheduleLateMs } from "../limits.ts";
import { nextMidnight, parseDateText } from "../python/dateutil.ts";
import { strOf } from "../python/repr.ts";
import { parseByFormat, standardFormat } from "../python/strftime.ts";
import { isTrue, numberOf } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";

/** Input of the rules, besides the job. */
export type ScheduleClock = {
  readonly nowMs: number;
  /** Length of one round in milliseconds (`loop_interval`). A job runs at most once a round, and a moment lasts one round. */
  readonly loopMs: number;
  /** Texts for `when` by name: `whens` of pillar and grains. The first that has the name wins. */
  readonly whens: readonly ValueMap[];
};

export type Timing =
  | { readonly kind: "interval"; readonly everyMs: number }
  | { readonly kind: "once"; readonly atMs: number }
  | { readonly kind: "when"; readonly texts: readonly string[] }
  | { readonly kind: "cron"; readonly cron: Cron }
  /** The job has no timer: it runs only if an operator asks for it. */
  | { readonly kind: "never" }
  | { readonly kind: "faulty"; readonly fault: string };

/** The progress of a job. */
export type Progress = {
  /** When the scheduler first saw the job. */
  readonly sinceMs: number;
  /** All moments up to this one are handled; undefined before the first. */
  readonly handledMs: number | undefined;
};

const unitMs = [
  ["seconds", 1_000],
  ["minutes", 60_000],
  ["hours", 3_600_000],
  ["days", 86_400_000],
] as const;
const otherTimers = ["when", "cron", "once"] as const;

export function timingOf(name: string, spec: ValueMap, clock: ScheduleClock): Timing {
  if (otherTimers.filter((timer) => spec.has(timer)).length > 1) {
    return { kind: "faulty", fault: `Unable to use "${otherTimers.join('", "')}" options together. Ignoring.` };
  }
  if (unitMs.some(([unit]) => spec.has(unit))) return intervalOf(name, spec, clock.loopMs);
  if (spec.has("once")) return onceOf(name, spec);
  if (spec.has("when")) return whenOf(name, spec.get("when") ?? null, clock);
  return spec.has("cron") ? cronOf(name, spec.get("cron") ?? null) : { kind: "never" };
}

function intervalOf(name: string, spec: ValueMap, loopMs: number): Timing {
  let everyMs = 0;
  for (const [unit, ms] of unitMs) {
    const count = spec.has(unit) ? wholeOf(spec.get(unit) ?? null) : 0;
    if (count === undefined || count < 0) {
      const fault = `Invalid ${unit} ${strOf(spec.get(unit) ?? null)}. Ignoring job ${name}.`;
      return { kind: "faulty", fault };
    }
    everyMs += count * ms;
  }
  return { kind: "interval", everyMs: Math.max(everyMs, loopMs) };
}

/** Truncates a number, or reads a whole number from a text. Undefined for any other value. */
export function wholeOf(value: Value): number | undefined {
  const number = typeof value === "string" && /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : numberOf(value);
  return number === undefined || !Number.isFinite(number) ? undefined : Math.trunc(number);
}

function onceOf(name: string, spec: ValueMap): Timing {
  const text = strOf(spec.get("once") ?? null);
  const format = isTrue(spec.get("once_fmt") ?? null) ? strOf(spec.get("once_fmt") ?? null) : standardFormat;
  const atMs = parseByFormat(text, format);
  if (atMs !== undefined) return { kind: "once", atMs };
  const fault = `Date string could not be parsed: ${text}, ${format}. Ignoring job ${name}.`;
  return { kind: "faulty", fault };
}

function whenOf(name: string, value: Value, clock: ScheduleClock): Timing {
  const texts: string[] = [];
  for (const member of Array.isArray(value) ? value : [value]) {
    const named = clock.whens.find((whens) => whens.has(member))?.get(member);
    const text = strOf(named ?? member);
    if (parseDateText(text, clock.nowMs) === undefined) {
      return { kind: "faulty", fault: `Invalid date string ${strOf(member)}. Ignoring job ${name}.` };
    }
    texts.push(text);
  }
  return { kind: "when", texts };
}

function cronOf(name: string, value: Value): Timing {
  try {
    return { kind: "cron", cron: readCron(strOf(value)) };
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    return { kind: "faulty", fault: `Invalid cron string. Ignoring job ${name}.` };
  }
}

/** Names and bounds of cron's fields, in their order. */
const cronFields = [
  { names: [], first: 0, last: 59 },
  { names: [], first: 0, last: 23 },
  { names: [], first: 1, last: 31 },
  { names: ["", ..."jan feb mar apr may jun jul aug sep oct nov dec".split(" ")], first: 1, last: 12 },
  { names: "sun mon tue wed thu fri sat".split(" "), first: 0, last: 6 },
] as const;

/** Reads Salt's cron text. The library wants seconds first, not last, and cannot read ranges that wrap (`22-2`). @throws TypeError */
function readCron(text: string): Cron {
  const parts = text.trim().split(/\s+/);
  const [seconds] = parts.splice(5, 1);
  const fields = parts.map((part, index) => wholeRanges(part, index));
  return new Cron([...(seconds === undefined ? [] : [seconds]), ...fields].join(" "));
}

/** Splits ranges that wrap: `22-2` becomes `22-23,0-2`. */
function wholeRanges(part: string, index: number): string {
  const field = cronFields[index];
  if (field === undefined) return part;
  const numberOfWord = (word: string) => {
    const named = (field.names as readonly string[]).indexOf(word.toLowerCase());
    return named >= 0 ? named : Number(word);
  };
  return part
    .split(",")
    .map((range) => {
      const [, start = "", end = ""] = /^(\w+)-(\w+)$/.exec(range) ?? [];
      const [from, to] = [numberOfWord(start), numberOfWord(end)];
      const isAcross = start !== "" && from > to && from <= field.last;
      return isAcross ? `${from}-${field.last},${field.first}-${to}` : range;
    })
    .join(",");
}

/** The next moment at which the job is due, possibly in the past. Undefined if none is known yet. */
export function nextDue(timing: Timing, progress: Progress, clock: ScheduleClock): number | undefined {
  const { sinceMs, handledMs } = progress;
  switch (timing.kind) {
    case "interval":
      return (handledMs ?? sinceMs) + timing.everyMs;
    case "cron":
      return timing.cron.nextRun(new Date(handledMs ?? sinceMs))?.getTime();
    case "once":
      return firstOpen([timing.atMs], progress, clock);
    case "when": {
      const moments = timing.texts.map((text) => parseDateText(text, clock.nowMs));
      return firstOpen(
        moments.filter((moment) => moment !== undefined),
        progress,
        clock,
      );
    }
    default:
      return undefined;
  }
}

/** The first listed moment that is neither handled nor missed. A job that is added after a moment does not run for it. */
function firstOpen(moments: readonly number[], progress: Progress, clock: ScheduleClock): number | undefined {
  const { sinceMs, handledMs } = progress;
  const afterMs = handledMs ?? sinceMs - clock.loopMs - 1;
  const open = moments.filter((moment) => moment > afterMs && !isMissed(moment, clock.nowMs));
  return open.length === 0 ? undefined : Math.min(...open);
}

/** Whether the moment lies more than `scheduleLateMs` back, the time by which a busy machine may be late. As in Salt, missed moments are left out. */
export function isMissed(momentMs: number, nowMs: number): boolean {
  return momentMs < nowMs - scheduleLateMs;
}

/** When `nextDue` may change without a run: a text without a date means another day after midnight. */
export function nextChange(timing: Timing, nowMs: number): number | undefined {
  return timing.kind === "when" ? nextMidnight(nowMs) : undefined;
}

/** Seconds to add to a due moment, drawn for each one. `random`: from 0 to below 1. @returns Salt's text if `splay` is not valid */
export function drawSplay(splay: Value, random: () => number): number | string {
  if (splay instanceof Map) {
    const start = wholeOf(splay.get("start") ?? null);
    const end = wholeOf(splay.get("end") ?? null);
    if (start === undefined || end === undefined || end < start) {
      return "Invalid Splay, end must be larger than start. Ignoring splay.";
    }
    return start + Math.floor(random() * (end - start + 1));
  }
  const most = wholeOf(splay);
  if (most === undefined || most < 1) return `Invalid Splay ${strOf(splay)}. Ignoring splay.`;
  return 1 + Math.floor(random() * most);
}
