/** Reads the loosely typed values of high data: keys of bodies, arguments with one key, and how Python shows them. */
import { reprOf, strOf } from "../../python/repr.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Keys that belong to the compiler and not to the state. */
export function isOwnKey(key: Value): boolean {
  return typeof key === "string" && key.startsWith("__");
}

/** The members of a body that are states: their module and their arguments. */
export function statesOf(body: Value | undefined): [string, Value][] {
  if (!(body instanceof Map)) return [];
  return [...body].flatMap(([key, run]): [string, Value][] => (isOwnKey(key) ? [] : [[strOf(key), run]]));
}

export function argumentsOf(run: Value | undefined): readonly Value[] {
  return Array.isArray(run) ? run : [];
}

/** The first key of an argument and its value. Undefined if it is not a map with members. */
export function firstOf(argument: Value): [string, Value] | undefined {
  if (!(argument instanceof Map)) return undefined;
  for (const [key, value] of argument) return [strOf(key), value];
  return undefined;
}

/** The list under a key, which is made if it is missing. */
export function listAt(map: ValueMap, key: Value): Value[] {
  const found = map.get(key);
  if (Array.isArray(found)) return found;
  const made: Value[] = [];
  map.set(key, made);
  return made;
}

export function mapAt(map: ValueMap, key: Value): ValueMap {
  const found = map.get(key);
  if (found instanceof Map) return found;
  const made: ValueMap = new Map();
  map.set(key, made);
  return made;
}

/** How Python shows a value that was read from YAML: Salt reads maps as `HashableOrderedDict`. */
export function shown(value: Value): string {
  return typeof value === "string" ? value : shownInside(value);
}

function shownInside(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(shownInside).join(", ")}]`;
  if (!(value instanceof Map)) return reprOf(value);
  if (value.size === 0) return "HashableOrderedDict()";
  const pairs = Array.from(value, ([key, member]) => `(${shownInside(key)}, ${shownInside(member)})`);
  return `HashableOrderedDict([${pairs.join(", ")}])`;
}

/** The requisites that a state may have. `extend` joins them instead of replacing them. */
export const requisiteNames: ReadonlySet<string> = new Set([
  "onchanges",
  "onchanges_any",
  "onfail",
  "onfail_any",
  "onfail_all",
  "onfail_stop",
  "prereq",
  "prerequired",
  "watch",
  "watch_any",
  "require",
  "require_any",
  "listen",
]);
