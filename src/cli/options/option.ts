/** The parts of option tables: options, groups and commands. The parser, the help and the types of values are derived from the tables. */

/** `V` is the type of the option's value. An option that is not given is undefined; a flag is false. */
export type Option<V extends boolean | string | number | readonly string[] | undefined> = {
  /** Short names first, as Salt writes them: `-t`, `--timeout`. */
  readonly names: readonly [string, ...string[]];
  readonly kind: "flag" | "text" | "texts" | "int" | "choice";
  /** The value's name in help. */
  readonly metavar: string;
  readonly about: string;
  readonly choices: readonly string[];
  /** Never set: it only carries the type. */
  readonly example?: V;
};

export type AnyOption =
  | Option<boolean>
  | Option<string | undefined>
  | Option<readonly string[] | undefined>
  | Option<number | undefined>;
export type OptionTable = { readonly [key: string]: AnyOption };

export type OptionGroup<T extends OptionTable = OptionTable> = {
  /** Empty for options without a group. */
  readonly title: string;
  readonly about?: string;
  readonly options: T;
  /** At most one option of the group may be given. */
  readonly isExclusive?: boolean;
  /** Options that Salt does not have. An abbreviation means one of these only if no option of Salt matches it. */
  readonly isOwn?: boolean;
};

export type CommandTable<T extends OptionTable = OptionTable> = {
  /** The name in messages: that of Salt's program if there is one, because scripts search for it. */
  readonly program: string;
  readonly usage: string;
  readonly about: string;
  readonly groups: readonly OptionGroup[];
  /** Salt's options that this version lacks. The refusal names them. */
  readonly unavailable: readonly (readonly string[])[];
  /** Never set: it only carries the type. */
  readonly example?: T;
};

type Names = readonly [string, ...string[]];

export function flag(names: Names, about: string): Option<boolean> {
  return { names, kind: "flag", metavar: "", about, choices: [] };
}

export function text(names: Names, metavar: string, about: string): Option<string | undefined> {
  return { names, kind: "text", metavar, about, choices: [] };
}

/** An option that can be given several times. Its value is the list of all values, in order. */
export function texts(names: Names, metavar: string, about: string): Option<readonly string[] | undefined> {
  return { names, kind: "texts", metavar, about, choices: [] };
}

export function int(names: Names, metavar: string, about: string): Option<number | undefined> {
  return { names, kind: "int", metavar, about, choices: [] };
}

export function choice(
  names: Names,
  metavar: string,
  choices: readonly string[],
  about: string,
): Option<string | undefined> {
  return { names, kind: "choice", metavar, about, choices };
}

/** The values that a table's options have after parsing. */
export type ValuesOf<T extends OptionTable> = {
  readonly [Key in keyof T]: T[Key] extends Option<infer V> ? V : never;
};

/** The name of an option in messages, as in Salt: its first long name. */
export function mainName(option: { readonly names: readonly string[] }): string {
  return option.names.find((name) => name.startsWith("--")) ?? option.names[0] ?? "";
}
