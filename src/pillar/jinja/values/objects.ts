/**
 * Values of templates beyond Python's own: undefined names, functions, objects with members. No value gives access to JavaScript's
 * objects. Source: Jinja 3.1's `runtime` for undefined values.
 */
import { hasCode, SaltworksError } from "../../../errors.ts";
import { type Item, iterate, PythonObject, Series, Tuple, typeName } from "../../../python/values.ts";
import { Ext, Float, type Value } from "../../../wire/values.ts";

/** The kind of an error, which selects Salt's text: an undefined name, an invalid template, or a Python exception. */
export type FaultKind = "undefined" | "template" | "python";

/** Makes a template's error. Callers that know `file` and `line` add them. */
export function fault(kind: FaultKind, message: string): SaltworksError {
  return new SaltworksError("PILLAR_FAILED", message, { kind });
}

/** Turns PYTHON_RAISED into a template's error; returns any other error as it is. */
export function asFault(error: unknown): unknown {
  return hasCode(error, "PYTHON_RAISED") ? fault("python", (error as SaltworksError).message) : error;
}

export const typeFault = (message: string) => fault("python", message);

/** An undefined name or member. Using it raises `message`, except in `is defined` and `default`. */
export class Undefined extends PythonObject {
  readonly typeName = "Undefined";
  readonly message: string;
  /** The value of `a if b` without `else`. It is empty and false; other undefined values raise. */
  readonly isLenient: boolean;
  constructor(message: string, isLenient = false) {
    super();
    this.message = message;
    this.isLenient = isLenient;
  }

  override demand(): never {
    throw fault("undefined", this.message);
  }

  override isNothing(): boolean {
    return this.isLenient || this.demand();
  }

  override isTrue(): boolean {
    return !this.isNothing();
  }

  override repr(): string {
    return this.isNothing() ? "Undefined" : "";
  }
}

/** Jinja's `namespace()`. A value that a loop sets in it (`{% set ns.key = value %}`) lasts after the loop. */
export class Namespace extends PythonObject {
  readonly typeName = "Namespace";
  readonly members = new Map<string, Item>();

  override member(name: string): Item | undefined {
    return this.members.get(name);
  }
}

export type CallArguments = { readonly positional: readonly Item[]; readonly named: ReadonlyMap<string, Item> };

/** Anything that can be called: methods, functions, macros. */
export class Callable extends PythonObject {
  readonly typeName = "function";
  readonly name: string;
  readonly call: (args: CallArguments) => Item;
  constructor(name: string, call: (args: CallArguments) => Item) {
    super();
    this.name = name;
    this.call = call;
  }
}

/** An object that has only members: `loop`, an imported template, `salt`. `text`: its printed form. */
export class Members extends PythonObject {
  readonly typeName: string;
  readonly text: string | undefined;
  readonly #get: (name: string) => Item | undefined;
  constructor(typeName: string, get: (name: string) => Item | undefined, text?: string) {
    super();
    this.typeName = typeName;
    this.#get = get;
    this.text = text;
  }

  override member(name: string): Item | undefined {
    return this.#get(name);
  }

  override holds(item: Item): boolean {
    const found = typeof item === "string" ? this.#get(item) : undefined;
    return found !== undefined && !(found instanceof Undefined);
  }

  override repr(): string {
    return this.text ?? super.repr();
  }
}

/** Returns the item as data for a pillar. @throws PILLAR_FAILED */
export function dataOf(item: Item): Value {
  if (item === null || typeof item !== "object" || item instanceof Float || item instanceof Ext) return item;
  if (item instanceof Uint8Array) return item;
  if (item instanceof Tuple || item instanceof Series || Array.isArray(item)) return iterate(item).map(dataOf);
  if (item instanceof Map) return new Map(Array.from(item, ([key, value]) => [dataOf(key), dataOf(value)]));
  item.demand();
  throw typeFault(`a ${typeName(item)} is not data`);
}
