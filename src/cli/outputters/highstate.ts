/**
 * The `highstate` outputter: each state of a run as a block or a line, and a summary for each minion.
 * Source: docs/compatibility.md, "Outputters".
 */

import { strOf } from "../../python/repr.ts";
import { hideEscapes } from "../../python/text.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { type Colour, paintFor } from "./colours.ts";
import { renderNested } from "./nested.ts";
import { hasChanges, renderStateBlock, renderStateLine, type StateResult } from "./state-block.ts";
import { summaryLines } from "./state-summary.ts";

/** Defaults are Salt's. */
export type HighstateOptions = {
  /** `state_output`: full, terse, mixed, changes or filter, each also with `_id` (states are then named by their id). */
  readonly output?: string;
  /** `state_verbose`: false hides states that succeeded without changes. */
  readonly isVerbose?: boolean;
  /** `state_output_diff`: true hides states that succeeded without changes. */
  readonly isDiffOnly?: boolean;
  /** `state_tabular`: terse lines in columns. */
  readonly isTabular?: boolean;
  /** `state_output_profile`: start times and durations. */
  readonly isProfiled?: boolean;
  /** `state_output_pct`: success and failure in percent. */
  readonly isPercentShown?: boolean;
  /** `state_output_exclude` and `state_output_terse`, for `filter`: results in Python's notation, such as `True`. */
  readonly excluded?: readonly string[];
  readonly terse?: readonly string[];
};

/** Whether at least one value in a map by minion id is the result of a state run. */
export function isHighstate(value: Value): value is ValueMap {
  return value instanceof Map && value.size > 0 && [...value.values()].some(isRun);
}

/** The runs in an orchestration's result, which has `retcode` and `outputter` beside them; any other value unchanged. */
export function runsIn(value: Value): Value {
  const data = value instanceof Map && value.has("outputter") ? value.get("data") : undefined;
  return data instanceof Map ? data : value;
}

/** Whether the data is a map of states, or a list of texts that explain why no state could run. */
function isRun(data: Value): boolean {
  if (Array.isArray(data)) return data.every((member) => typeof member === "string");
  return data instanceof Map && (data.size === 0 || statesOf(data).length > 0);
}

export function renderHighstate(value: ValueMap, colour: boolean, options: HighstateOptions = {}): string {
  return [...value].map(([host, data]) => renderHost(host, data, colour, options)).join("\n");
}

function renderHost(host: Value, data: Value, colour: boolean, options: HighstateOptions): string {
  if (!isRun(data)) return renderNested(new Map([[host, data]]), { colour });
  const name = strOf(host);
  return data instanceof Map ? renderRun(name, data, colour, options) : renderFailure(name, data, colour);
}

/** The states of a run that have a result, in the order in which they ran. */
function statesOf(data: ValueMap): StateResult[] {
  const states: StateResult[] = [];
  for (const [tag, fields] of data) {
    if (fields instanceof Map && fields.has("result")) states.push({ parts: strOf(tag).split("_|-"), fields });
  }
  return states.sort((left, right) => runNumber(left) - runNumber(right));
}

function runNumber(state: StateResult): number {
  const number = state.fields.get("__run_num__");
  return typeof number === "number" ? number : 0;
}

function renderFailure(host: string, texts: Value, colour: boolean): string {
  const paint = paintFor(colour);
  const lines = [`${paint.boldRed}${hideEscapes(host)}:${paint.end}`];
  lines.push(`    ${paint.boldRed}Data failed to compile:${paint.end}`);
  for (const text of Array.isArray(texts) ? texts : []) {
    lines.push(`${paint.boldRed}----------\n    ${hideEscapes(strOf(text))}${paint.end}`);
  }
  return lines.join("\n");
}

function renderRun(host: string, data: ValueMap, colour: boolean, options: HighstateOptions): string {
  const paint = paintFor(colour);
  const states = statesOf(data);
  const lines: string[] = [];
  let hostColour: Colour = "green";
  let warnedBlockCount = 0;
  for (const state of states) {
    const form = formOf(state, options);
    if (form === "hidden") continue;
    const result = state.fields.get("result");
    if (result === false) hostColour = "red";
    if (result === null) hostColour = "boldYellow";
    if (form === "excluded") continue;
    const named = options.output?.endsWith("_id") ? nameById(state) : state;
    const render = form === "line" ? renderStateLine : renderStateBlock;
    if (form === "block" && state.fields.has("warnings")) warnedBlockCount += 1;
    const { isTabular = false, isProfiled = true } = options;
    const showRun = (inner: string, run: Value) => renderHost(inner, run, colour, options);
    lines.push(render(named, { colour, isTabular, isProfiled, showRun }));
  }
  lines.push(...summaryLines(host, states, { colour, warnedBlockCount, ...summaryOptions(options) }));
  return [`${paint[hostColour]}${hideEscapes(host)}:${paint.end}`, ...lines].join("\n");
}

function summaryOptions(options: HighstateOptions): { isProfiled: boolean; isPercentShown: boolean } {
  return { isProfiled: options.isProfiled ?? true, isPercentShown: options.isPercentShown ?? false };
}

function nameById(state: StateResult): StateResult {
  const [module = "", id = "", , ...rest] = state.parts;
  return { ...state, parts: [module, id, id, ...rest] };
}

/** How a state is shown. `hidden` and `excluded` states appear only in the summary; `excluded` states still colour the minion's name. */
function formOf(state: StateResult, options: HighstateOptions): "block" | "line" | "hidden" | "excluded" {
  const result = state.fields.get("result") ?? null;
  const isClean = isTrue(result) && !hasChanges(state);
  if (isClean && (options.isDiffOnly === true || options.isVerbose === false)) return "hidden";
  const mode = (options.output ?? "full").toLowerCase();
  if (mode.startsWith("filter")) {
    if (options.terse?.includes(strOf(result))) return "line";
    return options.excluded?.includes(strOf(result)) ? "excluded" : "block";
  }
  if (mode.startsWith("terse")) return "line";
  if (mode.startsWith("mixed")) return result === false ? "block" : "line";
  return mode.startsWith("changes") && isClean ? "line" : "block";
}
