/**
 * Matches `key:key:pattern` against nested grains or pillar. Source: docs/compatibility.md, "Targeting"; behaviour of Salt's
 * `subdict_match`: the longest key is tried first, values compare as lower-cased text, `*:` steps into any child.
 */

import { SaltworksError } from "../errors.ts";
import { targetDepthMax, targetPatternStepsMax } from "../limits.ts";
import { compileGlob } from "../python/fnmatch.ts";
import { compilePythonPattern } from "../python/regex/match.ts";
import { strOf } from "../python/repr.ts";
import { type Datum, type DatumMap, isList, isMap } from "./facts.ts";
import { typedChild } from "./typed-keys.ts";

export type MatchStyle = "glob" | "pcre" | "exact";
export type NestedQuery = {
  readonly expression: string;
  readonly delimiter: string;
  readonly style: MatchStyle;
  /** Compiled patterns, one for each suffix of the expression. */
  readonly tests: Map<string, TextTest>;
  /** Sum of the steps of the regular expressions of all readings. */
  readonly stepCount: number;
};
type TextTest = (lowerText: string) => boolean;

/** Salt uses this delimiter inside a found map, even if the target has another. */
export const defaultDelimiter = ":";
/** As the only key it means the whole data, never a key of that name. */
export const wholeKey = "*";

/**
 * @throws SaltworksError TARGET_INVALID if our engine refuses a regular expression, or if no reading of the text is a valid one
 */
export function openNestedQuery(expression: string, delimiter: string, style: MatchStyle): NestedQuery {
  const partCount = expression.split(delimiter).length;
  if (partCount > targetDepthMax) {
    const reason = `${partCount} parts (most: ${targetDepthMax})`;
    throw new SaltworksError("TARGET_INVALID", `target refused: ${reason}`, { isRefused: true });
  }
  const stepCount = style === "pcre" ? checkPatterns(expression.split(delimiter), delimiter) : 0;
  return { expression, delimiter, style, tests: new Map(), stepCount };
}

/** Whether the expression has a value part. Without a delimiter it matches no minion. */
export function hasValuePart(query: NestedQuery): boolean {
  return query.expression.includes(query.delimiter);
}

export function matchesNested(query: NestedQuery, data: DatumMap): boolean {
  return new NestedMatch(query).matches(data, query.expression, query.delimiter);
}

/** @returns the sum of the steps of all readings */
function checkPatterns(parts: readonly string[], delimiter: string): number {
  let invalid: unknown;
  let validCount = 0;
  let stepCount = 0;
  for (let index = parts.length - 1; index > 0; index -= 1) {
    const pattern = parts.slice(index).join(delimiter).toLowerCase();
    // On maps these patterns match keys or children, even if they are invalid regular expressions.
    if (pattern === "*" || pattern.startsWith("*:")) validCount += 1;
    try {
      stepCount += compilePythonPattern(pattern).stepCount;
      validCount += 1;
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.detail.isRefused !== false) throw error;
      invalid = error;
    }
    if (stepCount > targetPatternStepsMax) throw tooManySteps();
  }
  if (validCount === 0 && invalid !== undefined) throw invalid;
  return stepCount;
}

export function tooManySteps(): SaltworksError {
  const reason = `regular expressions of more than ${targetPatternStepsMax} steps together`;
  return new SaltworksError("TARGET_INVALID", `target refused: ${reason}`, { isRefused: true });
}

class NestedMatch {
  readonly #query: NestedQuery;
  /** Maps that did not match, by pattern. `*:` reaches one map in several ways; each map is tried once. */
  readonly #failed = new Map<string, Set<DatumMap>>();

  constructor(query: NestedQuery) {
    this.#query = query;
  }

  matches(data: DatumMap, expression: string, delimiter: string): boolean {
    const parts = expression.split(delimiter);
    const found = foundByPrefix(data, parts);
    for (let index = found.length - 1; index > 0; index -= 1) {
      const value = found[index];
      if (value === undefined || (isMap(value) && value.size === 0)) continue;
      if (index === 1 && parts[0] === wholeKey) continue;
      if (this.#valueMatches(value, parts.slice(index).join(delimiter))) return true;
    }
    // A lone `*` as first key means the whole data, on which the whole expression is then tried.
    return parts.length > 1 && parts[0] === wholeKey && data.size > 0 && this.#mapMatches(data, expression);
  }

  #valueMatches(value: Datum, pattern: string): boolean {
    if (isMap(value)) return this.#mapMatches(value, pattern);
    if (!isList(value)) return this.#textMatches(value, pattern);
    return value.some((member) => {
      if (isMap(member) && this.#mapMatches(member, pattern)) return true;
      return this.#textMatches(member, pattern);
    });
  }

  #mapMatches(map: DatumMap, whole: string): boolean {
    const tried = this.#failed.get(whole) ?? new Set();
    if (tried.has(map)) return false;
    this.#failed.set(whole, tried.add(map));
    const isWild = whole.startsWith("*:");
    const pattern = isWild ? whole.slice(2) : whole;
    if (pattern === "*" || map.has(pattern)) return true;
    for (const key of map.keys()) if (this.#textMatches(key, pattern)) return true;
    if (this.matches(map, pattern, defaultDelimiter)) return true;
    return isWild && this.#childMatches(map, pattern);
  }

  #childMatches(map: DatumMap, pattern: string): boolean {
    for (const child of map.values()) {
      if (isMap(child)) {
        if (this.#mapMatches(child, pattern)) return true;
      } else if (isList(child)) {
        if (child.some((member) => this.#textMatches(member, pattern))) return true;
      } else if (this.#textMatches(child, pattern)) {
        return true;
      }
    }
    return false;
  }

  #textMatches(value: Datum, pattern: string): boolean {
    return testOf(this.#query, pattern)(strOf(value).toLowerCase());
  }
}

/** Returns the test that one reading applies to lower-case texts. */
export function testOf(query: NestedQuery, pattern: string): TextTest {
  let test = query.tests.get(pattern);
  if (test === undefined) {
    test = compileTest(pattern.toLowerCase(), query.style);
    query.tests.set(pattern, test);
  }
  return test;
}

function compileTest(lowerPattern: string, style: MatchStyle): TextTest {
  if (style === "exact") return (text) => text === lowerPattern;
  if (style === "glob") {
    const glob = compileGlob(lowerPattern);
    return (text) => glob.matches(text);
  }
  try {
    const pattern = compilePythonPattern(lowerPattern);
    return (text) => pattern.matchesStart(text);
  } catch (error) {
    // As in Salt, a reading that is not a valid regular expression matches nothing; other readings may match.
    if (error instanceof SaltworksError && error.code === "TARGET_INVALID") return () => false;
    throw error;
  }
}

/** The value that the first 1, 2, 3... parts lead to, by that number. Ends at a missing key, and before the last part, which is the pattern. */
function foundByPrefix(data: DatumMap, parts: readonly string[]): Datum[] {
  const found: Datum[] = [data];
  let value: Datum = data;
  for (const key of parts.slice(0, -1)) {
    const child: Datum | undefined = isList(value)
      ? listChild(value, key)
      : isMap(value)
        ? mapChild(value, key)
        : undefined;
    if (child === undefined) break;
    value = child;
    found.push(value);
  }
  return found;
}

/** Returns the child under the text key, else under the number, boolean or null that the text spells. */
export function mapChild(map: DatumMap, key: string): Datum | undefined {
  const child = map.get(key);
  return child !== undefined ? child : typedChild(map, key);
}

/** Looks the key up in member maps first; a number is then the index of a member, from the end if negative. */
export function listChild(list: readonly Datum[], key: string): Datum | undefined {
  const index = /^\s*[-+]?[0-9]+\s*$/.test(key) ? Number(key) : undefined;
  for (const member of list) {
    const child = isMap(member) ? member.get(index ?? key) : undefined;
    if (child !== undefined) return child;
  }
  return index === undefined ? undefined : list.at(index);
}
