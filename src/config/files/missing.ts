/** Reading files and directories that need not be there. Any other failure is thrown. */
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

/** Names of a directory's entries; none if there is no such directory. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** What stands in a directory; nothing in one that is not there. @throws what the file system refuses otherwise */
export function entriesIfThere(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
