/** Edits files for functions of `file`: makes the diff, keeps a backup copy, preserves owner and mode. */

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

/** How many bytes at the start of a file decide whether it is text. */
const lookBytes = 512;
const textBytes = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d, ...Array.from({ length: 95 }, (_, index) => 0x20 + index)]);

/** The path with all links resolved; unchanged if the file does not exist. */
export function realPath(value: Value): string {
  const path = expandedPath(value);
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * The content of a text file as bytes, one per character, so that an edit does not change other bytes.
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

/** @throws SaltworksError FUNCTION_FAILED if it cannot be read or is not UTF-8 */
export function readTextFile(path: string): string {
  const content = asPython(path, () => readFileSync(path));
  if (isUtf8(content)) return content.toString("utf8");
  throw pythonException("UnicodeDecodeError", `'utf-8' codec can't decode all of '${path}'`);
}

/** Salt's rule: a file is binary if its start has a zero byte, or more than 30 % bytes that do not occur in text. */
function isBinary(block: Buffer): boolean {
  if (block.length === 0) return false;
  if (block.includes(0)) return true;
  const decoded = new TextDecoder("utf-8", { fatal: true });
  let isDecoded = true;
  try {
    // `stream`: a character that is cut at the end is not an error.
    decoded.decode(block, { stream: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    isDecoded = false;
  }
  const strange = block.filter((byte) => !textBytes.has(byte) && !(isDecoded && byte >= 0x80 && byte < 0xff));
  return strange.length / block.length > 0.3;
}

/** The UTF-8 bytes of a text, one per character. */
export function asBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Lines with their ends, as Python's `splitlines(True)` on bytes. */
export function linesWithEnds(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+/g) ?? [];
}

/** The unified diff that Salt shows. Lines are bytes, one per character. */
export function shownDiff(before: readonly string[], after: readonly string[]): string {
  const lines = unifiedLines(before, after, { from: "", to: "", contextLines: 3, lineEnd: "\n" });
  return Buffer.from(lines.join(""), "latin1").toString("utf8");
}

export type EditOptions = {
  /** Suffix of the backup copy. Without a copy if the value is false in Python. */
  readonly backup: Value;
  /** Keeps the file's inode and so its hard links. Otherwise they link to the backup copy. */
  readonly preservesInode: boolean;
  /** The caller's path if it is a symbolic link. A link to the backup copy is then made beside it. */
  readonly link?: string;
};

/** Replaces the file's content. Owner and mode stay. @throws SaltworksError FUNCTION_FAILED */
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

/** Replaces the file by renaming a new one, so that readers never see half of it. `kept`: new name of the old file. */
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

/** Throws Python's exception for a pattern that Python rejects, and a command error for one that only this program rejects. */
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

/** Removes this program's prefix and leaves Python's message. */
export function withoutPrefix(message: string): string {
  return message.replace(/^(?:regular expression|replacement) invalid: /, "");
}
