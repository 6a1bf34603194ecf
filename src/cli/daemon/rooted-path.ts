/**
 * Paths as root may walk them where another user writes: a link counts only if root laid it, and each step starts from an open directory,
 * so that nothing can be put in its place meanwhile. Linux only: /proc/self/fd stands for the calls with `at` in their names.
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
/** As many as the kernel follows. */
const linksMax = 40;
const directoryMode = 0o755;
const privateMode = 0o700;
/** The group may look into a directory of keys, as Salt has it. */
const privateModes = [privateMode, 0o750];

export type Owner = { readonly uid: number; readonly gid: number };

/** The name of an entry of an open directory, wherever that directory is by now. */
export function entryOf(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}

/** Calls `use` with the directory opened. */
export function inDirectory<Result>(path: string, use: (descriptor: number) => Result): Result {
  const directory = openDirectory(path);
  try {
    return use(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * What is missing of the path is made, the last with `mode`; that directory then belongs to `owner`, the others to root.
 *
 * @throws SaltworksError CONFIG_INVALID if another user laid a link on the way
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
          throw new SaltworksError("CONFIG_INVALID", `${path}: "${name}" on the way is a link that root did not lay`);
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
