/** Removes the files below a directory and keeps the directories, as Salt clears a cache. Removes links without following them. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ModuleLog } from "../../functions/module-contract.ts";
import { isFileError } from "./file-error.ts";

/** @returns false if a file could not be removed, which is logged */
export function clearDirectory(directory: string, log: ModuleLog): boolean {
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
      if (!entry.isDirectory()) rmSync(join(entry.parentPath, entry.name), { force: true });
    }
    return true;
  } catch (error) {
    if (!isFileError(error)) throw error;
    if (error.code === "ENOENT") return true;
    log.error(`The cache could not be cleared: ${error.message}`);
    return false;
  }
}
