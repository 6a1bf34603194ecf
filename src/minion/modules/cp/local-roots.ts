/**
 * Files of `file_roots` for a minion without a master (`file_client: local`), answered as by the master's file server.
 * Source: Salt 3007's `roots` backend.
 */

import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, type Stats, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { anyEnvironment, directoriesFor } from "../../../config/files/environment.ts";
import { isFile } from "../../../config/files/kinds.ts";
import type { MinionConfig } from "../../../config/schema.ts";
import { strOf } from "../../../python/repr.ts";
import { configToValue } from "../../functions/yaml-values.ts";
import { isFileError } from "../machine/file-error.ts";

export type LocalLists = {
  readonly files: readonly string[];
  readonly dirs: readonly string[];
  readonly emptyDirs: readonly string[];
  readonly links: ReadonlyMap<string, string>;
};

type Lists = { files: Set<string>; dirs: Set<string>; emptyDirs: Set<string>; links: Map<string, string> };
/** Bound of nested directories below a root. It ends loops of links. */
const directoryDepthMax = 32;
const readBytes = 256 * 1024;

export function localEnvironments(config: MinionConfig): string[] {
  return Object.keys(config.file_roots).sort();
}

/** The file in the first root that has it. Undefined for a name that leads out of the roots. */
export function findLocalFile(config: MinionConfig, path: string, environment: string): string | undefined {
  const inside = normalize(path);
  if (path.includes("\0") || path.startsWith("/") || path.split("/").includes("..")) return undefined;
  return rootsOf(config, environment)
    .map((root) => join(root, inside))
    .find(isFile);
}

/** The bytes from `start` on, at most `bytesMax`. */
export function readLocalPiece(file: string, start: number, bytesMax: number): Buffer {
  const handle = openSync(file, "r");
  try {
    const piece = Buffer.alloc(bytesMax);
    return piece.subarray(0, readSync(handle, piece, 0, bytesMax, start));
  } finally {
    closeSync(handle);
  }
}

/** The hash in hexadecimal. @throws the file system's error */
export function hashLocalFile(file: string, hashType: string): string {
  const hash = createHash(hashType);
  const handle = openSync(file, "r");
  try {
    const piece = Buffer.alloc(readBytes);
    for (;;) {
      const count = readSync(handle, piece, 0, readBytes, null);
      if (count === 0) return hash.digest("hex");
      hash.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(handle);
  }
}

export function localLists(config: MinionConfig, environment: string): LocalLists {
  const lists: Lists = { files: new Set(), dirs: new Set(), emptyDirs: new Set(), links: new Map() };
  for (const root of rootsOf(config, environment)) walk(root, "", 0, lists);
  const { files, dirs, emptyDirs, links } = lists;
  return { files: [...files].sort(), dirs: [...dirs].sort(), emptyDirs: [...emptyDirs].sort(), links };
}

function walk(root: string, prefix: string, depth: number, lists: Lists): void {
  if (depth > directoryDepthMax) return;
  for (const entry of namesAndKinds(join(root, prefix))) {
    const name = prefix + entry.name;
    const path = join(root, name);
    const stats = statIfAny(path);
    const isDirectory = stats?.isDirectory() === true;
    (isDirectory ? lists.dirs : lists.files).add(name);
    if (entry.isSymbolicLink()) lists.links.set(name, readlinkSync(path));
    if (!isDirectory) continue;
    if (namesAndKinds(path).length === 0) lists.emptyDirs.add(name);
    walk(root, `${name}/`, depth + 1, lists);
  }
}

/** As in Salt, a root that does not exist has no files. */
function namesAndKinds(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}

function statIfAny(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

/** Roots of an environment; if it has none, those of `__env__` with the environment's name in their paths. */
function rootsOf(config: MinionConfig, environment: string): readonly string[] {
  const isListed = Object.hasOwn(config.file_roots, environment);
  const roots = configToValue(config.file_roots[isListed ? environment : anyEnvironment] ?? []);
  if (!Array.isArray(roots)) return [];
  const directories = roots.map(strOf);
  return isListed ? directories : (directoriesFor(directories, environment) ?? []);
}

/** The content of a file of this machine; undefined if there is no readable file. */
export function readIfAny(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}
