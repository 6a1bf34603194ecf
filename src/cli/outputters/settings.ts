/** Reads settings of outputters that the schema does not name, because Salt accepts any value for them. */

import { strOf } from "../../python/repr.ts";
import type { HighstateOptions } from "./highstate.ts";
import type { JsonIndent } from "./json.ts";
import type { TableOptions } from "./table.ts";

type Settings = ReadonlyMap<string, unknown>;

/** `output`; undefined if it is empty, or `highstate`, because state runs suggest that outputter themselves. */
export function outputSetting(output: string): string | undefined {
  return output === "highstate" || output === "" ? undefined : output;
}

/** `output_indent`: a number of columns, `pretty`, or null for one line. Undefined if it is not set or invalid. */
export function indentSetting(settings: Settings): JsonIndent | undefined {
  const indent = settings.get("output_indent");
  return typeof indent === "number" || indent === "pretty" || indent === null ? indent : undefined;
}

/** `color: False` turns colours off, unless the command line decides otherwise. */
export function isColourOffBySetting(settings: Settings): boolean {
  return settings.get("color") === false;
}

/** The settings `out.table.*`. Empty values count as not set, except false. */
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

/** Settings for state runs. */
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

/** Drops undefined members. */
function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
}
