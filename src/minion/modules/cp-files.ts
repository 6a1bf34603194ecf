/** `cp.get_file` and its kin: files of the master's file server, or of `file_roots` without a master. Source: Salt 3007's `cp`, docs/functions.md. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import type { Encodable, Value } from "../../wire/values.ts";
import { commandError } from "../function-errors.ts";
import type { BoundArguments, CallContext } from "../module-contract.ts";
import { configToValue } from "../yaml-values.ts";
import { isFileError } from "./file-error.ts";
import { makeDirectories } from "./make-directories.ts";
import { fetchMasterFile } from "./master-file.ts";
import { isTruthy, pythonText } from "./python-values.ts";
import { argument } from "./signature.ts";

const scheme = "salt://";

/** @returns the path of the new file; an empty text where there is no such file, or no such directory for it */
export async function getFile(context: CallContext, args: BoundArguments): Promise<string> {
  if (isTruthy(argument(args, "template"))) {
    throw commandError(`template=${pythonText(argument(args, "template"))} is not supported by this minion`);
  }
  const source = pythonText(argument(args, "path"));
  const destination = pythonText(argument(args, "dest"));
  const isDirectory = statSync(destination, { throwIfNoEntry: false })?.isDirectory() === true;
  const path = isDirectory || destination.endsWith("/") ? join(destination, basename(pathOf(source))) : destination;
  const content = await contentOf(context, source, argument(args, "saltenv"));
  if (content === undefined) return "";
  const folder = dirname(path);
  if (isTruthy(argument(args, "makedirs"))) makeDirectories(folder);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return "";
  writeFileSync(path, content);
  return path;
}

/** @returns the text, False where there is no such file */
export async function getFileText(context: CallContext, args: BoundArguments): Promise<string | false> {
  const content = await contentOf(context, pythonText(argument(args, "path")), argument(args, "saltenv"));
  return content === undefined ? false : content.toString("utf8");
}

/** @returns the path in the minion's cache, False where there is no such file */
export async function cacheFile(context: CallContext, args: BoundArguments): Promise<string | false> {
  const source = pythonText(argument(args, "path"));
  const saltenv = argument(args, "saltenv");
  const content = await contentOf(context, source, saltenv);
  if (content === undefined) return false;
  if (!source.startsWith(scheme)) return source;
  const path = cachedPath(context, source, saltenv);
  makeDirectories(dirname(path));
  writeFileSync(path, content);
  return path;
}

/** @returns the path of a file that was cached before, an empty text otherwise */
export function isCached(context: CallContext, args: BoundArguments): string {
  const source = pythonText(argument(args, "path"));
  const path = source.startsWith(scheme) ? cachedPath(context, source, argument(args, "saltenv")) : source;
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true ? path : "";
}

export async function hashFile(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const source = pythonText(argument(args, "path"));
  const saltenv = argument(args, "saltenv");
  if (source.startsWith(scheme) && context.config.file_client !== "local") {
    const path = pathOf(source);
    return await context.masterRequest({ cmd: "_file_hash", path, saltenv: environmentOf(context, source, saltenv) });
  }
  const content = await contentOf(context, source, saltenv);
  if (content === undefined) return {};
  const { hash_type: kind } = context.config;
  return { hsum: createHash(kind).update(content).digest("hex"), hash_type: kind };
}

/** Paths of all files, relative to the roots, sorted. */
export async function listMaster(context: CallContext, args: BoundArguments): Promise<Value[]> {
  const saltenv = environmentOf(context, "", argument(args, "saltenv"));
  const prefix = pythonText(argument(args, "prefix"));
  if (context.config.file_client === "local") {
    return localFiles(context, saltenv).filter((path) => path.startsWith(prefix));
  }
  const reply = await context.masterRequest({ cmd: "_file_list", saltenv, prefix });
  return Array.isArray(reply) ? reply : [];
}

function localFiles(context: CallContext, environment: string): string[] {
  const roots = configToValue(context.config.file_roots[environment] ?? []);
  const found = new Set<string>();
  for (const root of Array.isArray(roots) ? roots.map(pythonText) : []) {
    for (const path of filesBelow(root)) found.add(path);
  }
  return [...found].sort();
}

function filesBelow(root: string): string[] {
  try {
    const entries = readdirSync(root, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replace(/^\/+/, ""));
  } catch (error) {
    // As in Salt, a root that is not there has no files.
    if (isFileError(error)) return [];
    throw error;
  }
}

async function contentOf(context: CallContext, source: string, saltenv: Value): Promise<Buffer | undefined> {
  if (source.startsWith(scheme)) return await fetchMasterFile(context, source, saltenv);
  const path = source.startsWith("file://") ? source.slice("file://".length) : source;
  if (path.includes("://")) throw commandError(`${path.split("://")[0]}:// is not supported by this minion`);
  try {
    return readFileSync(path);
  } catch (error) {
    if (isFileError(error)) return undefined;
    throw error;
  }
}

/** @throws SaltworksError FUNCTION_FAILED for a name that leads out of the cache */
function cachedPath(context: CallContext, source: string, saltenv: Value): string {
  const inside = normalize(pathOf(source));
  if (inside.startsWith("../") || inside.startsWith("/")) throw commandError(`${source} leads out of the file roots`);
  return join(context.config.cachedir, "files", environmentOf(context, source, saltenv), inside);
}

function pathOf(source: string): string {
  return (source.startsWith(scheme) ? source.slice(scheme.length) : source).split("?")[0] ?? "";
}

function environmentOf(context: CallContext, source: string, saltenv: Value): string {
  const named = /[?&](?:saltenv|env)=([^&]+)/.exec(source)?.[1];
  const environment = named ?? (isTruthy(saltenv) ? pythonText(saltenv) : (context.config.saltenv ?? "base"));
  if (environment.includes("/") || environment === "..") throw commandError(`'${environment}' is no environment`);
  return environment;
}
