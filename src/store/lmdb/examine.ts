/** Looks at LMDB's files before LMDB opens them. docs/decisions/0024-damaged-stores.md. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../disk/store-error.ts";
import { examineFile } from "./env.ts";
import { fillLockFile } from "./room.ts";

const dataSuffix = ".mdb";

/** Reads a file or directory. @throws SaltworksError STORE_FAILED if `path` cannot be read */
export function reading<Result>(path: string, step: () => Result): Result {
  return attempt(`${path} cannot be read`, step);
}

function dataFilesIn(directory: string): string[] {
  const names = reading(directory, () => (existsSync(directory) ? readdirSync(directory) : []));
  return names.filter((name) => name.endsWith(dataSuffix)).map((name) => join(directory, name));
}

/** Makes the lock files of a directory's data files as large as LMDB needs them. @throws SaltworksError STORE_FAILED */
export function fillLockFiles(directory: string): void {
  for (const file of dataFilesIn(directory)) reading(`${file}-lock`, () => fillLockFile(file));
}

/** @throws SaltworksError STORE_DAMAGED, STORE_FAILED if a data file in the directory cannot be read */
export function examineFiles(directory: string): void {
  for (const file of dataFilesIn(directory)) reading(file, () => examineFile(file));
}

export function isEmptyFile(file: string): boolean {
  const stats = reading(file, () => statSync(file, { throwIfNoEntry: false }));
  return stats?.isFile() === true && stats.size === 0;
}
