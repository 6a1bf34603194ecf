/** Reads files that may be absent or forbidden, as many sources of facts about a machine are. */
import { readdirSync, readFileSync } from "node:fs";

/** Whether `error` came from the file system: absent, forbidden, a directory, unreadable device and the like. */
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
