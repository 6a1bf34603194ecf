/** `file.find`: finds the entries below a path that meet all conditions, up to `foundFilesMax`. Source: Salt 3007's `salt.utils.find`. */

import { type Dirent, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { foundFilesMax } from "../../../limits.ts";
import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { commandError, invocationError } from "../../functions/errors.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { isFileError } from "../machine/file-error.ts";

export type FindOptions = {
  readonly matches: (name: string, kind: string) => boolean;
  readonly depthMin: number;
  readonly depthMax: number;
};

/** Salt's letter for the kind of an entry. */
function kindOf(
  entry: Pick<Dirent, "isDirectory" | "isSymbolicLink" | "isFIFO" | "isSocket" | "isBlockDevice" | "isCharacterDevice">,
): string {
  if (entry.isDirectory()) return "d";
  if (entry.isSymbolicLink()) return "l";
  if (entry.isFIFO()) return "p";
  if (entry.isSocket()) return "s";
  if (entry.isBlockDevice()) return "b";
  return entry.isCharacterDevice() ? "c" : "f";
}

/** @throws SaltworksError with the name of an unknown condition */
export function findOptions(words: readonly Value[], keywords: ValueMap): FindOptions {
  if (words.length > 0) throw invocationError("file.find takes its conditions by name");
  const tests: ((name: string, kind: string) => boolean)[] = [];
  let depthMin = 0;
  let depthMax = Number.POSITIVE_INFINITY;
  for (const [key, value] of keywords) {
    const text = strOf(value);
    if (key === "name" || key === "iname") {
      const isFolded = key === "iname";
      const glob = compileGlob(isFolded ? text.toLowerCase() : text);
      tests.push((name) => glob.matches(isFolded ? name.toLowerCase() : name));
    } else if (key === "type") tests.push((_, kind) => text.includes(kind));
    else if (key === "mindepth") depthMin = wholeNumber(value);
    else if (key === "maxdepth") depthMax = wholeNumber(value);
    else throw commandError(`file.find: the condition ${strOf(key)}= is not supported by this minion`);
  }
  return { matches: (name, kind) => tests.every((test) => test(name, kind)), depthMin, depthMax };
}

/** Sorted paths; none if `path` does not exist. @throws SaltworksError FUNCTION_FAILED above `foundFilesMax` */
export function findFiles(path: string, options: FindOptions): string[] {
  const top = statSync(path, { throwIfNoEntry: false });
  if (top === undefined) return [];
  const found: string[] = [];
  const keep = (file: string, kind: string, depth: number) => {
    if (depth >= options.depthMin && options.matches(basename(file), kind)) found.push(file);
    if (found.length > foundFilesMax) throw commandError(`file.find: more than ${foundFilesMax} files`);
  };
  keep(path, kindOf(top), 0);
  const waiting: [string, number][] = top.isDirectory() ? [[path, 1]] : [];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [directory, depth] = next;
    if (depth > options.depthMax) continue;
    for (const entry of entriesOf(directory)) {
      const file = join(directory, entry.name);
      keep(file, kindOf(entry), depth);
      if (entry.isDirectory()) waiting.push([file, depth + 1]);
    }
  }
  return found.sort();
}

/** Empty for a directory that cannot be read, because `find` skips it. */
function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}
