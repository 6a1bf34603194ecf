/** Finds Jinja's options in `jinja_env` and `jinja_sls_env` that are not built here. Source: names and defaults of Jinja 3.1, as Salt packages it. */

import { type ConfigValue, isConfigMap } from "../yaml/values.ts";

/** Jinja's options and defaults. Salt ignores other names. `trim_blocks` and `lstrip_blocks` are built and therefore not listed. */
export const jinjaDefaults: Readonly<Record<string, ConfigValue>> = {
  block_start_string: "{%",
  block_end_string: "%}",
  variable_start_string: "{{",
  variable_end_string: "}}",
  comment_start_string: "{#",
  comment_end_string: "#}",
  line_statement_prefix: null,
  line_comment_prefix: null,
  newline_sequence: "\n",
  keep_trailing_newline: false,
};

/** Names of options that differ from their default. As in Salt, case is ignored in names, and a value that is not a map counts as empty. */
export function unbuiltJinja(value: ConfigValue): readonly string[] {
  if (!isConfigMap(value)) return [];
  return Object.entries(value)
    .filter(([name, one]) => isAsking(name.toLowerCase(), one))
    .map(([name]) => name);
}

function isAsking(name: string, value: ConfigValue): boolean {
  if (!Object.hasOwn(jinjaDefaults, name) || value === null) return false;
  const usual = jinjaDefaults[name];
  return usual === false ? value !== false && value !== 0 && value !== "" : value !== usual;
}

/** The warning about options in `jinja_env` that the master's own templates ignore; undefined if there are none. */
export function unbuiltJinjaEnv(value: ConfigValue): string | undefined {
  const names = unbuiltJinja(value);
  if (names.length === 0) return undefined;
  return `pillar top files and templates of file_tree do not obey ${names.join(", ")}`;
}
