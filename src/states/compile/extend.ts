/** Applies `extend` and `exclude` to high data. */
import { compileGlob } from "../../python/fnmatch.ts";
import { strOf } from "../../python/repr.ts";
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { HighData } from "./contract.ts";
import { argumentsOf, firstOf, isOwnKey, requisiteNames, statesOf } from "./read.ts";

/**
 * The ids that a name means for a module: the id itself, or the ids of states with an argument of this value, such as `name`.
 *
 * @param isStrict - an id without a state of this module does not count
 */
export function idsNamed(name: Value, module: string, high: HighData, isStrict: boolean): [string, string][] {
  const own = high.get(name);
  if (own !== undefined && (!isStrict || hasState(own, module))) return [[strOf(name), module]];
  const found: [string, string][] = [];
  for (const [id, body] of high) {
    if (!(body instanceof Map)) continue;
    if (module === "sls") {
      const [first = ""] = body.keys();
      if (body.get("__sls__") === name) found.push([strOf(id), strOf(first)]);
      continue;
    }
    for (const argument of argumentsOf(body.get(module))) {
      const [, value = null] = firstOf(argument) ?? [];
      if (argument instanceof Map && argument.size === 1 && isEqual(value, name)) found.push([strOf(id), module]);
    }
  }
  return found;
}

function hasState(body: Value, module: string): boolean {
  return body instanceof Map && body.has(module);
}

/** Joins `__extend__` into the states that it names. @returns Salt's sentences for extensions without a state */
export function applyExtensions(high: HighData, isStrict = false): string[] {
  const extensions = high.get("__extend__");
  if (extensions === undefined) return [];
  high.delete("__extend__");
  const errors: string[] = [];
  for (const extension of argumentsOf(extensions)) {
    for (const [written, body] of extension instanceof Map ? extension : []) {
      if (!(body instanceof Map)) continue;
      const [[module] = [undefined]] = statesOf(body);
      if (module === undefined) continue;
      const id = extendedId(written, module, high, isStrict);
      if (id === undefined) errors.push(missing(strOf(written), body));
      else if (!isExcluded(body.get("__sls__"), high)) extendBody(high.get(id) ?? null, body);
    }
  }
  return errors;
}

function extendedId(written: Value, module: string, high: HighData, isStrict: boolean): Value | undefined {
  const body = high.get(written);
  if (body !== undefined && hasState(body, module)) return written;
  const ids = idsNamed(written, module, high, isStrict);
  return ids.length === 1 ? ids[0]?.[0] : undefined;
}

function missing(name: string, body: ValueMap): string {
  const environment = strOf(body.get("__env__") ?? "base");
  const sls = strOf(body.get("__sls__") ?? "base");
  return (
    `Cannot extend ID '${name}' in '${environment}:${sls}'. It is not part of the high state.\n` +
    "This is likely due to a missing include statement or an incorrectly typed ID.\n" +
    `Ensure that a state with an ID of '${name}' is available\nin environment '${environment}' and to SLS '${sls}'`
  );
}

function isExcluded(sls: Value | undefined, high: HighData): boolean {
  return argumentsOf(high.get("__exclude__")).some(
    (entry) => sls !== undefined && (entry === sls || (entry instanceof Map && entry.get("sls") === sls)),
  );
}

function extendBody(own: Value, extension: ValueMap): void {
  if (!(own instanceof Map)) return;
  for (const [module, run] of statesOf(extension)) {
    const known = own.get(module);
    if (Array.isArray(known)) for (const argument of argumentsOf(run)) extendArguments(known, argument);
    else own.set(module, run);
  }
}

function extendArguments(known: Value[], argument: Value): void {
  let isKnown = false;
  const first = firstOf(argument);
  for (const [index, value] of known.entries()) {
    if (typeof argument === "string" && typeof value === "string") {
      known[index] = argument;
      isKnown = true;
      continue;
    }
    const other = firstOf(value);
    if (first === undefined || other === undefined) continue;
    if (first[0] === other[0]) {
      const [list, more] = [other[1], first[1]];
      if (requisiteNames.has(first[0]) && Array.isArray(list)) list.push(...argumentsOf(more));
      else known[index] = argument;
      isKnown = true;
    }
    if (first[0] === "name" && other[0] === "names") known[index] = argument;
  }
  if (!isKnown) known.push(argument);
}

/** Removes the states that `__exclude__` names, by id or by patterns of SLS names. */
export function applyExclusions(high: HighData): void {
  const excluded = argumentsOf(high.get("__exclude__"));
  high.delete("__exclude__");
  const ids = new Set<Value>();
  const files: string[] = [];
  for (const entry of excluded) {
    if (typeof entry === "string") files.push(entry);
    const first = entry instanceof Map && entry.size === 1 ? firstOf(entry) : undefined;
    if (first?.[0] === "sls") files.push(strOf(first[1]));
    if (first?.[0] === "id") ids.add(first[1]);
  }
  const globs = files.map(compileGlob);
  for (const [id, body] of high) {
    const sls = body instanceof Map ? strOf(body.get("__sls__") ?? "") : "";
    if (!isOwnKey(id) && sls !== "" && globs.some((glob) => glob.matches(sls))) ids.add(id);
  }
  for (const id of ids) high.delete(id);
}
