/**
 * The description of one option (form, default, bounds, meaning), and the makers for option tables.
 * Names, forms and defaults are Salt's, so that existing files work unchanged; `isOurs` marks options that Salt does not have.
 */

import type { ConfigMap, ConfigValue } from "../yaml/values.ts";

/** Forms of a value in YAML. "textOrList" keeps the form of the file. */
export type OptionKind =
  | "text"
  | "integer"
  | "number"
  | "boolean"
  | "list"
  | "map"
  | "textOrList"
  | "listOrMap"
  | "any";

type Details = {
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  readonly choices?: readonly (string | number)[];
  /** A directory or file: relative values and Salt's own defaults move under `root_dir`. */
  readonly isPath?: boolean;
  /** An option that Salt does not have. */
  readonly isOurs?: boolean;
  /** Never shown in messages. */
  readonly isSecret?: boolean;
  /** The option is read, checked and kept, but has no effect in this release. */
  readonly isKept?: boolean;
  /** For lists: describes the first invalid entry. */
  readonly entriesFault?: (entries: readonly unknown[]) => string | undefined;
  /** Values of another form that count as the default, as in Salt. */
  readonly asDefault?: readonly ConfigValue[];
  readonly about: string;
};

/** `Value` is the type of the loaded value; `isNullable`: YAML's null is a value; otherwise null means the default. */
export type Option<Value> = Details & {
  readonly kind: OptionKind;
  readonly default: Value;
  readonly isNullable: boolean;
};
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The typed values of a table of options. */
export type ValuesOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never;
};

/** Details without `about`, which is a separate argument of the makers. */
type Bounds = Omit<Details, "about">;

function make<Value>(kind: OptionKind, value: Value, about: string, bounds: Bounds, isNullable = false): Option<Value> {
  return { kind, default: value, isNullable, ...bounds, about };
}

export const text = (value: string, about: string, bounds: Bounds = {}): Option<string> =>
  make("text", value, about, bounds);
export const integer = (value: number, about: string, bounds: Bounds = {}): Option<number> =>
  make("integer", value, about, bounds);
export const number = (value: number, about: string, bounds: Bounds = {}): Option<number> =>
  make("number", value, about, bounds);
export const boolean = (value: boolean, about: string, bounds: Bounds = {}): Option<boolean> =>
  make("boolean", value, about, bounds);
export const list = (value: readonly ConfigValue[], about: string, bounds: Bounds = {}) =>
  make<readonly ConfigValue[]>("list", value, about, bounds);
export const map = (value: ConfigMap, about: string, bounds: Bounds = {}) =>
  make<ConfigMap>("map", value, about, bounds);
export const textOrList = (value: string | readonly string[], about: string, bounds: Bounds = {}) =>
  make<string | readonly ConfigValue[]>("textOrList", value, about, bounds);
export const listOrMap = (value: ConfigMap, about: string, bounds: Bounds = {}) =>
  make<ConfigMap | readonly ConfigValue[]>("listOrMap", value, about, bounds);
export const any = (value: ConfigValue, about: string, bounds: Bounds = {}) =>
  make<ConfigValue>("any", value, about, bounds, true);

/** The same option, with the default null, which means "not set". */
export function optional<Value>(option: Option<Value>): Option<Value | null> {
  return { ...option, default: null, isNullable: true };
}

/** An option with one of these words as its value. */
export function choice<const Word extends string>(
  value: NoInfer<Word>,
  choices: readonly Word[],
  about: string,
  bounds: Bounds = {},
): Option<Word> {
  return { ...make<Word>("text", value, about, bounds), choices };
}

/** An option with one of these numbers as its value. */
export function numberChoice<const Value extends number>(
  value: NoInfer<Value>,
  choices: readonly Value[],
  about: string,
  bounds: Bounds = {},
): Option<Value> {
  return { ...make<Value>("integer", value, about, bounds), choices };
}
