/** Runs one execution function with a job's arguments, under the rules for every call: blackout, executors, retcode. */
import { SaltworksError } from "../../errors.ts";
import { type Encodable, Ext, Float, type Value, type ValueMap } from "../../wire/values.ts";
import { bindCall, splitJobArguments } from "./binding.ts";
import { type Call, makeContext, type Surroundings } from "./call-context.ts";
import { invocationError } from "./errors.ts";

export type Outcome = { readonly value: Encodable; readonly retcode: number };

/** @throws SaltworksError FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS, FUNCTION_FAILED, and any other error of the function */
export async function runFunction(surroundings: Surroundings, call: Call, arg: readonly Value[]): Promise<Outcome> {
  checkBlackout(surroundings, call.fun);
  const target = surroundings.functions.get(call.fun);
  if (target === undefined) {
    throw new SaltworksError("FUNCTION_UNKNOWN", `'${call.fun}' is not available.`, { name: call.fun });
  }
  const { args, kwargs } = splitJobArguments(target, arg, call.publish);
  checkExecutors(call.publish);
  const { context, retcode } = makeContext(surroundings, call);
  const value = await target.run(context, bindCall(target, call.fun, args, kwargs));
  return { value, retcode: retcode() !== 0 ? retcode() : saysFailure(value) ? 1 : 0 };
}

/** Whether the result is a map with `result: False` or `success: False`. Such a result makes a retcode of 0 a 1. */
function saysFailure(value: Encodable): boolean {
  const fields = ["result", "success"];
  if (value instanceof Map) return fields.some((name) => value.has(name) && !isTruthy(value.get(name)));
  if (!isPlainObject(value)) return false;
  return fields.some((name) => value[name] !== undefined && !isTruthy(value[name]));
}

/** Python's truth: empty values and zero are false. */
function isTruthy(value: Encodable): boolean {
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Uint8Array || Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  if (isPlainObject(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

function isPlainObject(value: Encodable): value is { readonly [key: string]: Encodable } {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Map || value instanceof Uint8Array || value instanceof Float || value instanceof Ext)
  );
}

const blackoutText =
  "Minion in blackout mode. Set 'minion_blackout' to False in pillar or grains to resume operations. Only saltutil.refresh_pillar allowed in blackout mode.";

/** @throws SaltworksError FUNCTION_ARGUMENTS if the minion is in blackout and the function is not allowed then */
export function checkBlackout(surroundings: Surroundings, fun: string): void {
  const { grains, pillar } = surroundings.facts();
  for (const source of [pillar, grains]) {
    if (!isTruthy(source.get("minion_blackout"))) continue;
    const allowed = source.get("minion_blackout_whitelist");
    const isAllowed = fun === "saltutil.refresh_pillar" || (Array.isArray(allowed) && allowed.includes(fun));
    if (!isAllowed) throw invocationError(blackoutText);
  }
}

/** Accepts the executor `direct_call` only. Salt's others (sudo, splay, docker) do not exist here. */
function checkExecutors(publish: ValueMap): void {
  const wanted = publish.get("module_executors");
  const names = Array.isArray(wanted) ? wanted : typeof wanted === "string" ? [wanted] : [];
  for (const name of names) {
    if (name !== "direct_call") throw invocationError(`Executor '${String(name)}' is not available`);
  }
}
