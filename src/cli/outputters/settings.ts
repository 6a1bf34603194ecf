/** What a configuration says about outputters beyond the options that the schema names: Salt keeps these free of any form. */

import { strOf } from "../../python/repr.ts";
import type { HighstateOptions } from "./highstate.ts";
import type { JsonIndent } from "./json.ts";
import type { TableOptions } from "./table.ts";

type Settings = ReadonlyMap<string, unknown>;

/** `output`, where it says anything: `highstate` is for state runs only, which suggest it themselves. */
export function outputSetting(output: string): string | undefined {
  return output === "highstate" || output === "" ? undefined : output;
}

/** `output_indent`: a number of columns, `pretty`, or null for one line; undefined if it is not set or something else. */
export function indentSetting(settings: Settings): JsonIndent | undefined {
  const indent = settings.get("output_indent");
  return typeof indent === "number" || indent === "pretty" || indent === null ? indent : undefined;
}

/** `color: False` turns colours off where nothing on the command line says otherwise. */
export function isColourOffBySetting(settings: Settings): boolean {
  return settings.get("color") === false;
}

/** `out.table.*`. Empty values count as not set, but for a false. */
export function tableSettings(settings: Settings): TableOptions {
  const text = (name: string) => {
    const value = settings.get(`out.table.${name}`);
    return typeof value === "string" ? value : undefined;
  };
  const given = (name: string) => text(name) || undefined;
  const number = (name: string) => {
    const value = settings.get(`out.table.${name}`);
    return typeof value === "number" && value > 0 ? value : undefined;
  };
  const flag = (name: string) => {
    const value = settings.get(`out.table.${name}`);
    return typeof value === "boolean" ? value : undefined;
  };
  return defined({
    hasHeader: flag("has_header"),
    rowDelimiter: text("row_delimiter"),
    delim: text("delim"),
    justify: given("justify"),
    separateRows: flag("separate_rows"),
    prefix: text("prefix"),
    suffix: text("suffix"),
    width: number("width"),
    rowsKey: given("rows_key"),
    labelsKey: given("labels_key"),
    title: given("title"),
    indent: number("nested_indent"),
  });
}

/** How state runs are shown. */
export function stateSettings(settings: Settings): HighstateOptions {
  const flag = (name: string) => {
    const value = settings.get(name);
    return typeof value === "boolean" ? value : undefined;
  };
  const words = (name: string) => {
    const value = settings.get(name);
    return Array.isArray(value) ? value.map((word) => strOf(word)) : undefined;
  };
  const output = settings.get("state_output");
  return defined({
    output: typeof output === "string" ? output : undefined,
    isVerbose: flag("state_verbose"),
    isDiffOnly: flag("state_output_diff"),
    isTabular: flag("state_tabular"),
    isProfiled: flag("state_output_profile"),
    isPercentShown: flag("state_output_pct"),
    excluded: words("state_output_exclude"),
    terse: words("state_output_terse"),
  });
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Without the members that are undefined. */
function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
