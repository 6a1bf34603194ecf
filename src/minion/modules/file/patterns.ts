/** The functions of `file` that search and replace with Python's regular expressions. Source: Salt 3007's `file`, docs/functions.md. */

import { existsSync, lstatSync, readFileSync } from "node:fs";
import { isFile } from "../../../config/files/kinds.ts";
import { escapePattern, PythonSearch } from "../../../python/regex/search.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError, invocationError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments } from "../../functions/module-contract.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { expandedPath } from "../machine/file-paths.ts";
import { asBytes, linesWithEnds, readEditable, realPath, shownDiff, withPattern, writeEdited } from "./edit.ts";

export const filePatternFunctions: ModuleFunctions = {
  "file.replace": {
    ...signature(
      "path, pattern, repl, count=0, flags=8, bufsize=1, append_if_not_found=False, prepend_if_not_found=False, not_found_content=None, backup='.bak', dry_run=False, search_only=False, show_changes=True, ignore_if_missing=False, preserve_inode=True, backslash_literal=False, encoding=None",
    ),
    doc: describe(
      "Replaces what a regular expression matches in a file, and returns the difference that this makes.",
      "file.replace /etc/httpd/httpd.conf pattern='LogLevel warn' repl='LogLevel info'",
      "file.replace /some/file pattern='before' repl='after' flags='[MULTILINE, IGNORECASE]'",
    ),
    run: (_, args) => replace(args),
  },
  "file.search": {
    ...signature("path, pattern, flags=8, bufsize=1, ignore_if_missing=False, multiline=False"),
    doc: describe("Whether a regular expression matches in a file.", "file.search /etc/crontab 'mymaintenance.sh'"),
    run: (_, args) => {
      const path = presentFile(args);
      if (path === undefined) return false;
      const letters = flagLetters(argument(args, "flags")) + (isTrue(argument(args, "multiline")) ? "m" : "");
      return withPattern(() => byteSearch(strOf(argument(args, "pattern")), letters).isIn(readEditable(path)));
    },
  },
  "file.contains_regex": {
    ...signature("path, regex, lchar=''"),
    doc: describe(
      "Whether a regular expression matches in a line of a file.",
      "file.contains_regex /etc/crontab '^@reboot'",
    ),
    run: (_, args) => containsRegex(args),
  },
  "file.comment": commenting("regex", "Puts a mark before the lines that a regular expression matches.", true),
  "file.uncomment": commenting(
    "regex",
    "Removes the mark from the lines that a regular expression matches without it.",
    false,
  ),
  "file.comment_line": {
    ...signature("path, regex, char='#', cmnt=True, backup='.bak'"),
    doc: describe(
      "Puts a mark before the lines that a regular expression matches or, with `cmnt=False`, removes it.",
      "file.comment_line /etc/modules '^pcspkr'",
    ),
    run: (_, args) => commentLines(args, isTrue(argument(args, "cmnt"))),
  },
};

function commenting(pattern: string, text: string, isCommenting: boolean): ModuleFunctions[string] {
  return {
    ...signature(`path, ${pattern}, char='#', backup='.bak'`),
    doc: describe(text, `file.${isCommenting ? "comment" : "uncomment"} /etc/modules pcspkr`),
    run: (_, args) => commentLines(args, isCommenting),
  };
}

function byteSearch(pattern: string, letters: string): PythonSearch {
  return new PythonSearch(asBytes(pattern), { letters, isBytes: true });
}

/** Python's flags by their long and short names, and by number. */
const flagBits: readonly (readonly [bit: number, letter: string, ...names: string[]])[] = [
  [2, "i", "IGNORECASE", "I"],
  [8, "m", "MULTILINE", "M"],
  [16, "s", "DOTALL", "S"],
  [64, "x", "VERBOSE", "X"],
  [256, "a", "ASCII", "A"],
];

/** The flags as letters of `(?im)`. @throws SaltworksError FUNCTION_FAILED for an unknown flag, or one that bytes patterns do not take */
function flagLetters(flags: Value): string {
  const number = typeof flags === "boolean" ? undefined : numberOf(flags);
  if (number !== undefined) {
    const known = flagBits.filter(([bit]) => (number & bit) !== 0);
    const rest = number & ~known.reduce((sum, [bit]) => sum | bit, 0);
    if (rest === 32) throw pythonException("ValueError", "cannot use UNICODE flag with a bytes pattern");
    if (rest !== 0) throw commandError(`flags=${number}: the flag ${rest} is not supported by this minion`);
    return known.map(([, letter]) => letter).join("");
  }
  const names = typeof flags === "string" ? [flags] : flags;
  if (!Array.isArray(names)) {
    throw commandError(
      `Invalid re flags: "${strOf(flags)}", must be given either as a single flag string, a list of strings, as an integer, or as an re flag`,
    );
  }
  return names.map((name) => letterOf(strOf(name))).join("");
}

function letterOf(name: string): string {
  const upper = name.toUpperCase();
  if (upper === "U" || upper === "UNICODE")
    throw pythonException("ValueError", "cannot use UNICODE flag with a bytes pattern");
  const found = flagBits.find(([, , ...names]) => names.includes(upper));
  if (found === undefined) throw commandError(`Invalid re flag given: ${name}`);
  return found[1];
}

/** The path; undefined if the file is missing and `ignore_if_missing` is set. @throws SaltworksError FUNCTION_ARGUMENTS if it is missing */
function presentFile(args: BoundArguments): string | undefined {
  const path = realPath(argument(args, "path"));
  if (existsSync(path)) return path;
  if (isTrue(argument(args, "ignore_if_missing"))) return undefined;
  throw invocationError(`File not found: ${path}`);
}

function replace(args: BoundArguments): string | boolean {
  const path = presentFile(args);
  if (path === undefined) return false;
  if (argument(args, "encoding") !== null) throw commandError("encoding= is not supported by this minion");
  const before = readEditable(path);
  const isSearch = isTrue(argument(args, "search_only"));
  const [isAppended, isPrepended] = ["append_if_not_found", "prepend_if_not_found"].map((name) =>
    isTrue(argument(args, name)),
  );
  if (isSearch && (isAppended || isPrepended))
    throw invocationError("search_only cannot be used with append/prepend_if_not_found");
  if (isAppended && isPrepended) throw invocationError("Only one of append and prepend_if_not_found is permitted");
  const letters = flagLetters(argument(args, "flags"));
  const search = withPattern(() => byteSearch(strOf(argument(args, "pattern")), letters));
  if (isSearch) return search.isIn(before);
  const repl = strOf(argument(args, "repl"));
  const replacement = asBytes(isTrue(argument(args, "backslash_literal")) ? repl.replaceAll("\\", "\\\\") : repl);
  const countMax = Math.max(0, wholeNumber(argument(args, "count")));
  const replaced = withPattern(() => search.replace(before, replacement, countMax));
  const lines = linesWithEnds(replaced.text);
  if (replaced.count === 0 && (isAppended || isPrepended))
    addIfMissing(args, before, lines, letters, isAppended === true);
  const after = lines.join("");
  if (after !== before && !isTrue(argument(args, "dry_run"))) {
    writeEdited(path, after, {
      backup: argument(args, "backup"),
      preservesInode: isTrue(argument(args, "preserve_inode")),
      ...linkOf(argument(args, "path")),
    });
  }
  return isTrue(argument(args, "show_changes")) ? shownDiff(linesWithEnds(before), lines) : after !== before;
}

/** Adds `not_found_content`, else the replacement, as a separate line, unless the file already has that line. */
function addIfMissing(args: BoundArguments, before: string, lines: string[], letters: string, isAtEnd: boolean): void {
  const given = argument(args, "not_found_content");
  const repl = argument(args, "repl");
  const sought = escapePattern(strOf(isTrue(given) ? given : repl));
  if (byteSearch(`^${sought}($|(?=\\r\\n))`, letters).isIn(before)) return;
  const line = `${asBytes(strOf(given === null ? repl : given))}\n`;
  if (!isAtEnd) {
    lines.unshift(line);
    return;
  }
  const last = lines.at(-1);
  if (last !== undefined && !last.endsWith("\n")) lines.splice(-1, 1, `${last}\n`);
  lines.push(line);
}

function linkOf(value: Value): { readonly link?: string } {
  const path = expandedPath(value);
  return lstatSync(path).isSymbolicLink() ? { link: path } : {};
}

function containsRegex(args: BoundArguments): boolean {
  const path = expandedPath(argument(args, "path"));
  const mark = strOf(argument(args, "lchar"));
  const search = withPattern(() => new PythonSearch(strOf(argument(args, "regex"))));
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (isFileError(error)) return false;
    throw error;
  }
  return linesWithEnds(text).some((line) => search.isIn(withoutStart(line, mark)));
}

/** Python's `lstrip(characters)`. */
function withoutStart(line: string, characters: string): string {
  let at = 0;
  while (at < line.length && characters.includes(line.charAt(at))) at += 1;
  return line.slice(at);
}

/** The difference in the changed lines, as Salt shows it; False if no line matches. */
function commentLines(args: BoundArguments, isCommenting: boolean): string | boolean {
  const path = realPath(argument(args, "path"));
  const mark = asBytes(strOf(argument(args, "char")));
  const regex = strOf(argument(args, "regex"));
  const end = regex.endsWith("$") ? "$" : "";
  const inner = regex.replace(/^\^+/, "").replace(/\$+$/, "");
  const start = isCommenting ? (regex.startsWith("^") ? "^" : "") : `^${strOf(argument(args, "char"))}\\s*`;
  if (!isFile(path)) throw invocationError(`File not found: ${path}`);
  const lines = readEditable(path).match(/[^\n]*\n|[^\n]+/g) ?? [];
  const search = withPattern(() => new PythonSearch(`${start}(${inner})${end}`));
  const isMeant = (line: string) => search.findAtStart(Buffer.from(line, "latin1").toString("utf8")) !== undefined;
  const meant = new Set(lines.filter(isMeant));
  if (meant.size === 0) return false;
  const changed = (line: string) => (isCommenting ? `${mark}${line}` : withoutStart(line, mark));
  const after = lines.map((line) => (meant.has(line) ? changed(line) : line));
  writeEdited(path, after.join(""), { backup: argument(args, "backup"), preservesInode: false });
  const old = lines.filter((line) => meant.has(line));
  return shownDiff(old, old.map(changed));
}
