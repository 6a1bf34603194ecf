/** Binds the arguments of an external source (`ext_pillar`) to its parameters as Python does. */
import type { SaltworksError } from "../../errors.ts";
import type { Value } from "../../wire/values.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource, SourceArguments } from "./contract.ts";

function quotedNames(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.at(-1) ?? "";
  if (quoted.length <= 2) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${last}`;
}

/** Parameters that every source has before its own. */
const ownNames = ["minion_id", "pillar"];

/** A map holds keyword arguments, a list positional ones; any other value is the first argument. @throws SaltworksError PILLAR_FAILED */
export function boundArguments(source: ExternalSource, written: Value): SourceArguments {
  const { parameters, requiredCount, takes } = source;
  const bound = new Map<string, Value>();
  let rest: readonly Value[] = [];
  if (written instanceof Map) {
    for (const [key, value] of written) {
      const name = String(key);
      if (!parameters.includes(name) && (takes === undefined || ownNames.includes(name)))
        throw sourceFault(
          ownNames.includes(name)
            ? `ext_pillar() got multiple values for argument '${name}'`
            : `ext_pillar() got an unexpected keyword argument '${name}'`,
        );
      bound.set(name, value);
    }
  } else {
    const values = Array.isArray(written) ? written : [written];
    if (values.length > parameters.length && takes !== "all")
      throw tooMany(parameters.length, requiredCount, values.length);
    for (const [index, name] of parameters.entries()) {
      const value = values[index];
      if (value !== undefined) bound.set(name, value);
    }
    rest = values.slice(parameters.length);
  }
  const missing = parameters.slice(0, requiredCount).filter((name) => !bound.has(name));
  if (missing.length > 0)
    throw sourceFault(
      `ext_pillar() missing ${missing.length} required positional argument${missing.length === 1 ? "" : "s"}: ${quotedNames(missing)}`,
    );
  return Object.assign(bound, { rest });
}

/** Python's count includes the first two arguments of every source: the minion's id and the pillar. */
function tooMany(parameterCount: number, requiredCount: number, givenCount: number): SaltworksError {
  const most = parameterCount + 2;
  const least = requiredCount + 2;
  const takes = least === most ? `${most}` : `from ${least} to ${most}`;
  return sourceFault(`ext_pillar() takes ${takes} positional arguments but ${givenCount + 2} were given`);
}
