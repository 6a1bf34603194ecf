/** Applies a Saltfile, which sets options for all commands in a directory or of a user. Source: behaviour of Salt 3007. */
import type { ConfigMap, ConfigValue } from "../../config/yaml/values.ts";
import { type AnyOption, type CommandTable, mainName } from "./option.ts";

/** The Saltfile's section for one program, or the reason why the file cannot be read. */
export type SaltfileSection = { readonly file: string; readonly section: ConfigMap } | { readonly fault: string };

/** Names in a Saltfile that differ from the long name with `_` for `-`, by the option's first long name. */
const otherNames: Readonly<Record<string, string>> = {
  "--summary": "cli_summary",
  "--output-diff": "state_output_diff",
  "--log-file-level": "log_level_logfile",
  "--grains": "grains_run",
  "--make-token": "mktoken",
};
/** Flags whose name in a Saltfile has the opposite meaning. */
const invertedNames: Readonly<Record<string, string>> = { "--hide-timeout": "show_timeout" };

type Values = Map<string, boolean | string | number | readonly string[]>;

/**
 * Sets every option that the command line leaves out to its value in the Saltfile.
 *
 * @returns the fault of the first wrong value
 */
export function applySaltfile(command: CommandTable, values: Values, read: SaltfileSection): string | undefined {
  if ("fault" in read) return read.fault;
  const { file, section } = read;
  const names = new Set(Object.keys(section));
  for (const [key, option] of command.groups.flatMap(({ options }) => Object.entries(options))) {
    const name = fileNames(option.names).find((one) => names.delete(one));
    if (name === undefined || values.has(key)) continue;
    const isInverted = invertedNames[mainName(option)] === name;
    const value = valueFor(option, section[name] ?? null, isInverted);
    if (value === undefined)
      return `${file}: ${name}: ${JSON.stringify(section[name])} is not a value of ${mainName(option)}`;
    if (value !== false) values.set(key, value);
  }
  const refused = command.unavailable.find((option) => fileNames(option).some((name) => names.has(name)));
  if (refused === undefined) return undefined;
  return `${file}: option ${refused.join("/")} is not available in this version`;
}

function fileNames(names: readonly string[]): string[] {
  const main = mainName({ names });
  const own = names.filter((name) => name.startsWith("--")).map((name) => name.slice(2).replaceAll("-", "_"));
  return [...own, otherNames[main], invertedNames[main]].filter((name) => name !== undefined);
}

/** The option's value; undefined if the Saltfile's value has the wrong form. */
function valueFor(
  option: AnyOption,
  value: ConfigValue,
  isInverted: boolean,
): boolean | string | number | readonly string[] | undefined {
  switch (option.kind) {
    case "flag":
      return typeof value === "boolean" ? value !== isInverted : undefined;
    case "int":
      return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
    case "choice":
      return option.choices.find((choice) => choice === value);
    case "texts":
      return Array.isArray(value) ? value.map(String) : textOf(value)?.split("\n");
    case "text":
      return textOf(value);
  }
}

/** A scalar as text: booleans as `True` and `False`. */
function textOf(value: ConfigValue): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" || typeof value === "bigint" ? String(value) : undefined;
}
