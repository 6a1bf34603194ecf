/**
 * Compiles the rendered files of a reactor to single reactions, in the order in which they start. Source: the state compiler of Salt 3007,
 * as far as the reactor uses it.
 */
import { strOf } from "../../python/repr.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { typeFault } from "../jinja/values/objects.ts";

/** One reaction: `state` is its kind, `fun` its function; the other members are its arguments. */
export type LowChunk = ValueMap;

/** Old names of reactions. */
const aliases: ReadonlyMap<Value, string> = new Map([["cmd", "local"]]);
/** Order of a reaction without `order`, and what Salt adds for `last`. */
const orderStep = 100;
const lastOrder = 1_000_000;
const nameOrders = 10_000;

/**
 * Rewrites `local.test.ping: [...]` to `local: [..., test.ping]`, and notes the file in each declaration.
 *
 * @param note - is told of declarations that have no effect
 * @throws SaltworksError PILLAR_FAILED if the file is not a map of declarations
 */
export function padded(high: Value, file: string, note: (text: string) => void): ValueMap {
  if (!(high instanceof Map)) throw typeFault("the file is not a map of reactions");
  for (const [id, body] of high) {
    const declaration = typeof body === "string" && body.includes(".") ? shortForm(body) : body;
    if (!(declaration instanceof Map)) throw typeFault(`the reaction '${strOf(id)}' is not a map`);
    if (declaration === body) splitKeys(declaration, strOf(id), note);
    declaration.set("__sls__", file);
    high.set(id, declaration);
  }
  return high;
}

function shortForm(text: string): ValueMap {
  const [kind = "", ...rest] = text.split(".");
  return new Map<Value, Value>([[kind, [rest.join(".")]]]);
}

function splitKeys(declaration: ValueMap, id: string, note: (text: string) => void): void {
  const seen = new Set<string>();
  for (const key of [...declaration.keys()].map(String).sort()) {
    const args = declaration.get(key);
    if (key.startsWith("_") || !Array.isArray(args)) continue;
    const [kind = "", ...rest] = key.split(".");
    if (rest.length > 0 && seen.has(kind)) {
      note(`'${key}' of '${id}' has no effect: the reaction has another function of ${kind}`);
      continue;
    }
    seen.add(kind);
    if (rest.length === 0) continue;
    declaration.delete(key);
    declaration.set(kind, [...args, rest.join(".")]);
  }
}

const requisites: ReadonlySet<Value> = new Set(["require", "watch", "prereq", "onchanges"]);

/** The faults for which Salt starts none of the event's reactions. */
export function highFaults(high: ValueMap): string[] {
  const faults: string[] = [];
  for (const [id, body] of high) {
    if (typeof id === "string" && id.startsWith("__")) continue;
    const file = body instanceof Map ? strOf(body.get("__sls__") ?? "") : "";
    if (typeof id !== "string")
      faults.push(`ID '${strOf(id)}' in SLS '${file}' is not formed as a string. It may need to be quoted`);
    if (!(body instanceof Map)) continue;
    for (const [key, args] of body) {
      const state = String(key);
      if (state.startsWith("__")) continue;
      if (Array.isArray(args)) faults.push(...argumentFaults({ state, id: strOf(id), file }, args));
      else faults.push(`State '${strOf(id)}' in SLS '${file}' is not formed as a list`);
    }
  }
  return faults;
}

type Place = { readonly state: string; readonly id: string; readonly file: string };

function argumentFaults({ state, id, file }: Place, args: readonly Value[]): string[] {
  const faults: string[] = [];
  const functions = state.includes(".") ? [state.slice(state.indexOf(".") + 1)] : [];
  for (const arg of args) {
    if (typeof arg === "string") {
      functions.push(arg);
      if (arg.trim().includes(" "))
        faults.push(`The function "${arg}" in state "${id}" in SLS "${file}" has whitespace: is a ":" missing?`);
    } else if (arg instanceof Map) {
      const [[name, value] = []] = arg;
      if (name !== undefined && requisites.has(name) && !Array.isArray(value))
        faults.push(`The ${String(name)} statement in state '${id}' in SLS '${file}' needs to be formed as a list`);
      if (arg.size !== 1) faults.push(`Multiple dictionaries defined in argument of state '${id}' in SLS '${file}'`);
    }
  }
  if (functions.length === 0 && state !== "require" && state !== "watch")
    faults.push(`No function declared in state '${id}' in SLS '${file}'`);
  if (functions.length > 1)
    faults.push(`Too many functions declared in state '${id}' in SLS '${file}': ${functions.join(", ")}`);
  return faults;
}

/** The reactions in their order. */
export function lowChunks(high: ValueMap): LowChunk[] {
  const chunks: LowChunk[] = [];
  for (const [id, body] of high) {
    if (!(body instanceof Map) || String(id).startsWith("__")) continue;
    for (const [state, args] of body)
      if (!String(state).startsWith("__") && Array.isArray(args))
        chunks.push(...chunksOf(String(state), String(id), body.get("__sls__") ?? null, args));
  }
  return ordered(chunks);
}

function chunksOf(state: string, id: string, file: Value, args: readonly Value[]): LowChunk[] {
  const chunk: LowChunk = new Map<Value, Value>([
    ["state", state],
    ["name", id],
    ["__sls__", file],
    ["__id__", id],
  ]);
  const functions = new Set<string>();
  const names: Value[] = [];
  for (const arg of args) {
    if (typeof arg === "string") functions.add(arg);
    if (!(arg instanceof Map)) continue;
    const more = arg.get("names");
    if (Array.isArray(more)) names.push(...more);
    else for (const [name, value] of arg) chunk.set(name, value);
  }
  const named = names.length === 0 ? [chunk] : names.map((name, index) => withName(chunk, name, index + 1));
  return named.flatMap((one) => [...functions].map((fun) => new Map(one).set("fun", fun)));
}

function withName(chunk: LowChunk, entry: Value, place: number): LowChunk {
  const live = new Map(chunk).set("name", entry).set("name_order", place);
  if (!(entry instanceof Map)) return live;
  const [[name = null, overrides] = []] = entry;
  live.set("name", name);
  for (const override of Array.isArray(overrides) ? overrides : [])
    if (override instanceof Map) for (const [key, value] of override) live.set(key, value);
  return live;
}

/** As Salt: by `order`, then by kind, name and function. The order in the file decides nothing. */
function ordered(chunks: LowChunk[]): LowChunk[] {
  let cap = 1;
  for (const chunk of chunks) {
    const order = chunk.get("order");
    if (typeof order === "number" && Number.isInteger(order) && order > cap - 1 && order > 0) cap = order + orderStep;
  }
  const keyed = chunks.map((chunk) => {
    const order = orderOf(chunk, cap);
    chunk.set("order", order);
    chunk.delete("name_order");
    chunk.set("state", aliases.get(chunk.get("state") ?? null) ?? chunk.get("state") ?? null);
    return { chunk, order, text: ["state", "name", "fun"].map((name) => strOf(chunk.get(name) ?? null)).join("") };
  });
  keyed.sort((a, b) => a.order - b.order || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0));
  return keyed.map(({ chunk }) => chunk);
}

function orderOf(chunk: LowChunk, cap: number): number {
  const written = chunk.get("order");
  let order = cap;
  if (typeof written === "number") order = written;
  else if (written === "last") order = cap + lastOrder;
  else if (written === "first") order = 0;
  const nameOrder = chunk.get("name_order");
  if (typeof nameOrder === "number") order += nameOrder / nameOrders;
  return order < 0 ? cap + lastOrder + order : order;
}
