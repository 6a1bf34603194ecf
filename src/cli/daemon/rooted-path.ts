/**
 * Walks paths, as root, in directories where another user can write. Follows only links that belong to root. Each step starts from an open
 * directory, so that no user can replace it meanwhile. Linux only: /proc/self/fd replaces calls such as openat.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
} from "node:fs";
import { basename, dirname, posix } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** The kernel's limit of links in one path. */
const linksMax = 40;
const directoryMode = 0o755;
const privateMode = 0o700;
/** As in Salt, the group may read a directory of keys. */
const privateModes = [privateMode, 0o750];

export type Owner = { readonly uid: number; readonly gid: number };

/** The path of an entry of an open directory. Valid even if the directory has moved. */
export function entryOf(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

/** Calls `use` with the open directory. */
export function inDirectory<Result>(path: string, use: (descriptor: number) => Result): Result {
  const directory = openDirectory(path);
  try {
    return use(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Makes missing directories of the path. The last gets `mode` and belongs to `owner`, the others belong to root.
 *
 * @throws SaltworksError CONFIG_INVALID if a link on the way belongs to another user
 */
export function ownDirectory(path: string, owner: Owner, mode: number): void {
  makeDirectories(path, mode);
  inDirectory(path, (directory) => {
    fchownSync(directory, owner.uid, owner.gid);
    const present = fstatSync(directory).mode & 0o777;
    if (mode === privateMode && !privateModes.includes(present)) fchmodSync(directory, privateMode);
  });
}

/** @throws SaltworksError CONFIG_INVALID as `ownDirectory` */
export function makeDirectories(path: string, mode = directoryMode): void {
  const parent = dirname(path);
  if (parent === path) return;
  try {
    closeSync(openDirectory(path));
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT")) throw error;
    makeDirectories(parent);
    inDirectory(parent, (directory) => {
      try {
        mkdirSync(entryOf(directory, basename(path)), { mode });
      } catch (raced) {
        if (!hasCodeIn(raced, "EEXIST")) throw raced;
      }
    });
  }
}

function openDirectory(path: string): number {
  let rest = posix.resolve(path).split("/").filter(Boolean);
  let directory = openSync("/", O_RDONLY | O_DIRECTORY);
  let links = 0;
  try {
    for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
      const entry = entryOf(directory, name);
      const status = lstatSync(entry);
      if (status.isSymbolicLink()) {
        links += 1;
        if (status.uid !== 0 || links > linksMax)
          throw new SaltworksError(
            "CONFIG_INVALID",
            `${path}: "${name}" in this path is a link that does not belong to root`,
          );
        const target = readlinkSync(entry);
        rest = [...target.split("/").filter(Boolean), ...rest];
        if (!target.startsWith("/")) continue;
        closeSync(directory);
        directory = openSync("/", O_RDONLY | O_DIRECTORY);
        continue;
      }
      const next = openSync(entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      closeSync(directory);
      directory = next;
    }
    return directory;
  } catch (error) {
    closeSync(directory);
    throw error;
  }
}
