/** Reads top files, which say which SLS files of which environment a minion gets. Source: Salt 3007's pillar top files, observed. */

import { SaltworksError } from "../errors.ts";
import { iterate } from "../python/values.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { type Minion, matchesMinion } from "./input/minion.ts";
import type { PillarSettings } from "./input/settings.ts";
import { typeFault } from "./jinja/values/objects.ts";

/** A target's entry in a top file: kinds of target and names of SLS files. */
type Line = { matchers: Value[]; names: string[]; order: number };
/** By environment and target. An entry of a later top file replaces the target's whole entry. */
type MergedTop = Map<string, Map<string, Line>>;

function orderOf(value: Value): number {
  const number = typeof value === "string" ? Number.parseInt(value, 10) : Number(value);
  return Number.isFinite(number) ? Math.trunc(number) : 0;
}

/** Reads a target's entry. @throws PILLAR_FAILED if the entry is a value that Python cannot iterate over */
function readLine(parts: Value, ignored: Set<string>): Line {
  const line: Line = { matchers: [], names: [], order: 0 };
  let mayBeMissing = false;
  for (const part of iterate(parts) as Value[]) {
    if (typeof part === "string") {
      if (!line.names.includes(part)) line.names.push(part);
    } else if (part instanceof Map) {
      const kind = part.get("match");
      if (kind !== undefined) line.matchers.push(kind);
      if (part.has("order")) line.order = orderOf(part.get("order") ?? null);
      if (part.get("ignore_missing") === true) mayBeMissing = true;
    }
  }
  if (mayBeMissing) for (const name of line.names) ignored.add(name);
  return line;
}

/** Merges all top files. @throws PILLAR_FAILED for a file that is not a map of maps of lists */
export function mergeTops(tops: readonly Value[], ignored: Map<string, Set<string>>): MergedTop {
  const merged: MergedTop = new Map();
  for (const top of tops) {
    if (!(top instanceof Map)) throw typeFault("a top file must be a map of environments");
    for (const [environment, targets] of top) {
      if (environment === "include") continue;
      if (!(targets instanceof Map)) throw typeFault("an environment of a top file must be a map of targets");
      const name = String(environment);
      const known = merged.get(name) ?? new Map<string, Line>();
      const missing = ignored.get(name) ?? new Set<string>();
      ignored.set(name, missing);
      for (const [target, parts] of targets) known.set(String(target), readLine(parts, missing));
      merged.set(name, known);
    }
  }
  return merged;
}

/** The merged top file as a value, by environment and target: kinds of target, then files. */
export function shownTop(top: MergedTop): ValueMap {
  const shown: ValueMap = new Map();
  for (const [environment, targets] of top) {
    const lines: ValueMap = new Map();
    for (const [target, { matchers, names }] of targets)
      lines.set(target, [...matchers.map((kind): Value => new Map([["match", kind]])), ...names]);
    shown.set(environment, lines);
  }
  return shown;
}

/** Returns the SLS files of this minion by environment. Reports an expression that cannot be parsed; it does not match. */
export function matchTop(
  top: MergedTop,
  minion: Minion,
  settings: PillarSettings,
  pillarenv: string | undefined,
  onFault: (message: string) => void,
): Map<string, string[]> {
  const matches = new Map<string, string[]>();
  for (const [environment, targets] of top) {
    if (pillarenv !== undefined && environment !== pillarenv) continue;
    const lines = [...targets].sort(([, a], [, b]) => a.order - b.order);
    for (const [target, line] of lines) {
      if (!isMeant(target, line, minion, settings, onFault)) continue;
      const names = matches.get(environment) ?? [];
      matches.set(environment, names);
      for (const name of line.names) if (!names.includes(name)) names.push(name);
    }
  }
  return matches;
}

function isMeant(
  target: string,
  line: Line,
  minion: Minion,
  settings: PillarSettings,
  onFault: (message: string) => void,
): boolean {
  const kind = line.matchers.at(-1) ?? "compound";
  try {
    return matchesMinion(minion, settings, String(kind), target);
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
    // Salt silently treats an invalid compound expression as false. An expression that only this program rejects is reported.
    if (error.detail.isRefused === true || String(kind) !== "compound")
      onFault(`Target '${target}' of the pillar top file: ${error.message}`);
    return false;
  }
}
