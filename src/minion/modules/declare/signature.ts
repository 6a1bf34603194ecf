/** Reads signatures in Python's form (`tgt, fun, tgt_type='glob', *args, **kwargs`), and gets values from bound arguments. */
import { strOf } from "../../../python/repr.ts";
import { Float, type Value, type ValueMap } from "../../../wire/values.ts";
import { invocationError } from "../../functions/errors.ts";
import type { BoundArguments, Parameter, Signature } from "../../functions/module-contract.ts";

/** Parameters after `*args` can be given by name only. `keywordArguments` binds them, through `**kwargs`. */
export type FullSignature = Signature & { readonly keywordOnly?: readonly Parameter[] };

/** @param source - parameters with literal defaults: None, True, False, numbers, quoted text, `[]`, `{}` */
export function signature(source: string): FullSignature {
  const params: Parameter[] = [];
  const keywordOnly: Parameter[] = [];
  const stars: { varargs?: string; kwargs?: string } = {};
  for (const part of source.split(/,\s+/)) {
    if (part === "") continue;
    if (part.startsWith("**")) stars.kwargs = part.slice(2);
    else if (part.startsWith("*")) stars.varargs = part.slice(1);
    else (stars.varargs === undefined ? params : keywordOnly).push(parameter(part));
  }
  if (keywordOnly.length === 0) return { params, ...stars };
  return { params, ...stars, kwargs: "keywords", keywordOnly };
}

function parameter(part: string): Parameter {
  const equals = part.indexOf("=");
  if (equals < 0) return { name: part };
  return { name: part.slice(0, equals), default: literal(part.slice(equals + 1)) };
}

const words = new Map<string, Value>([
  ["None", null],
  ["True", true],
  ["False", false],
]);

function literal(text: string): Value {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text === "[]") return [];
  if (text === "{}") return new Map();
  if (/^['"]/.test(text)) return text.slice(1, -1);
  const value = Number(text);
  return text.includes(".") && Number.isInteger(value) ? new Float(value) : value;
}

/** The bound value of a parameter; null is Python's None. */
export function argument(args: BoundArguments, name: string): Value {
  return args.named[name] ?? null;
}

/** Keyword arguments of a function with `**kwargs`, without the fields of the publish (`__pub_*`). */
export function ownKeywords(args: BoundArguments): ValueMap {
  return new Map(Array.from(args.extra).filter(([name]) => !strOf(name).startsWith("__")));
}

/** The keyword-only arguments, given or by default. @throws SaltworksError FUNCTION_ARGUMENTS for any other keyword */
export function keywordArguments(args: BoundArguments, from: FullSignature): { readonly [name: string]: Value } {
  const own = ownKeywords(args);
  const known = from.keywordOnly ?? [];
  refuseKeywords(new Map(Array.from(own).filter(([name]) => !known.some((param) => param.name === name))));
  return Object.fromEntries(known.map(({ name, default: value }) => [name, own.get(name) ?? value ?? null]));
}

/** @throws SaltworksError FUNCTION_ARGUMENTS with the names of the keywords, if there are any */
export function refuseKeywords(keywords: ValueMap): void {
  if (keywords.size === 0) return;
  const list = Array.from(keywords, ([name, value]) => `${strOf(name)}=${strOf(value)}`).join(", ");
  throw invocationError(`The following keyword arguments are not valid: ${list}`);
}
