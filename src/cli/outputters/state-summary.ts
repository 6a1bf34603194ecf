/** The summary under a minion's states: the numbers that succeeded, changed and failed, and their time. */

import { reprFloat } from "../../python/repr.ts";
import { Float, type Value } from "../../wire/values.ts";
import { paintFor } from "./colours.ts";
import { hasChanges, type StateResult } from "./state-block.ts";

type SummaryOptions = {
  readonly colour: boolean;
  readonly isProfiled: boolean;
  readonly isPercentShown: boolean;
  /** Number of states whose block shows warnings. States shown as a line are not counted. */
  readonly warnedBlockCount: number;
};

const labelWidth = "Succeeded".length;
/** A larger total of milliseconds is shown in seconds. */
const millisecondsShownMax = 999;

export function summaryLines(host: string, states: readonly StateResult[], options: SummaryOptions): string[] {
  const paint = paintFor(options.colour);
  const count = countsOf(states);
  const counts = [count.succeeded, count.failed, count.unchanged, count.other, options.warnedBlockCount];
  const widest = states.length === 0 ? 0 : Math.max(...counts.map((number) => String(number).length));
  const width = labelWidth + widest + 2;
  const row = (label: string, number: string) => `${label}: ${number.padStart(width - label.length - 2)}`;
  const lines = [`${paint.cyan}\nSummary for ${host}\n${"-".repeat(width)}${paint.end}`];

  const notes: string[] = [];
  if (count.unchanged > 0) notes.push(`${paint.boldYellow}unchanged=${count.unchanged}${paint.end}`);
  if (count.changed > 0) notes.push(`${paint.green}changed=${count.changed}${paint.end}`);
  const succeeded = row("Succeeded", String(count.succeeded + count.unchanged));
  lines.push(`${paint.green}${succeeded}${paint.end}${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`);
  const failureColour = count.failed > 0 ? paint.red : paint.cyan;
  lines.push(`${failureColour}${row("Failed", String(count.failed))}${paint.end}`);
  if (options.isPercentShown && states.length > 0) {
    const percent = (part: number) => reprFloat(Math.round((part / states.length) * 10_000) / 100);
    lines.push(`${paint.green}${row("Success %", percent(count.succeeded + count.unchanged))}${paint.end}`);
    lines.push(`${failureColour}${row("Failure %", percent(count.failed))}${paint.end}`);
  }
  if (options.warnedBlockCount > 0)
    lines.push(`${paint.boldRed}${row("Warnings", String(options.warnedBlockCount))}${paint.end}`);
  const total = `Total states run: ${String(states.length).padStart(width - 7)}`;
  lines.push(`${paint.cyan}${"-".repeat(width)}\n${total}${paint.end}`);
  if (options.isProfiled) lines.push(`${paint.cyan}${runTime(states, width - 5)}${paint.end}`);
  return lines;
}

type Counts = {
  succeeded: number;
  failed: number;
  unchanged: number;
  other: number;
  changed: number;
};

function countsOf(states: readonly StateResult[]): Counts {
  const counts: Counts = { succeeded: 0, failed: 0, unchanged: 0, other: 0, changed: 0 };
  for (const state of states) {
    const result = state.fields.get("result");
    if (result === true) counts.succeeded += 1;
    else if (result === false) counts.failed += 1;
    else if (result === null) counts.unchanged += 1;
    else counts.other += 1;
    if (hasChanges(state)) counts.changed += 1;
  }
  return counts;
}

/** The total run time. Of states that ran in parallel only the longest counts. */
function runTime(states: readonly StateResult[], width: number): string {
  let sumMs = 0;
  let parallelMs = 0;
  for (const state of states) {
    const durationMs = milliseconds(state.fields.get("duration") ?? 0);
    if (state.fields.has("__parallel__")) parallelMs = Math.max(parallelMs, durationMs);
    else sumMs += durationMs;
  }
  const totalMs = sumMs + parallelMs;
  const isSeconds = totalMs > millisecondsShownMax;
  return `Total run time: ${threeDecimals(isSeconds ? totalMs / 1000 : totalMs).padStart(width)} ${isSeconds ? "s" : "ms"}`;
}

/** Reads a number, or text such as `4.649 ms`. Anything else counts as 0. */
function milliseconds(value: Value): number {
  if (value instanceof Float) return value.value;
  if (typeof value === "string") return Number.parseFloat(value) || 0;
  return typeof value === "number" ? value : 0;
}

/** Rounds like Python: an exact half to the even digit; `toFixed` rounds away from zero. At three decimals only odd sixteenths are halves. */
function threeDecimals(value: number): string {
  const isHalf = (value * 16) % 2 === 1;
  const floor = Math.floor(value * 1000);
  return isHalf && floor % 2 === 0 ? (floor / 1000).toFixed(3) : value.toFixed(3);
}
