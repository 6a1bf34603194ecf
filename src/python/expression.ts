/** Salt's expressions for names: globs that are also tried as regular expressions. Source: Salt 3007's `expr_match`. */
import { hasCode } from "../errors.ts";
import { compileGlob } from "./fnmatch.ts";
import { compilePythonPattern, type PythonPattern } from "./regex/match.ts";

/** Whether a glob or regular expression matches the whole text. */
export function expressionMatches(text: string, expression: string): boolean {
  return compileGlob(expression).matches(text) || (patternOf(`(?:${expression})\\Z`)?.matchesStart(text) ?? false);
}

/** Whether a name is not in `blacklist`, and in `whitelist` if this has any expression. */
export function isExposed(name: string, whitelist: readonly string[], blacklist: readonly string[]): boolean {
  const isIn = (expressions: readonly string[]) => expressions.some((one) => expressionMatches(name, one));
  return !isIn(blacklist) && (whitelist.length === 0 || isIn(whitelist));
}

/** Undefined, which matches nothing, for a pattern that our engine refuses. */
export function patternOf(source: string): PythonPattern | undefined {
  try {
    return compilePythonPattern(source);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return undefined;
  }
}
