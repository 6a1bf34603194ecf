/**
 * Gives a daemon's files to the user that it will become: directories with their content, its log and its process id file.
 * Source: Salt's verify_env names the files. Unlike Salt, this does not follow links and skips files with a second hard link.
 */
import { closeSync, constants, fchownSync, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { entryOf, inDirectory, makeDirectories, type Owner, ownDirectory } from "./rooted-path.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const logMode = 0o640;
const pidMode = 0o644;
/** Maximum depth, larger than that of any file of ours. Each level keeps a descriptor open. */
const depthMax = 64;
/** Salt's job directory can hold millions of files. They are examined only if the directory itself still belongs to another user. */
const vast = "jobs";

/** `mode`: of a new directory. */
export type OwnedDirectory = { readonly path: string; readonly mode: number };

export type OwnedFiles = {
  readonly directories: readonly OwnedDirectory[];
  /** Undefined if the log is not a file. */
  readonly logFile: string | undefined;
  /** Empty for no file. Usually only root may write to its directory. */
  readonly pidFile: string;
};

/** `warn` gets each file whose owner could not be changed. */
export function giveFiles(files: OwnedFiles, owner: Owner, warn: (sentence: string) => void): void {
  for (const { path, mode } of files.directories) {
    const isVastOwned = isOwned(`${path}/${vast}`, owner);
    ownDirectory(path, owner, mode);
    inDirectory(path, (directory) => giveEntries(directory, path, owner, 0, { warn, isVastOwned }));
  }
  if (files.logFile !== undefined) giveSingle(files.logFile, logMode, owner, warn);
  if (files.pidFile !== "") giveSingle(files.pidFile, pidMode, owner, warn);
}

type Walk = { readonly warn: (sentence: string) => void; readonly isVastOwned: boolean };

function isOwned(path: string, owner: Owner): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status?.uid === owner.uid && status.gid === owner.gid;
}

function giveEntries(directory: number, path: string, owner: Owner, depth: number, walk: Walk): void {
  for (const name of readdirSync(entryOf(directory, "."))) {
    const entry = entryOf(directory, name);
    try {
      const status = lstatSync(entry);
      const isRight = status.uid === owner.uid && status.gid === owner.gid;
      if (status.isDirectory()) {
        if (depth === 0 && name === vast && walk.isVastOwned) continue;
        giveDirectory(entry, `${path}/${name}`, owner, depth + 1, walk);
      } else if (status.isFile() && !isRight) giveFile(entry, `${path}/${name}`, owner, walk.warn);
    } catch (error) {
      // The entry was removed or replaced by a link meanwhile: skips it.
      if (!hasCodeIn(error, "ENOENT", "ELOOP", "ENOTDIR", "ENXIO")) throw error;
    }
  }
}

function giveDirectory(entry: string, path: string, owner: Owner, depth: number, walk: Walk): void {
  if (depth > depthMax) {
    walk.warn(`${path} is too deep in its directory: it keeps its owner`);
    return;
  }
  const descriptor = openSync(entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const { uid, gid } = fstatSync(descriptor);
    if (uid !== owner.uid || gid !== owner.gid) fchownSync(descriptor, owner.uid, owner.gid);
    giveEntries(descriptor, path, owner, depth, walk);
  } finally {
    closeSync(descriptor);
  }
}

/** Skips a file with a second hard link, because another user can link a foreign file here. `mode`: of a new file. */
function giveFile(
  entry: string,
  path: string,
  owner: Owner,
  warn: (sentence: string) => void,
  made?: { readonly mode: number },
): void {
  const flags = made === undefined ? O_RDONLY : O_WRONLY | O_CREAT;
  const descriptor = openSync(entry, flags | O_NOFOLLOW | O_NONBLOCK, made?.mode);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) return;
    if (status.nlink === 1) fchownSync(descriptor, owner.uid, owner.gid);
    else warn(`${path} has a second hard link: it keeps its owner`);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a file that the daemon writes later. Its directory keeps its owner. */
function giveSingle(path: string, mode: number, owner: Owner, warn: (sentence: string) => void): void {
  makeDirectories(dirname(path));
  inDirectory(dirname(path), (directory) => giveFile(entryOf(directory, basename(path)), path, owner, warn, { mode }));
}
