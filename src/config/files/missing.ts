/** Reads files and directories that may be missing. Throws any other failure. */
import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { hasCodeIn } from "./system-errors.ts";

/** @returns undefined if there is no such file */
export function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Names of a directory's entries; empty if the directory does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** Names of a directory's entries; empty if it cannot be read: a process ended meanwhile, or the system has no /proc. */
export function namesIfReadable(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Entries of a directory; empty if the directory does not exist. @throws other errors of the file system */
export function entriesIfThere(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
