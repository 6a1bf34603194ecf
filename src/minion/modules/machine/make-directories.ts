/** Makes a directory and those above it, one after the other: Node's own way never ends where the kernel refuses, as in /proc. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isDirectory } from "../../../config/files/kinds.ts";
import { isFileError } from "./file-error.ts";

/** One that is there, or a link to one, stays. Errors of the file system are thrown. */
export function makeDirectories(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectories(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFileError(error) || error.code !== "EEXIST" || !isDirectory(path)) throw error;
  }
}
