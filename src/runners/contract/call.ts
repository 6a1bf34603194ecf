/** Binds words to a function's arguments by Python's rules, and describes failures in salt-run's words. */
import { type ErrorCode, hasCode, SaltworksError } from "../../errors.ts";
import { isUsableJid } from "../../wire/jid.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { ExtraArguments, RunnerContext, RunnerFunction } from "./contract.ts";
import { usageText } from "./doc-text.ts";

type Functions = ReadonlyMap<string, RunnerFunction>;

/**
 * Runs a function by name. `args` are positional; a map among them that carries the mark `__kwarg__` adds keywords.
 * @throws SaltworksError FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS, or the function's own error
 */
export async function callFunction(
  functions: Functions,
  context: RunnerContext,
  name: string,
  args: readonly Value[],
  kwargs: ValueMap,
): Promise<Encodable> {
  const found = functions.get(name);
  if (found === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", `'${name}' is not available.`, { name });
  if (context.master === undefined && found.isOffline !== true)
    throw new SaltworksError("MASTER_UNREACHABLE", `${name} needs a running master`, { name });
  const { bound, extra } = bindArguments(name, found, args, kwargs);
  return found.run(context, bound, extra);
}

/** Errors whose message says all: the function or the job is not at fault. */
const toldAlone: readonly ErrorCode[] = ["FUNCTION_UNKNOWN", "JOB_UNKNOWN", "JOB_STATE"];

/** The text that a caller gets for a failed call. @param kind `runner` or `wheel` */
export function failureText(functions: Functions, kind: "runner" | "wheel", name: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (toldAlone.some((code) => hasCode(error, code))) return message;
  if (hasCode(error, "FUNCTION_ARGUMENTS"))
    return `\nPassed invalid arguments: ${message}\n\nUsage:\n${usageText(functions, name)}`;
  return `Exception occurred in ${kind} ${name}: ${message}`;
}

/** Binds each argument to a parameter, by Python's rules. @throws SaltworksError FUNCTION_ARGUMENTS */
export function bindArguments(
  name: string,
  target: RunnerFunction,
  args: readonly Value[],
  kwargs: ValueMap,
): { readonly bound: ValueMap; readonly extra: ExtraArguments } {
  const short = target.shortName ?? name.slice(name.indexOf(".") + 1);
  const wrong = (message: string) => new SaltworksError("FUNCTION_ARGUMENTS", `${short}() ${message}`, { name });
  const { parameters, takes } = target;
  const bound: ValueMap = new Map();
  const positional = args.filter((value) => !isKeywordMap(value));
  const given = new Map(kwargs);
  for (const value of args) if (isKeywordMap(value)) for (const [key, member] of value) given.set(key, member);
  given.delete("__kwarg__");
  const extraPositional = positional.slice(parameters.length);
  if (extraPositional.length > 0 && takes !== "positional" && takes !== "all")
    throw wrong(tooMany(parameters, positional.length));
  for (const [index, parameter] of parameters.entries())
    if (index < positional.length) bound.set(parameter.name, positional[index] ?? null);
  const keywords: ValueMap = new Map();
  for (const [key, value] of given) {
    if (bound.has(key)) throw wrong(`got multiple values for argument '${String(key)}'`);
    if (parameters.some((parameter) => parameter.name === key)) bound.set(key, value);
    else if (takes === "keywords" || takes === "all") keywords.set(key, value);
    // Salt's clients add these keywords to every call.
    else if (!String(key).startsWith("__pub_")) throw wrong(`got an unexpected keyword argument '${String(key)}'`);
  }
  if (!mayBeJid(bound.get("jid"))) throw wrong("takes a job id that is not a path");
  const missing = parameters.filter((parameter) => parameter.isRequired && !bound.has(parameter.name));
  if (missing.length > 0) throw wrong(tooFew(missing.map((parameter) => parameter.name)));
  return { bound, extra: { positional: extraPositional, keywords } };
}

/** Functions make a path or a key of the text of a job id, and a list or a map has one, too. None: the function has no job id, or is given none. */
function mayBeJid(jid: Value | undefined): boolean {
  if (typeof jid === "string") return jid === "" || isUsableJid(jid.trim());
  return jid === undefined || jid === null || typeof jid === "bigint" || Number.isInteger(jid);
}

function tooMany(parameters: RunnerFunction["parameters"], given: number): string {
  const required = parameters.filter((parameter) => parameter.isRequired).length;
  const range = required === parameters.length ? String(required) : `from ${required} to ${parameters.length}`;
  const plural = range === "1" ? "" : "s";
  return `takes ${range} positional argument${plural} but ${given} ${given === 1 ? "was" : "were"} given`;
}

function tooFew(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.pop();
  const listed =
    quoted.length === 0 ? last : quoted.length === 1 ? `${quoted[0]} and ${last}` : `${quoted.join(", ")}, and ${last}`;
  return `missing ${names.length} required positional argument${names.length === 1 ? "" : "s"}: ${listed}`;
}

function isKeywordMap(value: Value): value is ValueMap {
  return value instanceof Map && value.get("__kwarg__") === true;
}
