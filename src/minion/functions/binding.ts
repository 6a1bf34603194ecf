/**
 * Binds the arguments of a job to the parameters of a function, with Python's rules and messages.
 * Source: docs/protocol.md section 6.1 (`__kwarg__`, `__pub_*`, `k=v` texts) and the call semantics of Python.
 */

import { keywordWord } from "../../config/yaml/word.ts";
import { strOf } from "../../python/repr.ts";
import { wordValue } from "../../python/word.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { argumentError, invocationError } from "./errors.ts";
import type { BoundArguments, ModuleFunction } from "./module-contract.ts";

export type Passed = { readonly args: Value[]; readonly kwargs: ValueMap };

/**
 * Splits a job's `arg` list into positional and keyword arguments. Maps with the mark `__kwarg__` and texts of the form `k=v` are keywords.
 * A function with `**kwargs` also gets the publish's fields as `__pub_<field>`.
 *
 * @throws SaltworksError FUNCTION_ARGUMENTS listing every keyword that the function does not take
 */
export function splitJobArguments(target: ModuleFunction, arg: readonly Value[], publish: ValueMap): Passed {
  const args: Value[] = [];
  const kwargs: ValueMap = new Map();
  const invalid: string[] = [];
  const takes = (key: Value) => target.kwargs !== undefined || target.params.some((param) => param.name === key);
  for (const value of arg) {
    const keywords = keywordsOf(value);
    if (keywords === undefined) args.push(value);
    else addKeywords(keywords, takes, kwargs, invalid);
  }
  if (invalid.length > 0) {
    throw invocationError(`The following keyword arguments are not valid: ${invalid.join(", ")}`);
  }
  if (target.kwargs !== undefined) {
    for (const [key, value] of publish) kwargs.set(`__pub_${strOf(key)}`, value);
  }
  return { args, kwargs };
}

function addKeywords(keywords: ValueMap, takes: (key: Value) => boolean, kwargs: ValueMap, invalid: string[]): void {
  for (const [key, value] of keywords) {
    if (key === "__kwarg__") continue;
    if (takes(key)) kwargs.set(key, value);
    else invalid.push(`${strOf(key)}=${strOf(value)}`);
  }
}

/** The keywords in one element of `arg`; undefined for a positional argument. */
function keywordsOf(value: Value): ValueMap | undefined {
  if (value instanceof Map) return value.get("__kwarg__") === true ? value : undefined;
  const keyword = typeof value === "string" ? keywordOf(value) : undefined;
  return keyword === undefined ? undefined : new Map([[keyword.name, keyword.value]]);
}

/** A text of the form `k=v`; undefined for any other. */
export function keywordOf(text: string): { readonly name: string; readonly value: Value } | undefined {
  const keyword = keywordWord(text);
  return keyword && { name: keyword.name, value: wordValue(keyword.word) };
}

/**
 * Binds positional and keyword arguments to a signature, as a Python call does.
 *
 * @param name - the function's whole name; messages show its last part, or `pythonName`
 * @throws SaltworksError FUNCTION_ARGUMENTS with the text of Python's TypeError
 */
export function bindCall(
  target: ModuleFunction,
  name: string,
  args: readonly Value[],
  kwargs: ReadonlyMap<Value, Value>,
): BoundArguments {
  const call = `${target.pythonName ?? name.slice(name.lastIndexOf(".") + 1)}()`;
  const named: { [name: string]: Value } = {};
  const extra: ValueMap = new Map();
  const isGiven = new Set<string>();
  target.params.slice(0, args.length).forEach((param, index) => {
    named[param.name] = args[index] ?? null;
    isGiven.add(param.name);
  });
  for (const [key, value] of kwargs) {
    const param = target.params.find((candidate) => candidate.name === key);
    if (param === undefined) {
      if (target.kwargs === undefined) {
        throw argumentError(`${call} got an unexpected keyword argument '${strOf(key)}'`);
      }
      extra.set(key, value);
    } else if (isGiven.has(param.name)) {
      throw argumentError(`${call} got multiple values for argument '${param.name}'`);
    } else {
      named[param.name] = value;
      isGiven.add(param.name);
    }
  }
  if (args.length > target.params.length && target.varargs === undefined) {
    throw argumentError(`${call} ${tooManyText(target, args.length)}`);
  }
  fillDefaults(target, call, named, isGiven);
  return { named, rest: args.slice(target.params.length), extra };
}

function fillDefaults(
  target: ModuleFunction,
  call: string,
  named: { [name: string]: Value },
  isGiven: ReadonlySet<string>,
): void {
  const missing: string[] = [];
  for (const param of target.params) {
    if (isGiven.has(param.name)) continue;
    if (param.default === undefined) missing.push(`'${param.name}'`);
    else named[param.name] = param.default;
  }
  if (missing.length === 0) return;
  const plural = missing.length === 1 ? "" : "s";
  throw argumentError(`${call} missing ${missing.length} required positional argument${plural}: ${andList(missing)}`);
}

function tooManyText(target: ModuleFunction, givenCount: number): string {
  const most = target.params.length;
  const least = target.params.filter((param) => param.default === undefined).length;
  const takes = least === most ? `${most}` : `from ${least} to ${most}`;
  const plural = least === most && most === 1 ? "" : "s";
  return `takes ${takes} positional argument${plural} but ${givenCount} ${givenCount === 1 ? "was" : "were"} given`;
}

/** `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`. */
function andList(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  if (names.length < 3) return names.join(" and ");
  return `${names.slice(0, -1).join(", ")}, and ${last}`;
}
