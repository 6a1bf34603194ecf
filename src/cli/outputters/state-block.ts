/** Shows one state of a run: as a block in the full display, as a line in the terse one. */

import { strOf } from "../../python/repr.ts";
import { stripEnd } from "../../python/text.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { type Colour, type Paint, paintFor } from "./colours.ts";
import { renderNested } from "./nested.ts";
import { wrapWords } from "./word-wrap.ts";

/** `parts`: module, id, name and function, which are joined by `_|-` in the key of the result. */
export type StateResult = { readonly parts: readonly string[]; readonly fields: ValueMap };
type StateOptions = {
  readonly colour: boolean;
  readonly isTabular: boolean;
  readonly isProfiled: boolean;
  /** Shows a run that an orchestration's state started on a minion. */
  readonly showRun: (host: string, run: Value) => string;
};

/** Column where a block's values start. */
const valueColumn = 14;
const pageWidth = 80;

export function hasChanges(state: StateResult): boolean {
  const runs = innerRuns(state.fields);
  if (runs !== undefined) return [...runs.values()].some(isRunChanged);
  const changes = state.fields.get("changes");
  return changes instanceof Map ? changes.size > 0 : Boolean(changes);
}

function isRunChanged(run: Value): boolean {
  if (!(run instanceof Map)) return false;
  return [...run.values()].some((fields) => fields instanceof Map && hasChanges({ parts: [], fields }));
}

/** The runs that an orchestration's state started, by minion; undefined for other states. */
function innerRuns(fields: ValueMap): ValueMap | undefined {
  const changes = fields.get("changes");
  if (!(changes instanceof Map) || changes.get("out") !== "highstate") return undefined;
  const runs = changes.get("ret");
  return runs instanceof Map ? runs : undefined;
}

function colourOf(state: StateResult): Colour {
  const result = state.fields.get("result");
  if (result === null) return "boldYellow";
  if (result === false) return "red";
  return hasChanges(state) ? "cyan" : "green";
}

export function renderStateBlock(state: StateResult, options: StateOptions): string {
  const paint = paintFor(options.colour);
  const colour = paint[colourOf(state)];
  const [module = "", id = "", name = "", func = ""] = state.parts;
  const rows: [string, string][] = [
    ["ID", id],
    ["Function", `${module}.${func}`],
    ["Result", strOf(state.fields.get("result") ?? null)],
    ["Comment", commentOf(state.fields)],
  ];
  if (name !== id) rows.splice(2, 0, ["Name", name]);
  if (options.isProfiled && state.fields.has("start_time")) {
    rows.push(["Started", textOf(state.fields, "start_time")], ["Duration", durationOf(state.fields)]);
  }
  const lines = [`${colour}----------${paint.end}`];
  for (const [label, text] of rows) lines.push(`    ${colour}${label.padStart(8)}: ${text}${paint.end}`);
  lines.push(`${colour}     Changes:   ${changesText(state, options)}${paint.end}`);
  const warnings = warningsOf(state.fields);
  if (warnings) {
    const wrapped = wrapWords(warnings.join("\n"), pageWidth, valueColumn).trimStart();
    lines.push(`   ${paint.boldRed} Warnings: ${wrapped}${paint.end}`);
  }
  return lines.join("\n");
}

export function renderStateLine(state: StateResult, options: StateOptions): string {
  const paint = paintFor(options.colour);
  const colour = paint[colourOf(state)];
  const [module = "", , name = ""] = state.parts;
  const func = state.parts.at(-1) ?? "";
  const isTimed = options.isProfiled && state.fields.has("start_time");
  const started = textOf(state.fields, "start_time");
  const duration = textOf(state.fields, "duration");
  const word = resultWord(state);
  const warnings = warningsText(state.fields, paint);
  if (options.isTabular) {
    const time = isTimed ? `${started} [${duration.padStart(7)} ms] ` : "";
    const columns = `${module.padStart(10)}.${func.padEnd(10)} ${word.padEnd(7)}   Name: ${name}`;
    return `${warnings === "" ? "" : `${warnings}\n`}${colour}${time}${columns}${paint.end}`;
  }
  const time = isTimed ? ` - Started: ${started} - Duration: ${duration} ms` : "";
  return `${warnings} ${colour} Name: ${name} - Function: ${module}.${func} - Result: ${word}${time}${paint.end}`;
}

function resultWord(state: StateResult): string {
  const result = state.fields.get("result");
  if (result === false) return "Failed";
  if (result === null) return "Differs";
  return hasChanges(state) ? "Changed" : "Clean";
}

function warningsOf(fields: ValueMap): string[] | undefined {
  const warnings = fields.get("warnings");
  return Array.isArray(warnings) ? warnings.map(strOf) : undefined;
}

function warningsText(fields: ValueMap, paint: Paint): string {
  const warnings = warningsOf(fields);
  return warnings ? `${paint.boldRed}Warnings:\n${warnings.join("\n")}${paint.end}` : "";
}

function textOf(fields: ValueMap, key: string): string {
  const value = fields.get(key);
  return value === undefined ? "" : strOf(value);
}

function durationOf(fields: ValueMap): string {
  const duration = textOf(fields, "duration");
  return duration === "" ? "" : `${duration} ms`;
}

/** The changes, indented on the lines below the label. Empty without changes. */
function changesText(state: StateResult, { colour, showRun }: StateOptions): string {
  const runs = innerRuns(state.fields);
  if (runs !== undefined) return [...runs].map(([host, run]) => indented(showRun(strOf(host), run))).join("");
  if (!hasChanges(state)) return "";
  const changes = state.fields.get("changes") ?? null;
  if (!(changes instanceof Map)) return `Invalid Changes data: ${strOf(changes)}`;
  return `\n${stripEnd(renderNested(changes, { colour, indent: valueColumn }))}`;
}

function indented(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => `\n${" ".repeat(valueColumn)}${line}`).join("");
}

/** The state's comment, with continuation lines aligned to the first, and its `data`. */
function commentOf(fields: ValueMap): string {
  const text = textOf(fields, "comment").trim();
  return text.replaceAll("\n", `\n${" ".repeat(valueColumn)}`) + dataText(fields.get("data"));
}

function dataText(data: Value | undefined): string {
  if (data === undefined) return "";
  if (Array.isArray(data)) return data.map((member) => ` ${strOf(member)}`).join("");
  if (data instanceof Map) return [...data].map(([key, member]) => `\n\t\t${strOf(key)}: ${strOf(member)}`).join("");
  return ` ${strOf(data)}`;
}
