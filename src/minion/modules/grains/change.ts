/** Changes grains at any depth: adds to lists, removes from them, sets values under `key:key`. Source: texts and results of Salt 3007. */

import { strOf } from "../../../python/repr.ts";
import { contains, isEqual } from "../../../python/values.ts";
import { copyOf, type Encodable, type Value, type ValueMap } from "../../../wire/values.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { traverse, traverseOr } from "../declare/traverse.ts";
import { storeGrains } from "./store.ts";

export type Place = { readonly key: string; readonly delimiter: string };

const keepsOthers = { isDestructive: false, refreshesPillar: true } as const;

export async function appendToGrain(
  context: CallContext,
  place: Place,
  value: Value,
  isConverted: boolean,
): Promise<Encodable> {
  let list = copyOf(findOr(context, place, []));
  if (isConverted && !Array.isArray(list)) list = list === null ? [] : [list];
  if (!Array.isArray(list)) return `The key ${place.key} is not a valid list`;
  if (contains(list, value)) return `The val ${strOf(value)} was already in the list ${place.key}`;
  list.push(...(Array.isArray(value) ? value : [value]));
  return await storeNested(context, place, list);
}

export async function removeFromGrain(context: CallContext, place: Place, value: Value): Promise<Encodable> {
  const list = copyOf(findOr(context, place, []));
  if (!Array.isArray(list)) return `The key ${place.key} is not a valid list`;
  const index = list.findIndex((member) => isEqual(member, value));
  if (index < 0) return `The val ${strOf(value)} was not in the list ${place.key}`;
  list.splice(index, 1);
  return await storeNested(context, place, list);
}

function find(context: CallContext, { key, delimiter }: Place): Value | undefined {
  return traverse(context.grains(), key, delimiter);
}

function findOr(context: CallContext, { key, delimiter }: Place, fallback: Value): Value {
  return traverseOr(context.grains(), key, fallback, delimiter);
}

/** Stores a value inside nested maps: puts it into a copy of each enclosing map, from the innermost to the grain. */
async function storeNested(context: CallContext, place: Place, inner: Value): Promise<Encodable> {
  let value = inner;
  let key = place.key;
  for (let step = lastStep(key, place.delimiter); step !== undefined; step = lastStep(key, place.delimiter)) {
    key = step.outer;
    const around = copyOf(findOr(context, { key, delimiter: place.delimiter }, new Map()));
    if (around instanceof Map) around.set(step.last, value);
    value = around;
  }
  return await storeGrains(context, new Map([[key, value]]), keepsOthers);
}

function lastStep(key: string, delimiter: string): { readonly outer: string; readonly last: string } | undefined {
  const at = key.lastIndexOf(delimiter);
  return at < 0 ? undefined : { outer: key.slice(0, at), last: key.slice(at + delimiter.length) };
}

export type SetOptions = { readonly isForced: boolean; readonly isDestructive: boolean };
type SetResult = { comment: string; changes: Encodable; result: boolean };

const isContainer = (value: Value | undefined) => value instanceof Map || Array.isArray(value);

function refused(comment: string): SetResult {
  return { comment, changes: {}, result: false };
}

/** `grains.set`: replaces maps and lists only if forced. A null with `isDestructive` removes the grain. */
export async function setGrain(
  context: CallContext,
  place: Place,
  value: Value,
  options: SetOptions,
): Promise<Encodable> {
  const present = find(context, place);
  const isRemoval = value === null && options.isDestructive;
  if (present !== undefined && isEqual(present, value) && !isRemoval) {
    return { comment: "Grain is already set", changes: {}, result: true };
  }
  if (present !== null && !options.isForced) {
    const force = "Use 'force=True' to overwrite.";
    if (isContainer(present)) return refused(`The key '${place.key}' exists but is a dict or a list. ${force}`);
    if (isContainer(value) && present !== undefined) {
      return refused(`The key '${place.key}' exists and the given value is a dict or a list. ${force}`);
    }
  }
  const nested = nest(context, place, value, options);
  if ("comment" in nested) return nested;
  const stored = await storeGrains(context, new Map([[nested.key, nested.value]]), {
    isDestructive: options.isDestructive,
    refreshesPillar: true,
  });
  return typeof stored === "string" ? refused(stored) : { comment: "", changes: stored, result: true };
}

function nest(
  context: CallContext,
  { key: whole, delimiter }: Place,
  inner: Value,
  options: SetOptions,
): SetResult | { readonly key: string; readonly value: Value } {
  let [key, value] = [whole, inner];
  for (let step = lastStep(key, delimiter); step !== undefined; step = lastStep(key, delimiter)) {
    key = step.outer;
    const around = copyOf(findOr(context, { key, delimiter }, new Map()));
    if (around instanceof Map) {
      if (value === null && options.isDestructive) around.delete(step.last);
      else around.set(step.last, value);
      value = around;
    } else if (Array.isArray(around)) {
      value = setInList(around, step.last, value);
    } else if (options.isForced || isEqual(around, step.last)) {
      value = new Map([[step.last, value]]);
    } else {
      return refused(
        `The key '${key}' value is '${strOf(around)}', which is different from the provided key '${step.last}'. Use 'force=True' to overwrite.`,
      );
    }
  }
  return { key, value };
}

/** Sets `name` in a list: in the maps that have it, and in place of members that equal it. Without any, appends a map. */
function setInList(list: readonly Value[], name: string, value: Value): Value[] {
  const isHit = (member: Value) => isEqual(member, name) || (member instanceof Map && member.has(name));
  const entry = (): ValueMap => new Map([[name, value]]);
  if (!list.some(isHit)) return [...list, entry()];
  return list.map((member) => {
    if (!isHit(member)) return member;
    return member instanceof Map ? member.set(name, value) : entry();
  });
}
