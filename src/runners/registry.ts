/** Which runner functions exist, and how words become their arguments. Errors use the words that salt-run prints. */
import { SaltworksError } from "../errors.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import type { RunnerContext, RunnerFunction } from "./contract.ts";
import { jobsRunner } from "./jobs.ts";
import { manageRunner } from "./manage.ts";
import { saltworksRunner } from "./saltworks.ts";

export const runnerFunctions: ReadonlyMap<string, RunnerFunction> = new Map([
  ...jobsRunner,
  ...manageRunner,
  ...saltworksRunner,
]);

/**
 * Runs a runner function by name. `args` are positional; a map among them that is marked `__kwarg__` adds keywords.
 * @throws SaltworksError FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS, or what the function raised
 */
export async function runRunner(
  context: RunnerContext,
  name: string,
  args: readonly Value[],
  kwargs: ValueMap,
): Promise<Encodable> {
  const found = runnerFunctions.get(name);
  if (found === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", `'${name}' is not available.`, { name });
  return found.run(context, bind(name, found, args, kwargs));
}

function bind(name: string, target: RunnerFunction, args: readonly Value[], kwargs: ValueMap): ValueMap {
  const short = name.slice(name.indexOf(".") + 1);
  const bound: ValueMap = new Map();
  const positional = args.filter((value) => !isKeywordMap(value));
  const keywords = new Map(kwargs);
  for (const value of args) if (isKeywordMap(value)) for (const [key, given] of value) keywords.set(key, given);
  keywords.delete("__kwarg__");
  if (positional.length > target.parameters.length) {
    const takes = `${short}() takes ${target.parameters.length} positional arguments but ${positional.length} were given`;
    throw new SaltworksError("FUNCTION_ARGUMENTS", takes, { name });
  }
  for (const [index, value] of positional.entries()) bound.set(target.parameters[index]?.name ?? "", value);
  for (const [key, value] of keywords) {
    if (!target.parameters.some((parameter) => parameter.name === key)) {
      throw new SaltworksError("FUNCTION_ARGUMENTS", `${short}() got an unexpected keyword argument '${String(key)}'`, {
        name,
      });
    }
    bound.set(key, value);
  }
  const missing = target.parameters.filter((parameter) => parameter.isRequired && !bound.has(parameter.name));
  if (missing.length > 0) {
    const names = missing.map((parameter) => `'${parameter.name}'`).join(" and ");
    const plural = missing.length === 1 ? "" : "s";
    throw new SaltworksError(
      "FUNCTION_ARGUMENTS",
      `${short}() missing ${missing.length} required positional argument${plural}: ${names}`,
      { name },
    );
  }
  return bound;
}

function isKeywordMap(value: Value): value is ValueMap {
  return value instanceof Map && value.get("__kwarg__") === true;
}
