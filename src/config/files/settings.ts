/**
 * Reads the settings of a configuration file and its includes, each with its file and line. Order as in Salt: the main file, then
 * `default_include` over it, then `include` over both; later files replace whole keys.
 */

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { SaltworksError } from "../../errors.ts";
import { configIncludeDepthMax } from "../../limits.ts";
import { parseSaltYaml } from "../yaml/salt-yaml.ts";
import { type ConfigMap, type ConfigValue, isConfigMap } from "../yaml/values.ts";
import { matchingPaths } from "./path-pattern.ts";
import { hasCodeIn } from "./system-errors.ts";

export type Setting = { readonly value: ConfigValue; readonly file: string; readonly line: number };
export type Settings = Map<string, Setting>;

function unreadable(file: string, faults: readonly string[], cause?: unknown): SaltworksError {
  return new SaltworksError("CONFIG_UNREADABLE", faults.join("\n"), { file }, cause === undefined ? {} : { cause });
}

/** The settings of one file; empty if it does not exist. */
function readOne(file: string): Settings {
  let source: string;
  try {
    source = readFileSync(file, "utf8");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return new Map();
    throw unreadable(
      file,
      [`${file}: cannot be read: ${error instanceof Error ? error.message : String(error)}`],
      error,
    );
  }
  const read = parseSaltYaml(source);
  if ("faults" in read)
    throw unreadable(
      file,
      read.faults.map(({ line, message }) => `${file}:${line}: ${message}`),
    );
  const value = read.value ?? {};
  if (!isConfigMap(value))
    throw unreadable(file, [`${file}:1: must be a map of options, not a list or a single value`]);
  const settings: Settings = new Map();
  for (const [key, member] of Object.entries(value)) {
    settings.set(key, { value: member, file, line: read.lines.get(key) ?? 1 });
  }
  return settings;
}

/** Merges values of included files as Salt does: maps key by key, lists without repeats. Of other values the later wins. */
function mergeValues(below: ConfigValue, above: ConfigValue): ConfigValue {
  if (isConfigMap(below) && isConfigMap(above)) {
    const merged: Record<string, ConfigValue> = { ...(below as ConfigMap) };
    for (const [key, value] of Object.entries(above)) merged[key] = mergeValues(merged[key] ?? null, value);
    return merged;
  }
  if (Array.isArray(below) && Array.isArray(above)) {
    const known = new Set(below.map((item) => JSON.stringify(item)));
    return [...below, ...above.filter((item) => !known.has(JSON.stringify(item)))];
  }
  return above;
}

function patternsOf(value: ConfigValue | undefined): string[] {
  if (typeof value === "string") return value === "" ? [] : [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function absolutePattern(pattern: string, besideFile: string): string {
  const home = pattern === "~" || pattern.startsWith("~/") ? join(homedir(), pattern.slice(1)) : pattern;
  return isAbsolute(home) ? home : join(dirname(besideFile), home);
}

/** Reads the files that match these patterns and merges them with one another, as Salt does. */
function readIncluded(patterns: string[], besideFile: string, warnings: string[] | undefined, depth: number): Settings {
  if (depth > configIncludeDepthMax)
    throw unreadable(besideFile, [`${besideFile}: files include each other without end`]);
  const merged: Settings = new Map();
  for (const pattern of patterns) {
    const files = matchingPaths(absolutePattern(pattern, besideFile));
    if (files.length === 0) warnings?.push(`${besideFile}: include "${pattern}" matches no file`);
    for (const file of files) {
      const settings = readOne(file);
      const deeper = readIncluded(patternsOf(settings.get("include")?.value), file, warnings, depth + 1);
      for (const [key, setting] of deeper) settings.set(key, setting);
      for (const [key, setting] of settings) {
        const below = merged.get(key);
        merged.set(key, below === undefined ? setting : { ...setting, value: mergeValues(below.value, setting.value) });
      }
    }
  }
  return merged;
}

/**
 * Reads `file` and its includes.
 *
 * @param defaultInclude pattern for a file that does not set `default_include`
 * @param warnings receives a warning for each `include` that matches no file
 * @throws SaltworksError CONFIG_UNREADABLE with every fault of the first file that is not YAML
 */
export function readSettings(file: string, defaultInclude: string, warnings: string[]): Settings {
  const settings = readOne(file);
  const byDefault = patternsOf(settings.get("default_include")?.value ?? defaultInclude);
  const byName = patternsOf(settings.get("include")?.value);
  for (const [key, setting] of readIncluded(byDefault, file, undefined, 0)) settings.set(key, setting);
  for (const [key, setting] of readIncluded(byName, file, warnings, 0)) settings.set(key, setting);
  return settings;
}
