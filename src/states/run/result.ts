/** Makes the results of states and their tags. */
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { floatItem, type Value, type ValueMap } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import type { StateResult } from "./contract.ts";

export function tagOf(low: LowChunk): string {
  return ["state", "__id__", "name", "fun"].map((key) => strOf(low.get(key) ?? null)).join("_|-");
}

export function stateResult(
  name: Value,
  result: boolean | null,
  comment: Value,
  changes: ValueMap = new Map(),
): StateResult {
  return new Map<Value, Value>([
    ["name", name],
    ["changes", changes],
    ["result", result],
    ["comment", comment],
  ]);
}

/** Whether a result has changes. */
export function hasChanges(result: StateResult): boolean {
  return isTrue(result.get("changes") ?? null);
}

/** Checks a result's form, and joins a comment that is a list. */
export function unified(result: StateResult): StateResult {
  const comment = result.get("comment");
  if (Array.isArray(comment)) result.set("comment", comment.map(strOf).join("\n"));
  const outcome = result.get("result") ?? null;
  if (outcome !== null) result.set("result", isTrue(outcome));
  return result;
}

/** The local time of day, as Python prints it. */
export function timeOfDay(epochMs: number): string {
  const date = new Date(epochMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const micros = Math.floor((epochMs % 1_000) * 1_000);
  const fraction = micros === 0 ? "" : `.${String(micros).padStart(6, "0")}`;
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${fraction}`;
}

/** Milliseconds with three decimals. */
export function durationOf(ms: number): Value {
  return floatItem(Math.max(0, Math.round(ms * 1_000)) / 1_000);
}
