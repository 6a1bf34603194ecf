/**
 * Finds a served file by its name in an environment. A name never leads outside the roots.
 * Source: Salt 3007's `roots` backend.
 */
import type { BigIntStats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, normalize, resolve } from "node:path";
import { anyEnvironment, directoriesFor } from "../config/files/environment.ts";
import { isNotThere } from "../config/files/system-errors.ts";
import type { FileServerSettings } from "./settings.ts";

type RootSettings = Pick<FileServerSettings, "roots" | "isServing" | "isIgnored" | "followsLinks">;

/** `name`: relative to the root. */
export type FoundFile = { readonly path: string; readonly name: string; readonly stats: BigIntStats };

/** A request's path and its options: `salt://x?saltenv=dev`, or `index=` for one directory. */
type Asked = { readonly name: string; readonly environment: string; readonly rootIndex: number | undefined };

/** Directories of an environment, or those of `__env__` with its name in them. Undefined for an unknown environment. */
export function rootsOfEnvironment({ roots }: RootSettings, environment: string): readonly string[] | undefined {
  const own = roots.get(environment);
  if (own !== undefined) return own;
  const directories = roots.get(anyEnvironment);
  return directories === undefined ? undefined : directoriesFor(directories, environment);
}

/** @returns undefined if no directory of the environment has such a file to serve */
export async function findFile(
  settings: RootSettings,
  path: string,
  environment: string,
): Promise<FoundFile | undefined> {
  const asked = askedFor(path, environment);
  if (!settings.isServing || asked === undefined) return undefined;
  const roots = rootsOfEnvironment(settings, asked.environment) ?? [];
  const { rootIndex } = asked;
  for (const root of rootIndex === undefined ? roots : roots.slice(rootIndex, rootIndex + 1)) {
    const found = await fileIn(settings, root, asked.name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function fileIn(settings: RootSettings, root: string, name: string): Promise<FoundFile | undefined> {
  const full = join(resolve(root), name);
  try {
    const stats = await stat(full, { bigint: true });
    if (!stats.isFile() || settings.isIgnored(join(root, name))) return undefined;
    if (!settings.followsLinks && !(await isBelow(root, full))) return undefined;
    return { path: full, name, stats };
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

/** Whether an existing path is the directory or lies below it, with all links followed. */
export async function isBelow(root: string, path: string): Promise<boolean> {
  const realRoot = await realpath(root);
  const realFile = await realpath(path);
  return realFile === realRoot || realFile.startsWith(realRoot === "/" ? realRoot : `${realRoot}/`);
}

/** @returns undefined for an invalid name: absolute, with `..`, or with a NUL */
function askedFor(path: string, environment: string): Asked | undefined {
  const isEscaped = path.startsWith("|");
  const [written = "", query = ""] = isEscaped ? [path.replace(/^\|+/, "")] : path.split("?");
  if (isAbsolute(written) || written.includes("\0") || written.split("/").includes("..")) return undefined;
  const name = normalize(written).replace(/\/+$/, "");
  if (name === "" || name === ".") return undefined;
  const options = new Map(
    query.split("&").flatMap((part): [string, string][] => {
      const at = part.indexOf("=");
      return at < 0 ? [] : [[part.slice(0, at), part.slice(at + 1)]];
    }),
  );
  const index = options.get("index");
  if (index !== undefined && !/^\d{1,6}$/.test(index)) return undefined;
  return {
    name,
    environment: options.get("saltenv") ?? environment,
    rootIndex: index === undefined ? undefined : Number(index),
  };
}
