/** Makes low chunks of high data, in the order in which they run. */
import { strOf } from "../../python/repr.ts";
import { asNumber, isEqual, isNumber } from "../../python/values.ts";
import { copyOf, type Value, type ValueMap } from "../../wire/values.ts";
import type { Compiled, HighData, LowChunk } from "./contract.ts";
import { applyExclusions, applyExtensions } from "./extend.ts";
import { argumentsOf, isOwnKey, statesOf } from "./read.ts";
import { applyRequisitesIn } from "./requisites-in.ts";
import { faultsOf } from "./verify.ts";

/** Distance between the largest written order and states without one, and what `last` adds. */
const orderStep = 100;
const lastOrder = 1_000_000;
const nameOrders = 10_000;

/**
 * Resolves extensions, requisites and exclusions. Changes `high`.
 *
 * @param isEager - whether faults of form already end the compilation, as a state run does; `state.show_lowstate` collects all
 */
export function lowState(high: HighData, isEager: boolean): Compiled<readonly LowChunk[]> {
  const errors = [...applyExtensions(high), ...faultsOf(high)];
  if (isEager && errors.length > 0) return { value: [], errors };
  errors.push(...applyRequisitesIn(high));
  applyExclusions(high);
  return { value: errors.length > 0 ? [] : lowChunks(high), errors };
}

export function lowChunks(high: HighData, orchestrationJid?: string): LowChunk[] {
  const chunks: LowChunk[] = [];
  for (const [id, body] of high) {
    if (isOwnKey(id) || !(body instanceof Map)) continue;
    for (const [module, run] of statesOf(body)) chunks.push(...chunksOf(id, module, body, run, orchestrationJid));
  }
  return ordered(chunks);
}

function chunksOf(id: Value, module: string, body: ValueMap, run: Value, jid: string | undefined): LowChunk[] {
  const chunk: LowChunk = new Map<Value, Value>([
    ["state", module],
    ["name", id],
  ]);
  if (jid !== undefined) chunk.set("__orchestration_jid__", jid);
  for (const key of ["__sls__", "__env__", "__sls_included_from__"]) {
    const value = body.get(key);
    if (value !== undefined) chunk.set(key, value);
  }
  chunk.set("__id__", id);
  const functions = new Set<string>();
  const names: Value[] = [];
  for (const argument of argumentsOf(run)) {
    if (typeof argument === "string") functions.add(argument);
    else if (argument instanceof Map) takeArgument(chunk, id, argument, names);
  }
  const named = names.length === 0 ? [chunk] : names.map((name, index) => withName(chunk, name, index + 1));
  return named.flatMap((one) => [...functions].map((fun) => copyOf(one).set("fun", fun)));
}

function takeArgument(chunk: LowChunk, id: Value, argument: ValueMap, names: Value[]): void {
  for (const [key, value] of argument) {
    if (key === "names") {
      for (const name of argumentsOf(value)) if (!names.some((known) => isEqual(known, name))) names.push(name);
    } else if (key === "name" && typeof value !== "string") chunk.set("name", id);
    else if (key !== "state") chunk.set(key, value);
  }
}

function withName(chunk: LowChunk, entry: Value, place: number): LowChunk {
  const live = new Map(chunk);
  if (entry instanceof Map) {
    const [[name = null, overrides = null] = []] = entry;
    live.set("name", name);
    for (const override of argumentsOf(overrides))
      if (override instanceof Map) for (const [key, value] of override) live.set(key, value);
  } else live.set("name", entry);
  return live.set("name_order", place);
}

/** Sorts by `order`, then by module, name and function. */
function ordered(chunks: LowChunk[]): LowChunk[] {
  let cap = 1;
  for (const chunk of chunks) {
    const order = chunk.get("order");
    if (typeof order === "number" && Number.isInteger(order) && order > cap - 1 && order > 0) cap = order + orderStep;
  }
  const keyed = chunks.map((chunk) => {
    setOrder(chunk, cap);
    const order = chunk.get("order") ?? cap;
    const text = ["state", "name", "fun"].map((key) => strOf(chunk.get(key) ?? null)).join("");
    return { chunk, order: isNumber(order) ? asNumber(order) : cap, text };
  });
  keyed.sort((a, b) => a.order - b.order || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return keyed.map(({ chunk }) => chunk);
}

function setOrder(chunk: LowChunk, cap: number): void {
  const written = chunk.get("order");
  if (written === undefined) {
    chunk.set("order", cap);
    return;
  }
  let order = isNumber(written) ? asNumber(written) : cap;
  if (written === "last") order = cap + lastOrder;
  if (written === "first") order = 0;
  const place = chunk.get("name_order");
  chunk.delete("name_order");
  if (typeof place === "number") order += place / nameOrders;
  if (order < 0) order += cap + lastOrder;
  if (!isNumber(written) || order !== asNumber(written)) chunk.set("order", order);
}
