/** Makes a directory and its parents one by one: Node's `recursive` option never ends where the kernel refuses, for example in /proc. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { isDirectory } from "../../../config/files/kinds.ts";
import { isFileError } from "./file-error.ts";

/** Leaves a directory, or a link to one, as it is. Throws errors of the file system. */
export function makeDirectories(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectories(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it in between.
    if (!isFileError(error) || error.code !== "EEXIST" || !isDirectory(path)) throw error;
  }
}
