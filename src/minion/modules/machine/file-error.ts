/** Reads files that may be missing or unreadable, for example those in /proc and /sys. */
import { readdirSync, readFileSync } from "node:fs";

/** Whether `error` is an error of the file system, for example ENOENT, EACCES or EISDIR. */
export function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && "syscall" in error;
}

/** The file's text, with bytes that are not UTF-8 replaced; undefined if it cannot be read. */
export function readTextIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

/** Names in a directory; empty if it cannot be read. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}
