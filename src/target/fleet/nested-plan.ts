/**
 * Expands a nested expression to the readings that Salt tries (../nested-match.ts), and matches each against all minions at once: a minion matches
 * if any reading finds a match at its path. Readings that enter a map or list are made only if some minion has one at that path. Pure.
 */
import { targetReadingsMax } from "../../limits.ts";
import { defaultDelimiter, type NestedQuery, testOf, wholeKey } from "../nested-match.ts";
import type { Bitmap } from "./bitmap.ts";
import { extended, type Path, pathOf, type Root, type Step } from "./path.ts";
import type { PathIndex } from "./path-index.ts";

/** Opens the indexes of paths; undefined for a path over the bound of its index. */
export type OpenPaths = (paths: readonly Path[]) => Generator<void, readonly (PathIndex | undefined)[]>;

/**
 * `found`: reached by names; empty maps do not match. `child`: reached by `*:`; does not look into maps in lists. `member`: a map in a list.
 */
type Place = "found" | "child" | "member";
type Reading = {
  readonly path: Path;
  readonly place: Place;
  readonly pattern: string;
  /** The expression's readings already include the readings by names below this path. */
  readonly isCovered: boolean;
  /** Matches only maps at the path, not texts. */
  readonly isMapOnly: boolean;
};

/** @returns the minions that match; undefined over a bound of readings or values: the caller must then evaluate each minion */
export function* matchReadings(root: Root, query: NestedQuery, open: OpenPaths): Generator<void, Bitmap[] | undefined> {
  const results: Bitmap[] = [];
  const seen = new Set<string>();
  let wave = firstReadings(pathOf(root, []), query.expression, query.delimiter);
  while (wave.length > 0) {
    const fresh = wave.filter((reading) => isFirst(seen, reading));
    if (seen.size > targetReadingsMax) return undefined;
    const indexes = yield* open(fresh.map((reading) => reading.path));
    const next: Reading[] = [];
    for (const [at, reading] of fresh.entries()) {
      const index = indexes[at];
      if (index === undefined || index.isOverfull) return undefined;
      if (!reading.isMapOnly) results.push(yield* textMatches(index, query, reading.pattern));
      if (!index.maps.isEmpty) results.push(...(yield* mapMatches(index, query, reading)));
      next.push(...following(index, reading));
    }
    wave = next;
  }
  return results;
}

/** Paths that every evaluation opens first. */
export function firstPaths(root: Root, query: NestedQuery): Path[] {
  return firstReadings(pathOf(root, []), query.expression, query.delimiter).map((reading) => reading.path);
}

function isFirst(seen: Set<string>, { path, place, pattern, isMapOnly }: Reading): boolean {
  const text = [path.text, place, isMapOnly, pattern].join("\0");
  if (seen.has(text)) return false;
  seen.add(text);
  return true;
}

/** Readings that walk by names from a map: each further name shortens the remaining pattern. Also `*` for the whole map. */
function firstReadings(path: Path, expression: string, delimiter: string): Reading[] {
  const parts = expression.split(delimiter);
  const isCovered = delimiter === defaultDelimiter;
  const readings: Reading[] = [];
  const steps: Step[] = [];
  for (const [index, name] of parts.slice(0, -1).entries()) {
    steps.push({ kind: index === 0 ? "key" : "child", name });
    if (index === 0 && name === wholeKey) continue;
    const pattern = parts.slice(index + 1).join(delimiter);
    readings.push({ path: extended(path, ...steps), place: "found", pattern, isCovered, isMapOnly: false });
  }
  if (parts.length > 1 && parts[0] === wholeKey) {
    readings.push({ path, place: "found", pattern: expression, isCovered: false, isMapOnly: true });
  }
  return readings;
}

/** Splits off a leading `*:`. */
function innerPattern(pattern: string): { readonly isWild: boolean; readonly inner: string } {
  const isWild = pattern.startsWith("*:");
  return { isWild, inner: isWild ? pattern.slice(2) : pattern };
}

/** Readings one level deeper, if any minion has a map or list at the path. */
function following(index: PathIndex, reading: Reading): Reading[] {
  const { path, place, pattern } = reading;
  const readings: Reading[] = [];
  if (!index.maps.isEmpty) {
    const { isWild, inner } = innerPattern(pattern);
    if (isWild || !reading.isCovered) readings.push(...firstReadings(path, inner, defaultDelimiter));
    if (isWild) {
      const child = extended(path, { kind: "any" });
      readings.push({ path: child, place: "child", pattern: inner, isCovered: false, isMapOnly: false });
    }
  }
  if (place === "found" && !reading.isMapOnly && !index.listedMaps.isEmpty) {
    const member = extended(path, { kind: "members" });
    readings.push({ path: member, place: "member", pattern, isCovered: false, isMapOnly: true });
  }
  return readings;
}

function* textMatches(index: PathIndex, query: NestedQuery, pattern: string): Generator<void, Bitmap> {
  const lower = pattern.toLowerCase();
  const isLiteral = query.style === "exact" || (query.style === "glob" && !/[*?[]/.test(lower));
  if (isLiteral) return index.texts.exactly(lower);
  return yield* index.texts.passing(`${query.style} ${lower}`, testOf(query, pattern));
}

function* mapMatches(index: PathIndex, query: NestedQuery, reading: Reading): Generator<void, Bitmap[]> {
  const { inner } = innerPattern(reading.pattern);
  // A lone `*` matches the map itself, in every style.
  if (inner === "*") return [reading.place === "found" ? index.filledMaps : index.maps];
  return [yield* index.withKey(`${query.style} ${inner}`, inner, testOf(query, inner))];
}
