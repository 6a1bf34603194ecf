/**
 * Turns requisites that a state declares for others (`require_in`, `watch_in`, `onchanges_in`, `onfail_in`, `prereq_in`, `use_in`, and with them
 * `use` and the counterpart of `prereq`) into arguments of those others. As in Salt, a list's earlier entries are applied again for each later
 * one, so that low chunks name them twice.
 */
import { strOf } from "../../python/repr.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { HighData } from "./contract.ts";
import { applyExtensions, idsNamed } from "./extend.ts";
import { argumentsOf, firstOf, listAt, mapAt, statesOf } from "./read.ts";

const handled = new Set([
  "require_in",
  "watch_in",
  "onfail_in",
  "onchanges_in",
  "use",
  "use_in",
  "prereq",
  "prereq_in",
]);
/** Arguments that `use` does not take over. */
const notUsed = new Set([...handled, "require", "watch", "onfail", "onfail_stop", "onchanges", "name", "names"]);

/** The state that declares a requisite, and the requisite. */
type Declared = {
  readonly id: Value;
  readonly body: ValueMap;
  readonly module: string;
  readonly key: string;
};
type Target = { readonly name: Value; readonly module: string };

/** @returns Salt's sentences for requisites that cannot be applied */
export function applyRequisitesIn(high: HighData, disabled: readonly string[] = []): string[] {
  const errors: string[] = [];
  const extend: ValueMap = new Map();
  for (const [id, body] of high) {
    if (!(body instanceof Map)) continue;
    for (const [module, run] of statesOf(body)) {
      for (const argument of argumentsOf(run)) {
        const [key = "", items = null] = firstOf(argument) ?? [];
        if (!handled.has(key) || disabled.includes(key)) continue;
        const declared = { id, body, module, key };
        if (items instanceof Map) applyMap(declared, items, extend, errors);
        else if (Array.isArray(items)) applyList(declared, items, high, extend, errors);
      }
    }
  }
  high.set(
    "__extend__",
    Array.from(extend, ([id, body]): Value => new Map([[id, body]])),
  );
  return [...errors, ...applyExtensions(high, true)];
}

function requisiteOf(key: string): string {
  return key.split("_")[0] ?? key;
}

function withoutDot(declared: Declared, { name, module }: Target, errors: string[]): void {
  if (!module.includes(".")) return;
  errors.push(
    `Invalid requisite in ${requisiteOf(declared.key)}: ${module} for ${strOf(name)}, in SLS ` +
      `'${strOf(declared.body.get("__sls__") ?? null)}'. Requisites must not contain dots, ` +
      `did you mean '${module.slice(0, module.indexOf("."))}'?`,
  );
}

function applyMap(declared: Declared, items: ValueMap, extend: ValueMap, errors: string[]): void {
  for (const [key, name] of items) {
    const module = strOf(key);
    withoutDot(declared, { name, module }, errors);
    addRequisite(declared, { name, module: module.split(".")[0] ?? module }, extend);
  }
}

function applyList(
  declared: Declared,
  items: readonly Value[],
  high: HighData,
  extend: ValueMap,
  errors: string[],
): void {
  let targets: Target[] = [];
  for (const item of items) {
    const [module, name] = firstOf(item instanceof Map ? item : asPair(item, high)) ?? [];
    if (module === undefined || name === undefined) continue;
    if (module === "sls") targets = statesOfFile(name, high);
    else targets.push({ name, module });
    withoutDot(declared, { name, module }, errors);
    for (const target of targets) applyTo(declared, target, high, extend);
  }
}

/** An entry without a module means the first state of that id, or a state of that name. */
function asPair(item: Value, high: HighData): Value {
  const own = high.get(item);
  const [first] = own === undefined ? [] : statesOf(own);
  if (first !== undefined) return new Map([[first[0], item]]);
  let found: Value = null;
  for (const [id, body] of high)
    for (const [module, run] of statesOf(body))
      for (const argument of argumentsOf(run))
        if (argument instanceof Map && argument.get("name") === item && found === null) found = new Map([[module, id]]);
  return found;
}

function statesOfFile(sls: Value, high: HighData): Target[] {
  return Array.from(high).flatMap(([id, body]) =>
    body instanceof Map && body.get("__sls__") === sls ? statesOf(body).map(([module]) => ({ name: id, module })) : [],
  );
}

function applyTo(declared: Declared, target: Target, high: HighData, extend: ValueMap): void {
  const { id, module, key } = declared;
  if (key === "prereq_in") listAt(mapAt(extend, id), module).push(requisite("prerequired", target.module, target.name));
  if (key === "prereq")
    for (const [named, of] of idsNamed(target.name, target.module, high, true))
      listAt(mapAt(extend, named), of).push(requisite("prerequired", module, id));
  else if (key === "use_in")
    for (const [named, of] of idsNamed(target.name, target.module, high, true))
      takeOver(mapAt(extend, named), of, argumentNames(named, target.module, high), stateOf(high, id, module));
  else if (key === "use")
    for (const [named, of] of idsNamed(target.name, target.module, high, true))
      takeOver(mapAt(extend, id), module, argumentNames(id, module, high), stateOf(high, named, of));
  else addRequisite(declared, target, extend);
}

function requisite(name: string, module: string, id: Value): Value {
  return new Map<Value, Value>([[name, [new Map<Value, Value>([[module, id]])]]]);
}

function stateOf(high: HighData, id: Value, module: string): readonly Value[] {
  const body = high.get(id);
  return argumentsOf(body instanceof Map ? body.get(module) : undefined);
}

function argumentNames(id: Value, module: string, high: HighData): ReadonlySet<string> {
  return new Set(
    stateOf(high, id, module).flatMap((argument) =>
      argument instanceof Map && argument.size === 1 ? [firstOf(argument)?.[0] ?? ""] : [],
    ),
  );
}

/** Copies arguments that the state does not have itself. */
function takeOver(body: ValueMap, module: string, own: ReadonlySet<string>, from: readonly Value[]): void {
  const list = listAt(body, module);
  for (const argument of from) {
    if (!(argument instanceof Map) || argument.size !== 1) continue;
    const name = firstOf(argument)?.[0] ?? "";
    if (!notUsed.has(name) && !own.has(name)) list.push(argument);
  }
}

function addRequisite({ id, body, module, key }: Declared, target: Target, extend: ValueMap): void {
  const name = requisiteOf(key);
  const extension = mapAt(extend, target.name);
  const list = listAt(extension, target.module);
  extension.set("__env__", body.get("__env__") ?? null);
  extension.set("__sls__", body.get("__sls__") ?? null);
  let isKnown = false;
  for (const argument of list) {
    const [first, known] = firstOf(argument) ?? [];
    if (first !== name || !Array.isArray(known)) continue;
    known.push(new Map<Value, Value>([[module, id]]));
    isKnown = true;
  }
  if (!isKnown) list.push(requisite(name, module, id));
}
