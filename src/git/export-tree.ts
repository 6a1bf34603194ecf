/** Writes the files of a commit into a directory of their own, from where programs read them as any others. Directories of former commits go after a while. */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { hasCodeIn, undefinedIfGone } from "../config/files/system-errors.ts";
import { SaltworksError } from "../errors.ts";
import { gitExportFilesMax, gitExportsKeptMs, gitSmallFileBytesMax } from "../limits.ts";
import { shownId } from "./remotes.ts";
import type { Repository } from "./repository.ts";
import { isLink, type TreeEntry } from "./tree.ts";

/** `root`: the directory of the repository that is written; `mountpoint`: where it is written to. Both may be empty. */
export type ExportedPlace = { readonly commit: string; readonly root: string; readonly mountpoint: string };

/** How old the time of a used directory may get before it is renewed. */
const renewedMs = 60_000;
const underWay = new Map<string, Promise<string>>();

/** @returns the directory; undefined if the commit has no such root. @throws SaltworksError GIT_FAILED */
export async function exportTree(repository: Repository, place: ExportedPlace): Promise<string | undefined> {
  const { commit, root, mountpoint } = place;
  const digest = createHash("sha256").update(`${root}\0${mountpoint}`).digest("hex").slice(0, 8);
  const directory = repository.pathFor("trees", `${commit}-${digest}`);
  if (existsSync(directory)) {
    renew(directory);
    return directory;
  }
  const { files, directories } = await repository.tree(commit);
  if (root !== "" && !directories.includes(root)) return undefined;
  const making = underWay.get(directory) ?? write(repository, place, files, directory);
  underWay.set(directory, making);
  try {
    return await making;
  } finally {
    underWay.delete(directory);
  }
}

function renew(directory: string): void {
  const nowMs = Date.now();
  if (nowMs - statSync(directory).mtimeMs > renewedMs) utimesSync(directory, nowMs / 1_000, nowMs / 1_000);
}

async function write(
  repository: Repository,
  { root, mountpoint }: ExportedPlace,
  files: ReadonlyMap<string, TreeEntry>,
  directory: string,
): Promise<string> {
  const below = [...files].filter(([path]) => root === "" || path.startsWith(`${root}/`));
  if (below.length > gitExportFilesMax) {
    const text = `${repository.remote.role} remote ${shownId(repository.remote.id)} has more than ${gitExportFilesMax} files`;
    throw new SaltworksError("GIT_FAILED", text, { max: gitExportFilesMax });
  }
  const temporary = `${directory}.${process.pid}.${performance.now()}`;
  try {
    mkdirSync(join(temporary, mountpoint), { recursive: true, mode: 0o700 });
    for (const [path, entry] of below) {
      const name = root === "" ? path : path.slice(root.length + 1);
      await writeEntry(repository, name, entry, join(temporary, mountpoint));
    }
    moveTo(temporary, directory);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  await removeFormer(repository, directory);
  return directory;
}

/** Paths come from a repository that others write: git itself refuses `..` and `.git` in them, and they are looked at again here. */
async function writeEntry(repository: Repository, name: string, entry: TreeEntry, directory: string): Promise<void> {
  if (posix.isAbsolute(name) || name.split("/").some((part) => part === "" || part === "." || part === "..")) return;
  const path = join(directory, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (isLink(entry)) {
    const target = await repository.linkTarget(entry);
    const leadsTo = posix.join(posix.dirname(name), target);
    // A link out of the tree would show files of the master's own machine.
    if (target !== "" && !posix.isAbsolute(target) && leadsTo !== ".." && !leadsTo.startsWith("../"))
      symlinkSync(target, path);
    return;
  }
  if (entry.size <= gitSmallFileBytesMax) {
    await writeFile(path, await repository.blob(entry.oid), { mode: 0o600, flag: "wx" });
    return;
  }
  const file = openSync(path, "wx", 0o600);
  try {
    await repository.writeBlob(entry.oid, file);
  } finally {
    closeSync(file);
  }
}

function moveTo(temporary: string, directory: string): void {
  try {
    renameSync(temporary, directory);
  } catch (error) {
    // Another thread was faster: its directory has the same files.
    if (!hasCodeIn(error, "ENOTEMPTY", "EEXIST")) throw error;
  }
}

async function removeFormer(repository: Repository, kept: string): Promise<void> {
  const all = repository.pathFor("trees");
  for (const name of await readdir(all)) {
    const path = join(all, name);
    if (path === kept) continue;
    const stats = await stat(path).catch(undefinedIfGone);
    if (stats !== undefined && Date.now() - stats.mtimeMs > gitExportsKeptMs)
      rmSync(path, { recursive: true, force: true });
  }
}
