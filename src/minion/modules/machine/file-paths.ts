/** Reads the path arguments of `file` functions, and turns the system's errors into Python's. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { strOf } from "../../../python/repr.ts";
import type { Value } from "../../../wire/values.ts";
import { commandError, invocationError, pythonException } from "../../functions/errors.ts";
import { isFileError } from "./file-error.ts";

/** Replaces `~` in `~` and `~/x` by the home directory. */
export function expandedPath(value: Value): string {
  const path = strOf(value);
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

/** @throws SaltworksError FUNCTION_ARGUMENTS if the path is not absolute */
export function absolutePath(value: Value, complaint: (path: string) => string): string {
  const path = expandedPath(value);
  if (!isAbsolute(path)) throw invocationError(complaint(path));
  return path;
}

/** Python's texts for frequent errors. Other errors keep the system's text. */
const texts: { readonly [code: string]: readonly [number: number, name: string, text: string] } = {
  EPERM: [1, "PermissionError", "Operation not permitted"],
  ENOENT: [2, "FileNotFoundError", "No such file or directory"],
  EACCES: [13, "PermissionError", "Permission denied"],
  EEXIST: [17, "FileExistsError", "File exists"],
  ENOTDIR: [20, "NotADirectoryError", "Not a directory"],
  EISDIR: [21, "IsADirectoryError", "Is a directory"],
  ENOSPC: [28, "OSError", "No space left on device"],
  EROFS: [30, "OSError", "Read-only file system"],
  ENOTEMPTY: [39, "OSError", "Directory not empty"],
};

/** Throws errors of the system in the form of Python's exceptions. */
export function asPython<Result>(path: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!isFileError(error)) throw error;
    const [number, name, text] = texts[error.code ?? ""] ?? [error.errno ?? 0, "OSError", error.message];
    throw pythonException(name, `[Errno ${number}] ${text}: '${path}'`);
  }
}

/** Throws errors of the system as command errors with Python's texts. */
export function asCommandError<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw commandError(texts[error.code ?? ""]?.[2] ?? error.message);
  }
}
