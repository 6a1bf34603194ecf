/** Whether a path leads to a file or to a directory. Follows links; a missing path is neither. */
import { statSync } from "node:fs";

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
