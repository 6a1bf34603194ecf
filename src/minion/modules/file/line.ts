/** `file.line`: inserts, replaces or deletes one line. Source: Salt 3007's `file`, including its surprising rules. */

import { isFile } from "../../../config/files/kinds.ts";
import { hasCode } from "../../../errors.ts";
import { PythonSearch } from "../../../python/regex/search.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { asPython } from "../machine/file-paths.ts";
import {
  asBytes,
  copyWithTimes,
  linesWithEnds,
  readTextFile,
  realPath,
  replaceFile,
  shownDiff,
  withoutPrefix,
} from "./edit.ts";

export const fileLineFunctions: ModuleFunctions = {
  "file.line": {
    ...signature(
      "path, content=None, match=None, mode=None, location=None, before=None, after=None, show_changes=True, backup=False, quiet=False, indent=True",
    ),
    doc: describe(
      "Ensures, inserts, replaces or deletes one line of a file, and returns the difference that this makes.",
      "file.line /etc/nsswitch.conf 'networks:\\tfiles dns' after='hosts:.*?' mode='ensure'",
    ),
    run: (context, args) => line(context, args),
  },
};

type Edit = {
  readonly mode: string;
  readonly content: string;
  readonly location: string | undefined;
  readonly isIndented: boolean;
  /** Lines that match each expression; undefined if the call does not have the expression. */
  readonly match: readonly string[] | undefined;
  readonly before: readonly string[] | undefined;
  readonly after: readonly string[] | undefined;
};

const modes = ["insert", "ensure", "delete", "replace"];

function line(context: CallContext, args: BoundArguments): string | boolean {
  const path = realPath(argument(args, "path"));
  if (!isFile(path)) {
    if (isTrue(argument(args, "quiet"))) return false;
    throw commandError(`File "${path}" does not exists or is not a file.`);
  }
  const mode = modeOf(argument(args, "mode"));
  if (mode !== "delete" && argument(args, "content") === null)
    throw commandError('Content can only be empty if mode is "delete"');
  const text = readTextFile(path);
  const old = linesWithEnds(text);
  // During the edit a file that ends with a line end has an empty last line.
  const start = endOf(old.at(-1) ?? "") === "" ? old : [...old, ""];
  if (start.length === 0 && (mode === "delete" || mode === "replace"))
    context.log.warn(`Cannot find text to ${mode}. File '${path}' is empty.`);
  const lines = withEnds(editLines(start, editOf(args, mode, start)));
  if (lines.join("") === text) return false;
  if (context.config.opts.get("test") !== true) {
    if (isTrue(argument(args, "backup")))
      asPython(path, () => copyWithTimes(path, `${path}.${timeEnding(new Date())}`));
    asPython(path, () => replaceFile(path, asBytes(lines.join(""))));
  }
  return isTrue(argument(args, "show_changes")) ? shownDiff(old.map(asBytes), lines.map(asBytes)) : true;
}

/** @throws SaltworksError FUNCTION_FAILED */
function modeOf(given: Value): string {
  if (given === null) throw commandError("Mode was not defined. How to process the file?");
  const mode = strOf(given).toLowerCase();
  if (!modes.includes(mode)) throw commandError(`Unknown mode: "${mode}"`);
  return mode;
}

function editOf(args: BoundArguments, mode: string, lines: readonly string[]): Edit {
  const content = argument(args, "content");
  const [before, after] = [argument(args, "before"), argument(args, "after")];
  const match = argument(args, "match");
  const isByContent = before === null && after === null && !isTrue(match);
  const location = argument(args, "location");
  return {
    mode,
    content: content === null ? "" : strOf(content),
    location: location === null ? undefined : strOf(location),
    isIndented: isTrue(argument(args, "indent")),
    match: meantLines(lines, isByContent ? content : match),
    before: meantLines(lines, before),
    after: meantLines(lines, after),
  };
}

/** Lines that match the expression, or contain it as text. */
function meantLines(lines: readonly string[], given: Value): readonly string[] | undefined {
  if (lines.length === 0 || !isTrue(given)) return undefined;
  const regex = strOf(given);
  let search: PythonSearch;
  try {
    search = new PythonSearch(regex, { letters: "s" });
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    throw commandError(`${withoutPrefix((error as Error).message)}: '${regex}'`);
  }
  return lines.filter((text) => search.isIn(text) || text.includes(regex));
}

function editLines(lines: readonly string[], edit: Edit): string[] {
  const { mode, content, match } = edit;
  const first = match?.[0];
  if (mode === "insert") return edit.location === undefined ? insertBetween(lines, edit) : insertAt(lines, edit);
  if (mode === "ensure") return ensure(lines, edit);
  if (first === undefined) return [...lines];
  if (mode === "delete") return lines.filter((text) => text !== first);
  return lines.with(lines.indexOf(first), indented(first, content, edit));
}

function insertAt(lines: readonly string[], edit: Edit): string[] {
  const { content, location } = edit;
  const [first, last] = [lines[0], lines.at(-1)];
  if (location === "end") return [...lines, last === undefined ? content : indented(last, content, edit)];
  if (location !== "start") return [...lines];
  return first === undefined ? [`${content}\n`] : [withEndOf(first, content), ...lines];
}

function insertBetween(lines: readonly string[], edit: Edit): string[] {
  const { content, before, after } = edit;
  if (before === undefined && after === undefined)
    throw commandError('On insert either "location" or "before/after" conditions are required.');
  if (isFound(before) && isFound(after)) {
    const last = onlyPlace(lines, before, "before");
    onlyPlace(lines, after, "after");
    return put(lines, last, indented(lines[last] ?? "", content, edit));
  }
  if (isFound(after)) return putAfter(lines, after, edit);
  if (!isFound(before)) throw commandError("Neither before or after was found in file");
  const place = onlyPlace(lines, before, "before");
  if (isSameLine(lines.at(place - 1), content)) return [...lines];
  return put(lines, place, indented(lines[place] ?? "", content, edit));
}

function ensure(lines: readonly string[], edit: Edit): string[] {
  const { content, before, after } = edit;
  if (isFound(before) && isFound(after)) return ensureBetween(lines, before, after, edit);
  if (isFound(before)) {
    const place = onlyPlace(lines, before, "before");
    if (place > 0 && isSameLine(lines[place - 1], content)) return [...lines];
    return put(lines, place, indented(lines.at(place - 1) ?? "", content, edit));
  }
  if (isFound(after)) return putAfter(lines, after, edit);
  throw commandError("Wrong conditions? Unable to ensure line without knowing where to put it before and/or after.");
}

function ensureBetween(
  lines: readonly string[],
  before: readonly string[],
  after: readonly string[],
  edit: Edit,
): string[] {
  const start = onlyPlace(lines, after, "after");
  const end = onlyPlace(lines, before, "before");
  if (lines.some((text) => text.trimStart() === edit.content)) return [...lines];
  const next = indented(lines[start] ?? "", edit.content, edit);
  if (start + 1 === end) return put(lines, end, next);
  if (start + 2 === end) return lines.with(start + 1, next);
  throw commandError('Found more than one line between boundaries "before" and "after".');
}

function putAfter(lines: readonly string[], after: readonly string[], edit: Edit): string[] {
  const place = onlyPlace(lines, after, "after");
  if (isSameLine(lines[place + 1], edit.content)) return [...lines];
  return put(lines, place + 1, indented(lines[place] ?? "", edit.content, edit));
}

function isFound(meant: readonly string[] | undefined): meant is readonly string[] {
  return meant !== undefined && meant.length > 0;
}

/** @throws SaltworksError FUNCTION_FAILED if several lines match */
function onlyPlace(lines: readonly string[], meant: readonly string[], name: string): number {
  if (meant.length > 1) throw commandError(`Found more than expected occurrences in "${name}" expression`);
  return lines.indexOf(meant[0] ?? "");
}

function put(lines: readonly string[], place: number, content: string): string[] {
  return [...lines.slice(0, place), content, ...lines.slice(place)];
}

function isSameLine(text: string | undefined, content: string): boolean {
  return text !== undefined && withoutEnd(text) === withoutEnd(content);
}

function withoutEnd(text: string): string {
  return text.replace(/[\r\n]+$/, "");
}

function indented(model: string, content: string, { isIndented }: Edit): string {
  return isIndented ? (/^[\t ]*/.exec(model)?.[0] ?? "") + content.trimStart() : content;
}

function endOf(text: string): string {
  return /(?:\r\n|\n|\r)$/.exec(text)?.[0] ?? "";
}

function withEndOf(model: string, text: string): string {
  return text.trimEnd() + (endOf(model) || "\n");
}

/** Adds missing line ends to all lines but the last; copies them from the line before. */
function withEnds(lines: readonly string[]): string[] {
  const whole = [...lines];
  for (let index = 0; index + 1 < whole.length; index += 1) {
    const text = whole[index] ?? "";
    if (endOf(text) === "") whole[index] = withEndOf(whole[index < 2 ? 1 : index - 1] ?? "", text);
  }
  if (whole.at(-1) === "") whole.pop();
  return whole;
}

/** Local time, `2026-11-22-05-08-59`. */
function timeEnding(time: Date): string {
  const parts = [time.getMonth() + 1, time.getDate(), time.getHours(), time.getMinutes(), time.getSeconds()];
  return [time.getFullYear(), ...parts.map((part) => String(part).padStart(2, "0"))].join("-");
}
