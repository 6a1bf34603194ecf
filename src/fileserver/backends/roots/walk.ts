/** Walks the directories of an environment and lists files, directories, empty directories and links. Source: Salt 3007's `roots` backend. */
import type { Dirent } from "node:fs";
import { readdir, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, normalize, relative, resolve } from "node:path";
import { isNotThere } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { listedFilesMax } from "../../../limits.ts";
import type { FileLists } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";

type WalkSettings = Pick<FileServerSettings, "isIgnored" | "followsLinks" | "hidesLinks">;
type Walk = {
  readonly settings: WalkSettings;
  readonly files: Set<string>;
  readonly dirs: Set<string>;
  readonly emptyDirs: Set<string>;
  readonly links: Map<string, string>;
};
/** `path`: on this machine. `name`: in the lists; empty for the root. */
type Directory = { readonly root: string; readonly path: string; readonly name: string };

/** @throws SaltworksError FILES_FAILED for more than `listedFilesMax` entries */
export async function walkRoots(settings: WalkSettings, roots: readonly string[]): Promise<FileLists> {
  const walk: Walk = { settings, files: new Set(), dirs: new Set(), emptyDirs: new Set(), links: new Map() };
  for (const given of roots) {
    const root = resolve(given);
    await walkDirectory(walk, { root, path: root, name: "" }, []);
  }
  return {
    files: [...walk.files].sort(),
    dirs: [...walk.dirs].sort(),
    emptyDirs: [...walk.emptyDirs].sort(),
    links: walk.links,
  };
}

/** `above`: the resolved parent directories. A link to one of them is not followed. */
async function walkDirectory(walk: Walk, directory: Directory, above: readonly string[]): Promise<void> {
  const real = await unlessGone(realpath(directory.path));
  const entries = await entriesOf(directory.path);
  if (real === undefined || entries === undefined || above.includes(real)) return;
  for (const entry of entries) {
    const path = join(directory.path, entry.name);
    const name = directory.name === "" ? entry.name : `${directory.name}/${entry.name}`;
    const isLink = entry.isSymbolicLink();
    const isDirectory = isLink ? (await unlessGone(stat(path)))?.isDirectory() === true : entry.isDirectory();
    await note(walk, { root: directory.root, path, name }, { isLink, isDirectory });
    if (walk.files.size + walk.dirs.size > listedFilesMax) {
      throw new SaltworksError("FILES_FAILED", `${directory.root} has more than ${listedFilesMax} files`, {
        max: listedFilesMax,
      });
    }
    const isEntered = isDirectory && (!isLink || walk.settings.followsLinks);
    if (isEntered) await walkDirectory(walk, { root: directory.root, path, name }, [...above, real]);
  }
}

async function note(
  { settings, files, dirs, emptyDirs, links }: Walk,
  { root, path, name }: Directory,
  { isLink, isDirectory }: { readonly isLink: boolean; readonly isDirectory: boolean },
): Promise<void> {
  if ((isLink && settings.hidesLinks) || settings.isIgnored(name)) return;
  (isDirectory ? dirs : files).add(name);
  if (isDirectory && (await entriesOf(path))?.length === 0) emptyDirs.add(name);
  if (!isLink) return;
  const target = await unlessGone(readlink(path));
  if (target === undefined) return;
  if (!settings.followsLinks || (await leadsInside(root, path, target))) links.set(name, target);
}

async function leadsInside(root: string, path: string, target: string): Promise<boolean> {
  const joined = normalize(target.startsWith("/") ? target : join(dirname(path), target));
  const real = (await unlessGone(realpath(joined))) ?? joined;
  return !relative((await unlessGone(realpath(root))) ?? root, real).startsWith("..");
}

async function entriesOf(path: string): Promise<Dirent[] | undefined> {
  return await unlessGone(readdir(path, { withFileTypes: true }));
}

/** Returns undefined if the path is missing or cannot be read. Such a path is not listed. */
async function unlessGone<Result>(reading: Promise<Result>): Promise<Result | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}
