/**
 * Finds a served file by its name in an environment. A name never leads outside the roots.
 * Source: Salt 3007's `roots` backend.
 */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { anyEnvironment, directoriesFor } from "../../../config/files/environment.ts";
import { isNotThere } from "../../../config/files/system-errors.ts";
import type { AskedFile } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";
import { isBelow } from "../local/below.ts";
import type { FileHashes } from "../local/hashes.ts";
import { LocalFile } from "../local/local-file.ts";

type RootSettings = Pick<FileServerSettings, "roots" | "isIgnored" | "followsLinks">;

/** Directories of an environment; without any, those of `__env__` with the environment's name in place of `__env__`. Undefined if unknown. */
export function rootsOfEnvironment({ roots }: RootSettings, environment: string): readonly string[] | undefined {
  const own = roots.get(environment);
  if (own !== undefined) return own;
  const directories = roots.get(anyEnvironment);
  return directories === undefined ? undefined : directoriesFor(directories, environment);
}

/** @returns undefined if no root of the environment has the file, or the settings hide it */
export async function findFile(
  settings: RootSettings,
  hashes: FileHashes,
  { name, environment, rootIndex }: AskedFile,
): Promise<LocalFile | undefined> {
  const roots = rootsOfEnvironment(settings, environment) ?? [];
  for (const root of rootIndex === undefined ? roots : roots.slice(rootIndex, rootIndex + 1)) {
    const found = await fileIn(settings, hashes, root, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function fileIn(
  settings: RootSettings,
  hashes: FileHashes,
  root: string,
  name: string,
): Promise<LocalFile | undefined> {
  const full = join(resolve(root), name);
  try {
    const stats = await stat(full, { bigint: true });
    if (!stats.isFile() || settings.isIgnored(join(root, name))) return undefined;
    if (!settings.followsLinks && !(await isBelow(root, full))) return undefined;
    return new LocalFile(full, name, stats, hashes);
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
