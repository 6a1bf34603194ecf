/** How functions of `file` change what stands in a file: what they show of it, what they keep beside it, and whose it stays. */

import { isUtf8 } from "node:buffer";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hasCode, type SaltworksError } from "../../../errors.ts";
import { unifiedLines } from "../../../python/difflib.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError, invocationError, pythonException } from "../../functions/errors.ts";
import { isFileError } from "../machine/file-error.ts";
import { asPython, expandedPath } from "../machine/file-paths.ts";

/** How much of a file tells whether it is text. */
const lookBytes = 512;
const textBytes = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d, ...Array.from({ length: 95 }, (_, index) => 0x20 + index)]);

/** The file itself, where the path leads over links; the path as it would be where there is nothing. */
export function realPath(value: Value): string {
  const path = expandedPath(value);
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * What stands in a file that is text, as bytes, one a character: whatever is not changed stays as it is.
 *
 * @throws SaltworksError FUNCTION_ARGUMENTS for a binary file, FUNCTION_FAILED for one that cannot be read
 */
export function readEditable(path: string): string {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw commandError(`Unable to open file '${path}'. Exception: ${error.message}`);
  }
  if (isBinary(content.subarray(0, lookBytes)))
    throw invocationError(`Cannot perform string replacements on a binary file: ${path}`);
  return content.toString("latin1");
}

/** @throws SaltworksError FUNCTION_FAILED for one that cannot be read or is not UTF-8 */
export function readTextFile(path: string): string {
  const content = asPython(path, () => readFileSync(path));
  if (isUtf8(content)) return content.toString("utf8");
  throw pythonException("UnicodeDecodeError", `'utf-8' codec can't decode all of '${path}'`);
}

/** Salt's guess: a zero byte, or more than three tenths that no text has. */
function isBinary(block: Buffer): boolean {
  if (block.length === 0) return false;
  if (block.includes(0)) return true;
  const decoded = new TextDecoder("utf-8", { fatal: true });
  let isDecoded = true;
  try {
    // As part of a stream: a character that is cut at the end is none that is wrong.
    decoded.decode(block, { stream: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    isDecoded = false;
  }
  const strange = block.filter((byte) => !textBytes.has(byte) && !(isDecoded && byte >= 0x80 && byte < 0xff));
  return strange.length / block.length > 0.3;
}

/** Bytes, one a character, of a text; and back. */
export function asBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Lines with their ends, as Python's `splitlines(True)` on bytes. */
export function linesWithEnds(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+/g) ?? [];
}

/** The unified diff that Salt shows. Lines are bytes, one a character. */
export function shownDiff(before: readonly string[], after: readonly string[]): string {
  const lines = unifiedLines(before, after, { from: "", to: "", contextLines: 3, lineEnd: "\n" });
  return Buffer.from(lines.join(""), "latin1").toString("utf8");
}

export type EditOptions = {
  /** The ending of the copy that is kept; none where Python takes it for false. */
  readonly backup: Value;
  /** The file keeps its inode, and with it its other names; else these stay with the copy. */
  readonly preservesInode: boolean;
  /** The path as it was given, where that is a link: then the copy gets a link, too. */
  readonly link?: string;
};

/** Puts `content` in place of what stands in the file; owner and mode stay. @throws SaltworksError FUNCTION_FAILED */
export function writeEdited(path: string, content: string, { backup, preservesInode, link }: EditOptions): void {
  const kept = isTrue(backup) ? `${path}${strOf(backup)}` : undefined;
  try {
    if (preservesInode) {
      if (kept !== undefined) copyWithTimes(path, kept);
      writeFileSync(path, content, "latin1");
    } else replaceFile(path, content, kept);
    if (link !== undefined && kept !== undefined) linkBackup(link, strOf(backup));
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw commandError(`Unable to write file '${path}'. Exception: ${error.message}`);
  }
}

export function copyWithTimes(from: string, to: string): void {
  const { mode, atime, mtime } = statSync(from);
  copyFileSync(from, to);
  chmodSync(to, mode);
  utimesSync(to, atime, mtime);
}

/** A new file under the old name, whole or not at all. `kept`: the name that the old one gets. */
export function replaceFile(path: string, content: string, kept?: string): void {
  const { mode, uid, gid } = statSync(path);
  const next = `${path}.saltworks-${process.pid}`;
  try {
    writeFileSync(next, content, { encoding: "latin1", flag: "wx", mode: 0o600 });
    chownSync(next, uid, gid);
    chmodSync(next, mode);
    if (kept !== undefined) renameSync(path, kept);
    renameSync(next, path);
  } finally {
    rmSync(next, { force: true });
  }
}

function linkBackup(link: string, ending: string): void {
  const place = `${link}${ending}`;
  rmSync(place, { force: true });
  symlinkSync(`${readlinkSync(link)}${ending}`, place);
}

/** Runs it; a pattern that Python refuses is Python's exception, one that only this program refuses says so. */
export function withPattern<Result>(use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    const { message, detail } = error as SaltworksError;
    if (detail.isRefused === true) throw commandError(message);
    throw pythonException("re.error", withoutPrefix(message));
  }
}

/** Python's words alone. */
export function withoutPrefix(message: string): string {
  return message.replace(/^(?:regular expression|replacement) invalid: /, "");
}
