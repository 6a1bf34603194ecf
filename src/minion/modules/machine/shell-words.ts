/** Splits a command line into words, with Python's errors. */
import { shellWords } from "../../../wire/shell-words.ts";
import { pythonException } from "../../functions/errors.ts";

/** @throws SaltworksError FUNCTION_FAILED with Python's ValueError for an open quote or a trailing backslash */
export function splitShellWords(text: string): string[] {
  const words = shellWords(text);
  if ("fault" in words) throw pythonException("ValueError", words.fault);
  return [...words];
}
