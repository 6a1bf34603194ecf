/**
 * Reads the function word and its arguments: one function, or several with arguments each.
 * Source: docs/compatibility.md, "Recorded command lines".
 */
import type { Value } from "../../wire/values.ts";
import { parseArguments, type WordOptions } from "./words.ts";

/** Exit code of Salt's CLI if the number of argument lists differs from the number of functions. */
export const wordsExitCode = 42;

/** `fun` and `arg` of a publish. Several functions have one list of arguments each. */
export type Call =
  | { readonly ok: true; readonly fun: string; readonly arg: Value[] }
  | { readonly ok: true; readonly fun: string[]; readonly arg: Value[][] };
type Misfit = { readonly ok: false; readonly message: string; readonly exitCode: typeof wordsExitCode };

/** A comma in `functionWord` separates functions. `separator` is the word between the arguments of two functions. */
export function parseFunctions(
  functionWord: string,
  words: readonly string[],
  separator = ",",
  options: WordOptions = {},
): Call | Misfit {
  if (!functionWord.includes(",")) return { ok: true, fun: functionWord, arg: parseArguments(words, options) };
  const functions = functionWord.split(",");
  const groups = groupWords(words, separator, functions.length);
  if (groups.length < functions.length)
    return misfit("Cannot execute compound command without defining all arguments.");
  if (groups.length > functions.length)
    return misfit("Cannot execute compound command with more arguments than commands.");
  return { ok: true, fun: functions, arg: groups.map((group) => parseArguments(group, options)) };
}

function misfit(message: string): Misfit {
  return { ok: false, message, exitCode: wordsExitCode };
}

/** Splits at words that are separators, if their number fits `groupCount`. Otherwise also at separators inside words. */
function groupWords(words: readonly string[], separator: string, groupCount: number): string[][] {
  const isAlone = words.filter((word) => word === separator).length === groupCount - 1;
  let group: string[] = [];
  const groups = [group];
  for (const word of words) {
    if (isAlone && word !== separator) {
      group.push(word);
      continue;
    }
    const [first = "", ...rest] = word.split(separator);
    if (first !== "") group.push(first);
    for (const part of rest) {
      group = part === "" ? [] : [part];
      groups.push(group);
    }
  }
  return groups;
}
