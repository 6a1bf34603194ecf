/** Writes the content of `file.managed`, and shows how it differs from the file that was there. */
import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { unifiedLines } from "../../python/difflib.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateResult } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";
import type { Content } from "./file-content.ts";
import { makeDirectories } from "./file-directory.ts";
import { modeText, type Permissions, setPermissions } from "./file-permissions.ts";

/** The mode of a new file before it gets its own. */
const privateMode = 0o600;
const newFileBits = 0o666;
const modeBits = 0o7777;

/** The difference from the file at the path, empty if there is none. */
export function shownDiff(path: string, wanted: Uint8Array): string {
  const before = readFileSync(path);
  if (before.equals(wanted)) return "";
  const [isText, willBeText] = [isTextual(before), isTextual(wanted)];
  if (!isText && !willBeText) return "Replace binary file";
  if (!isText) return "Replace binary file with text file";
  if (!willBeText) return "Replace text file with binary file";
  const form = { from: "", to: "", contextLines: 3, lineEnd: "\n" };
  const lines = unifiedLines(linesOf(before.toString("utf8")), linesOf(Buffer.from(wanted).toString("utf8")), form);
  return lines.join("");
}

function isTextual(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Lines with their line breaks. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

export function writeManaged(args: ValueMap, content: Content, wanted: Permissions, name: string): StateResult {
  const isNew = statSync(name, { throwIfNoEntry: false }) === undefined;
  const changes: ValueMap = new Map();
  try {
    if (isNew && statSync(dirname(name), { throwIfNoEntry: false })?.isDirectory() !== true) {
      if (!isTrue(args.get("makedirs") ?? false)) return stateResult(name, false, "Parent directory not present");
      makeDirectories(dirname(name), directoryPermissions(args, wanted));
    }
    if (content.bytes === undefined) return touched(name, wanted);
    const isShown = isTrue(args.get("show_changes") ?? true);
    const diff = isNew ? "New file" : shownDiff(name, content.bytes);
    if (diff !== "") changes.set("diff", isNew || isShown ? diff : "<show_changes=False>");
    // As in Salt, a new file's mode is a change if it comes from a source or is asked for and is not that of temporary files.
    const byDefault = (newFileBits & ~process.umask()).toString(8).padStart(4, "0");
    const mode = isNew ? (wanted.mode ?? byDefault) : wanted.mode;
    if (diff !== "") replace(name, content.bytes, isNew);
    const own = setPermissions(name, { ...wanted, mode });
    if (isNew && wanted.mode === undefined && !content.isOfSource) own.delete("mode");
    for (const [key, value] of own) changes.set(key, value as Value);
  } catch (error) {
    return stateResult(name, false, `Unable to manage file: ${(error as Error).message}`);
  }
  const comment = changes.size > 0 ? `File ${name} updated` : `File ${name} is in the correct state`;
  return stateResult(name, true, comment, changes);
}

function touched(name: string, wanted: Permissions): StateResult {
  writeFileSync(name, "", { flag: "a" });
  const changes = new Map<Value, Value>([["new", `file ${name} created`]]);
  for (const [key, value] of setPermissions(name, wanted)) changes.set(key, value);
  return stateResult(name, true, "Empty file", changes);
}

/** As in Salt, directories on the way are searchable where the file is readable, unless `dir_mode` says otherwise. */
function directoryPermissions(args: ValueMap, wanted: Permissions): Permissions {
  const written = modeText(args.get("dir_mode") ?? null);
  const derived = wanted.mode === undefined ? undefined : searchable(wanted.mode);
  return { ...wanted, mode: written ?? derived };
}

function searchable(mode: string): string {
  return mode.replace(/\d{3}$/, (digits) =>
    digits.replace(/\d/g, (digit) => String((Number(digit) & 4) === 4 ? Number(digit) | 1 : Number(digit))),
  );
}

/** Replaces the content at once. An existing file keeps its owner and mode, a link its target's place. */
function replace(name: string, bytes: Uint8Array, isNew: boolean): void {
  const path = isNew ? name : realpathSync(name);
  const temporary = `${path}.${randomBytes(6).toString("hex")}.part`;
  try {
    writeFileSync(temporary, bytes, { mode: privateMode, flag: "wx" });
    if (!isNew) {
      const { uid, gid, mode } = statSync(path);
      chownSync(temporary, uid, gid);
      chmodSync(temporary, mode & modeBits);
    }
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
