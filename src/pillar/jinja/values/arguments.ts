/** Binds arguments of built-in functions by name and position, with Python's error messages. */

import { demand, type Item, isInteger, typeName } from "../../../python/values.ts";
import { type CallArguments, typeFault } from "./objects.ts";

/** The arguments of one call, by the names of its signature. */
export class Bound {
  readonly #values: ReadonlyMap<string, Item>;
  constructor(values: ReadonlyMap<string, Item>) {
    this.#values = values;
  }

  get(name: string): Item | undefined {
    return this.#values.get(name);
  }

  /** A required argument. */
  need(name: string): Item {
    return this.#values.get(name) ?? null;
  }

  text(name: string, fallback?: string): string {
    const value = this.#values.get(name) ?? fallback ?? null;
    if (typeof value === "string") return value;
    throw typeFault(`${name} must be str, not ${typeName(demand(value))}`);
  }

  /** None counts as missing. */
  optionalText(name: string): string | undefined {
    const value = this.#values.get(name) ?? null;
    return value === null ? undefined : this.text(name);
  }

  integer(name: string, fallback: number): number {
    const value = this.#values.get(name);
    if (value === undefined) return fallback;
    if (isInteger(value) || typeof value === "boolean") return Number(value);
    throw typeFault(`'${typeName(demand(value))}' object cannot be interpreted as an integer`);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#values.get(name);
    if (value === undefined) return fallback;
    if (typeof value === "boolean") return value;
    if (value === null) return false;
    if (isInteger(value)) return Number(value) !== 0;
    throw typeFault(`${name} must be true or false, not ${typeName(demand(value))}`);
  }
}

/**
 * `signature` lists names in order. Names from the first `?` on are optional.
 *
 * @throws PILLAR_FAILED for too many, missing or unknown arguments
 */
export function bind(callee: string, signature: string, args: CallArguments): Bound {
  const parameters = signature === "" ? [] : signature.split(" ");
  const values = new Map<string, Item>();
  if (args.positional.length > parameters.length) {
    const s = parameters.length === 1 ? "" : "s";
    throw typeFault(`${callee}() takes at most ${parameters.length} argument${s} (${args.positional.length} given)`);
  }
  const names = parameters.map((parameter) => parameter.replace(/\?$/, ""));
  for (const [index, value] of args.positional.entries()) values.set(names[index] ?? "", value);
  for (const [name, value] of args.named) {
    if (!names.includes(name)) throw typeFault(`${callee}() got an unexpected keyword argument '${name}'`);
    if (values.has(name)) throw typeFault(`${callee}() got multiple values for argument '${name}'`);
    values.set(name, value);
  }
  const missing = parameters.find((parameter) => !parameter.endsWith("?") && !values.has(parameter));
  if (missing !== undefined) throw typeFault(`${callee}() missing required argument: '${missing}'`);
  return new Bound(values);
}
