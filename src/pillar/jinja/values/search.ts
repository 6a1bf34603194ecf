/**
 * Runs Python's regular expressions for templates: an invalid one is an error of the template. A pattern that backtracks
 * for too long ends with its lane's thread.
 */

import { hasCode } from "../../../errors.ts";
import { PythonSearch } from "../../../python/regex/search.ts";
import { typeFault } from "./objects.ts";

/** @throws PILLAR_FAILED for a pattern that Python rejects or that JavaScript cannot express */
export function withSearch<Result>(
  source: string,
  options: { readonly ignoresCase: boolean; readonly isMultiline: boolean },
  use: (search: PythonSearch) => Result,
): Result {
  const letters = `${options.ignoresCase ? "i" : ""}${options.isMultiline ? "m" : ""}`;
  try {
    return use(new PythonSearch(source, { letters }));
  } catch (error) {
    if (hasCode(error, "TARGET_INVALID")) throw typeFault((error as Error).message);
    throw error;
  }
}
