/** Puts the declarations of one SLS file into the compiler's form: states by module, `extend` and `exclude` apart, orders added. */
import { strOf } from "../../python/repr.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { firstOf, listAt } from "./read.ts";

/** Moves `extend` to the list `__extend__`. */
export function takeExtend(state: ValueMap, sls: string, environment: string, errors: string[]): void {
  if (!state.has("extend")) return;
  const extensions = state.get("extend") ?? null;
  state.delete("extend");
  if (!(extensions instanceof Map)) {
    errors.push(`Extension value in SLS '${sls}' is not a dictionary`);
    return;
  }
  for (const [name, body] of extensions) {
    if (!(body instanceof Map)) {
      errors.push(`Extension name '${strOf(name)}' in SLS '${sls}' is not a dictionary`);
      continue;
    }
    noteOrigin(body, sls, environment);
    for (const [key, run] of [...body]) {
      const text = strOf(key);
      if (!text.startsWith("_") && Array.isArray(run) && text.includes(".")) splitKey(body, key, text, run);
    }
  }
  listAt(state, "__extend__").push(extensions);
}

/** Moves `exclude` to the list `__exclude__`. */
export function takeExclude(state: ValueMap, sls: string, errors: string[]): void {
  if (!state.has("exclude")) return;
  const excluded = state.get("exclude") ?? null;
  state.delete("exclude");
  if (!Array.isArray(excluded)) errors.push(`Exclude Declaration in SLS ${sls} is not formed as a list`);
  listAt(state, "__exclude__").push(...(Array.isArray(excluded) ? excluded : []));
}

function noteOrigin(body: ValueMap, sls: string, environment: string): void {
  if (!body.has("__sls__")) body.set("__sls__", sls);
  if (!body.has("__env__")) body.set("__env__", environment);
}

/** `test.nop: [...]` becomes `test: [..., nop]`. */
function splitKey(body: ValueMap, key: Value, text: string, run: Value[]): void {
  const [module = "", fun = ""] = text.split(".");
  body.delete(key);
  run.push(fun);
  body.set(module, run);
}

/** Splits `module.function` keys and notes the file of each declaration. */
export function padDeclarations(state: ValueMap, sls: string, environment: string, errors: string[]): void {
  for (const [id, body] of state) {
    if (body instanceof Map) padBody(body, strOf(id), sls, environment, errors);
    else if (id !== "__extend__" && id !== "__exclude__") {
      if (typeof body === "string" && body.includes(".")) state.set(id, shortForm(body, sls, environment));
      else errors.push(`ID ${strOf(id)} in SLS ${sls} is not a dictionary`);
    }
  }
}

function shortForm(text: string, sls: string, environment: string): ValueMap {
  const [module = "", fun = ""] = text.split(".");
  return new Map<Value, Value>([
    ["__sls__", sls],
    ["__env__", environment],
    [module, [fun]],
  ]);
}

function padBody(body: ValueMap, id: string, sls: string, environment: string, errors: string[]): void {
  const seen = new Set<string>();
  for (const [key, run] of [...body]) {
    const text = strOf(key);
    if (text.startsWith("_") || !Array.isArray(run)) continue;
    const [module = ""] = text.split(".");
    if (text.includes(".") && seen.has(module)) {
      errors.push(`ID '${id}' in SLS '${sls}' contains multiple state declarations of the same type`);
      continue;
    }
    if (text.includes(".")) splitKey(body, key, text, run);
    seen.add(module);
  }
  noteOrigin(body, sls, environment);
}

/** Gives each state without `order` the next number. @returns the number after the last one */
export function addOrders(state: ValueMap, first: number): number {
  let next = first;
  for (const body of state.values()) {
    // As in Salt, a body that Python cannot iterate over ends the numbering of the file.
    if (body === null || typeof body === "number" || typeof body === "boolean") return next;
    if (!(body instanceof Map)) continue;
    for (const [key, run] of body) {
      if (typeof key !== "string" || key.startsWith("_") || !Array.isArray(run)) continue;
      if (run.some((argument) => firstOf(argument)?.[0] === "order")) continue;
      run.push(new Map<Value, Value>([["order", next]]));
      next += 1;
    }
  }
  return next;
}
