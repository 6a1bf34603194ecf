/** Binds the arguments of an external source (`ext_pillar`) to its parameters as Python does. */
import { SaltworksError } from "../../errors.ts";
import type { Value } from "../../wire/values.ts";
import type { ExternalSource, SourceArguments } from "./contract.ts";

/** Makes an error whose message follows "Failed to load ext_pillar NAME: ". */
export function sourceFault(message: string, detail: { readonly isFatal?: boolean } = {}): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind: "source", ...detail });
}

function quotedNames(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.at(-1) ?? "";
  if (quoted.length <= 2) return quoted.join(" and ");
  return `${quoted.slice(0, -1).join(", ")}, and ${last}`;
}

/** A map holds keyword arguments, a list positional ones; any other value is the first argument. @throws SaltworksError PILLAR_FAILED */
export function boundArguments({ parameters, requiredCount }: ExternalSource, written: Value): SourceArguments {
  const bound = new Map<string, Value>();
  if (written instanceof Map) {
    for (const [key, value] of written) {
      const name = String(key);
      if (!parameters.includes(name))
        throw sourceFault(
          name === "minion_id" || name === "pillar"
            ? `ext_pillar() got multiple values for argument '${name}'`
            : `ext_pillar() got an unexpected keyword argument '${name}'`,
        );
      bound.set(name, value);
    }
  } else {
    const values = Array.isArray(written) ? written : [written];
    if (values.length > parameters.length) throw tooMany(parameters.length, requiredCount, values.length);
    for (const [index, value] of values.entries()) bound.set(parameters[index] ?? "", value);
  }
  const missing = parameters.slice(0, requiredCount).filter((name) => !bound.has(name));
  if (missing.length > 0)
    throw sourceFault(
      `ext_pillar() missing ${missing.length} required positional argument${missing.length === 1 ? "" : "s"}: ${quotedNames(missing)}`,
    );
  return bound;
}

/** Python's count includes the first two arguments of every source: the minion's id and the pillar. */
function tooMany(parameterCount: number, requiredCount: number, givenCount: number): SaltworksError {
  const most = parameterCount + 2;
  const least = requiredCount + 2;
  const takes = least === most ? `${most}` : `from ${least} to ${most}`;
  return sourceFault(`ext_pillar() takes ${takes} positional arguments but ${givenCount + 2} were given`);
}
