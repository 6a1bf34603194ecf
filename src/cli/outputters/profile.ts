/** The `profile` outputter: a table of a run's states with their durations. Source: behaviour of Salt 3007. */

import { strOf } from "../../python/repr.ts";
import { compareText, textLength } from "../../python/text.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";
import { renderTable, type TableOptions } from "./table.ts";

const labels = ["name", "mod.fun", "duration (ms)"];
const nameColumnsMax = 60;
const fractionDigits = 4;
/** Replaces a missing duration. */
const noDuration = -1;

/** Returns undefined if a minion's return is not a map: the `nested` outputter then shows it. */
export function renderProfile(value: Value, colour: boolean, options: TableOptions = {}): string | undefined {
  if (!(value instanceof Map)) return undefined;
  const found: { readonly durationText: string; readonly name: string; readonly fun: string }[] = [];
  for (const data of value.values()) {
    if (!(data instanceof Map)) return undefined;
    for (const [tag, fields] of data) found.push(rowOf(strOf(tag), fields));
  }
  const width = Math.max(textLength(labels[2] ?? ""), ...found.map(({ durationText }) => durationText.length));
  const rows = found
    .map(({ durationText, name, fun }) => [durationText.padStart(width), name, fun])
    .sort((left, right) => compareRows(left, right))
    .map(([duration = "", name = "", fun = ""]) => [name, fun, duration]);
  const shown = new Map<Value, Value>([
    ["labels", labels],
    ["rows", rows],
  ]);
  return renderTable(shown, colour, { ...options, rowsKey: "rows", labelsKey: "labels" });
}

function rowOf(tag: string, fields: Value): { durationText: string; name: string; fun: string } {
  const parts = tag.split("_|-");
  const map: ValueMap = fields instanceof Map ? fields : new Map([["name", tag]]);
  const name = map.get("name") ?? map.get("__id__") ?? "<>";
  return {
    durationText: durationOf(map.get("duration")).toFixed(fractionDigits),
    name: shortened(strOf(name)),
    fun: `${parts[0]}.${parts.at(-1)}`,
  };
}

/** The duration in milliseconds. Old minions write it as a text such as `4.649 ms`. */
function durationOf(value: Value | undefined): number {
  const milliseconds = value instanceof Float ? value.value : Number.parseFloat(strOf(value ?? ""));
  return Number.isFinite(milliseconds) ? milliseconds : noDuration;
}

function shortened(name: string): string {
  const characters = [...name];
  return characters.length > nameColumnsMax ? `${characters.slice(0, nameColumnsMax - 3).join("")}...` : name;
}

function compareRows(left: readonly string[], right: readonly string[]): number {
  for (const [index, text] of left.entries()) {
    const order = compareText(text, right[index] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}
