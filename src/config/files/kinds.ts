/** Whether a path leads to a file or to a directory. Follows links; a missing path is neither. */
import { type Stats, statSync } from "node:fs";

/** @returns undefined if the path leads to nothing. @throws other errors of the file system */
export function statIfThere(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

export function isFile(path: string): boolean {
  return statIfThere(path)?.isFile() === true;
}

export function isDirectory(path: string): boolean {
  return statIfThere(path)?.isDirectory() === true;
}
