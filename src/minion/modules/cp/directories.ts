/**
 * `cp.get_dir` and similar functions: several files of the master at a time, and lists of them.
 * Source: Salt 3007's `cp` and file client, docs/functions.md.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { compileGlob } from "../../../python/fnmatch.ts";
import { compilePythonPattern } from "../../../python/regex/match.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { Value } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { makeDirectories } from "../machine/make-directories.ts";
import { cached, copyMasterFile, copyPaths, levelOf } from "./files.ts";
import { environmentOf, masterFile, masterList, scheme } from "./master-file.ts";

/** @returns paths of the copies and of empty directories, sorted */
export async function getDirectory(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const { source, destination } = await copyPaths(context, args);
  const { path, environment } = masterFile(context, source.replace(/\/+$/, ""), argument(args, "saltenv"));
  const level = levelOf(args);
  const aboveLength = Math.max(0, path.lastIndexOf("/"));
  const target = (name: string) => `${destination}/${name.slice(aboveLength).replace(/^\/+/, "")}`;
  const copies: Value[] = [];
  for (const name of await masterList(context, "files", environment, path)) {
    if (!name.startsWith(`${path}/`)) continue;
    const copy = { destination: target(name), makesDirectories: true, level };
    copies.push(await copyMasterFile(context, scheme + name, environment, copy));
  }
  for (const name of await masterList(context, "emptyDirs", environment, path)) {
    if (!name.startsWith(`${path}/`)) continue;
    makeDirectories(target(name));
    copies.push(target(name));
  }
  return copies.sort((a, b) => (String(a) < String(b) ? -1 : 1));
}

/** @returns the path of each copy, False for a file that does not exist */
export async function cacheFiles(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const paths = argument(args, "paths");
  const sources = Array.isArray(paths) ? paths.map(strOf) : strOf(paths).split(",");
  return await cacheAll(context, sources, argument(args, "saltenv"));
}

export async function cacheMaster(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const environment = environmentOf(context, argument(args, "saltenv"));
  const names = await masterList(context, "files", environment);
  return await cacheAll(
    context,
    names.map((name) => scheme + name),
    environment,
  );
}

async function cacheAll(context: CallContext, sources: readonly string[], saltenv: Value): Promise<Value[]> {
  const copies: Value[] = [];
  for (const source of sources) copies.push(await cached(context, source, saltenv, null));
  return copies;
}

/** @returns paths of the copies, and with `include_empty` of empty directories */
export async function cacheDirectory(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const source = strOf(argument(args, "path"));
  const { path, environment } = masterFile(context, source.replace(/\/+$/, ""), argument(args, "saltenv"));
  const isWanted = choice(argument(args, "include_pat"), argument(args, "exclude_pat"));
  const isBelow = (name: string) => name.startsWith(`${path}/`);
  const names = (await masterList(context, "files", environment)).filter((name) => isBelow(name) && isWanted(name));
  const copies = (
    await cacheAll(
      context,
      names.map((name) => scheme + name),
      environment,
    )
  ).filter((copy) => copy !== false);
  if (!isTrue(argument(args, "include_empty"))) return copies;
  const root = join(context.config.cachedir, "files", environment);
  for (const name of (await masterList(context, "emptyDirs", environment)).filter(isBelow)) {
    const directory = join(root, name);
    makeDirectories(directory);
    copies.push(directory);
  }
  return copies;
}

/** Patterns are globs, or with `E@` regular expressions that match anywhere. A name matches a list if it matches one member. */
function choice(include: Value, exclude: Value): (name: string) => boolean {
  const [isIncluded, isExcluded] = [matcherOf(include), matcherOf(exclude)];
  return (name) => (isIncluded?.(name) ?? true) && !(isExcluded?.(name) ?? false);
}

function matcherOf(patterns: Value): ((name: string) => boolean) | undefined {
  if (!isTrue(patterns)) return undefined;
  const matchers = (Array.isArray(patterns) ? patterns : [patterns]).map((pattern) => {
    const text = strOf(pattern);
    if (!text.startsWith("E@")) {
      const glob = compileGlob(text);
      return (name: string) => glob.matches(name);
    }
    const expression = compilePythonPattern(`[\\s\\S]*(?:${text.slice(2)})`);
    return (name: string) => expression.matchesStart(name);
  });
  return (name) => matchers.some((matches) => matches(name));
}

/** Names of states, from the names of their files. */
export async function listStates(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const files = await masterList(context, "files", environmentOf(context, argument(args, "saltenv")));
  const states = files
    .filter((path) => path.endsWith(".sls"))
    .map((path) => path.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", "."));
  return [...new Set(states)].sort();
}

/** Paths of all cached files, sorted. */
export function listMinion(context: CallContext, args: BoundArguments): Value[] {
  const { cachedir } = context.config;
  const environment = environmentOf(context, argument(args, "saltenv"));
  return [...filesBelow(join(cachedir, "files", environment)), ...filesBelow(join(cachedir, "localfiles"))].sort();
}

/** Empty if the directory does not exist. */
export function filesBelow(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true, recursive: true });
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if (isFileError(error)) return [];
    throw error;
  }
}
