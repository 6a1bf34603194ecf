/** `cp.recv` and `cp.recv_chunked`: write the files that a job carries, as `salt-cp` sends them. Source: Salt 3007's `cp`, docs/functions.md. */

import { chmodSync, closeSync, fstatSync, openSync, statSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { isDirectory } from "../../../config/files/kinds.ts";
import { copiedChunkBytesMax } from "../../../limits.ts";
import { baseName } from "../../../python/paths.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import { argumentError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { makeDirectories } from "../machine/make-directories.ts";

const fileMode = 0o666;

/**
 * Writes whole files, by their path on the master.
 *
 * @returns by path whether it was written, or Salt's text if the destination's directory does not exist
 */
export function receiveFiles(args: BoundArguments): string | Map<string, boolean> {
  const files = argument(args, "files");
  const destination = strOf(argument(args, "dest"));
  if (!(files instanceof Map)) throw argumentError("recv() takes a map of files by path");
  const written = new Map<string, boolean>();
  for (const [source, content] of files) {
    const name = baseName(strOf(source));
    const path = isDirectory(destination)
      ? join(destination, name)
      : name === baseName(destination) || isDirectory(dirname(destination))
        ? destination
        : undefined;
    if (path === undefined) return "Destination unavailable";
    const bytes = content instanceof Uint8Array ? content : Buffer.from(strOf(content));
    written.set(path, fault(() => write(path, "w", bytes)) === undefined);
  }
  return written;
}

/** Writes one piece of a file. The piece is Base64 and, with `compressed`, a whole gzip file. Without a piece, makes a directory. */
export function receiveChunk(context: CallContext, args: BoundArguments): string | boolean {
  const destination = strOf(argument(args, "dest"));
  const chunk = argument(args, "chunk");
  const failed = (text: string): string => {
    context.setRetcode(1);
    return text;
  };
  if (chunk === null) return makeDirectory(destination, failed);
  const bytes = decodeChunk(chunk, isTrue(argument(args, "compressed")));
  const isAppended = isTrue(argument(args, "append"));
  const flags = isAppended ? "a" : "w";
  let problem = fault(() => write(destination, flags, bytes));
  if (problem?.code === "ENOENT") {
    problem = fault(() => makeDirectories(dirname(destination))) ?? fault(() => write(destination, flags, bytes));
  }
  const mode = numberOf(argument(args, "mode"));
  if (problem === undefined && !isAppended && mode !== undefined) problem = fault(() => chmodSync(destination, mode));
  return problem === undefined ? true : failed(pythonErrorText(problem));
}

function makeDirectory(path: string, failed: (text: string) => string): string | boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return "Path exists and is a file";
  const problem = fault(() => makeDirectories(path));
  return problem === undefined ? true : failed(pythonErrorText(problem));
}

/** @throws SaltworksError FUNCTION_FAILED if it is not a gzip file, or has more than `copiedChunkBytesMax` bytes unpacked */
function decodeChunk(chunk: unknown, isCompressed: boolean): Buffer {
  const text = chunk instanceof Uint8Array ? Buffer.from(chunk).toString("latin1") : String(chunk);
  const bytes = Buffer.from(text, "base64");
  if (!isCompressed) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: copiedChunkBytesMax });
  } catch (error) {
    throw pythonException("BadGzipFile", error instanceof Error ? error.message : String(error));
  }
}

/** Writes regular files only, because device files and pipes at the path could block for ever. */
function write(path: string, flags: "w" | "a", bytes: Uint8Array): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isFile() && !stats.isDirectory()) throw notAFile(path);
  const file = openSync(path, flags, fileMode);
  try {
    if (!fstatSync(file).isFile()) throw notAFile(path);
    for (let offset = 0; offset < bytes.byteLength; ) offset += writeSync(file, bytes, offset);
  } finally {
    closeSync(file);
  }
}

function notAFile(path: string): NodeJS.ErrnoException {
  return Object.assign(new Error("not a file"), { code: "EINVAL", errno: -22, syscall: "open", path });
}

/** Runs a step and returns the file system's error, if it fails with one. */
function fault(step: () => void): NodeJS.ErrnoException | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    if (isFileError(error)) return error;
    throw error;
  }
}

const errorTexts: { readonly [code: string]: string } = {
  EACCES: "Permission denied",
  EEXIST: "File exists",
  EINVAL: "Invalid argument",
  EISDIR: "Is a directory",
  ENOENT: "No such file or directory",
  ENOSPC: "No space left on device",
  ENOTDIR: "Not a directory",
  EPERM: "Operation not permitted",
  EROFS: "Read-only file system",
};

/** The form in which Python writes an OSError. */
function pythonErrorText(error: NodeJS.ErrnoException): string {
  const code = error.code ?? "";
  const path = error.path === undefined ? "" : `: '${error.path}'`;
  return `[Errno ${Math.abs(error.errno ?? 0)}] ${errorTexts[code] ?? code}${path}`;
}
