/**
 * The functions of `file` that make, copy, move and remove files and directories, or read and set their status.
 * Source: Salt 3007's `file`, docs/functions.md.
 */

import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { normalize, resolve } from "node:path";
import { statIfThere } from "../../../config/files/kinds.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { type Encodable, floatItem, type Value } from "../../../wire/values.ts";
import { commandError, invocationError } from "../../functions/errors.ts";
import type { BoundArguments } from "../../functions/module-contract.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, ownKeywords, signature } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { absolutePath, asCommandError, asPython, expandedPath } from "../machine/file-paths.ts";
import { findGroupId, findUser, findUserById, groupNameOf } from "../machine/user-database.ts";
import { findFiles, findOptions } from "./find.ts";

const permissionBits = 0o7777;

export const fileTreeFunctions: ModuleFunctions = {
  "file.touch": {
    ...signature("name, atime=None, mtime=None"),
    doc: describe("Makes a file if there is none, and sets its times.", "file.touch /var/log/emptyfile"),
    run: (_, args) => touch(args),
  },
  "file.file_exists": {
    ...signature("path"),
    doc: describe("Whether there is a regular file.", "file.file_exists /etc/passwd"),
    run: (_, args) => statIfThere(expandedPath(argument(args, "path")))?.isFile() ?? false,
  },
  "file.directory_exists": {
    ...signature("path"),
    doc: describe("Whether there is a directory.", "file.directory_exists /etc"),
    run: (_, args) => statIfThere(expandedPath(argument(args, "path")))?.isDirectory() ?? false,
  },
  "file.is_link": {
    ...signature("path"),
    doc: describe("Whether there is a symbolic link.", "file.is_link /path/to/link"),
    run: (_, args) => linkStatusOf(expandedPath(argument(args, "path")))?.isSymbolicLink() ?? false,
  },
  "file.readdir": {
    ...signature("path"),
    doc: describe("The names in a directory, `.` and `..` first.", "file.readdir /path/to/dir"),
    run: (_, args) => {
      const path = absolutePath(argument(args, "path"), () => "Dir path must be absolute.");
      if (!statIfThere(path)?.isDirectory()) throw invocationError("A valid directory was not specified.");
      return [".", "..", ...asPython(path, () => readdirSync(path))];
    },
  },
  "file.find": {
    ...signature("path, *args, **kwargs"),
    doc: describe(
      "The files below a path that meet all conditions: name, iname, type, mindepth, maxdepth.",
      "file.find /var/log 'name=*.log' type=f",
    ),
    run: (_, args) => {
      const path = expandedPath(argument(args, "path"));
      return findFiles(path, findOptions(args.rest, ownKeywords(args)));
    },
  },
  "file.stats": {
    ...signature("path, hash_type=None, follow_symlinks=True"),
    doc: describe("Owner, mode, size and times of a file.", "file.stats /etc/passwd"),
    run: (_, args) => {
      if (isTrue(argument(args, "hash_type"))) throw commandError("hash_type= is not supported by this minion");
      return stats(expandedPath(argument(args, "path")), isTrue(argument(args, "follow_symlinks")));
    },
  },
  "file.get_mode": {
    ...signature("path, follow_symlinks=True"),
    doc: describe("The mode of a file.", "file.get_mode /etc/passwd"),
    run: (_, args) => modeOf(expandedPath(argument(args, "path")), isTrue(argument(args, "follow_symlinks"))),
  },
  "file.set_mode": {
    ...signature("path, mode"),
    doc: describe("Sets the mode of a file, in octal digits.", "file.set_mode /etc/passwd 0644"),
    run: (_, args) => setMode(expandedPath(argument(args, "path")), strOf(argument(args, "mode"))),
  },
  "file.mkdir": {
    ...signature("dir_path, user=None, group=None, mode=None"),
    doc: describe("Makes a directory and its missing parents.", "file.mkdir /opt/jetty/context"),
    run: (_, args) => makeDirectory(args),
  },
  "file.copy": {
    ...signature("src, dst, recurse=False, remove_existing=False"),
    doc: describe("Copies a file, or with recurse a directory.", "file.copy /path/to/src /path/to/dst"),
    run: (_, args) => copy(args),
  },
  "file.rename": {
    ...signature("src, dst"),
    doc: describe("Renames a file.", "file.rename /path/to/src /path/to/dst"),
    run: (_, args) => {
      const from = absolutePath(argument(args, "src"), () => "File path must be absolute.");
      const to = expandedPath(argument(args, "dst"));
      try {
        renameSync(from, to);
      } catch (error) {
        if (!isFileError(error)) throw error;
        throw commandError(`Could not rename '${from}' to '${to}'`);
      }
      return true;
    },
  },
  "file.remove": {
    ...signature("path, **kwargs"),
    doc: describe("Removes a file, or a directory with its content; False without one.", "file.remove /tmp/foo"),
    run: (_, args) => {
      const path = absolutePath(argument(args, "path"), (given) => `File path must be absolute: ${given}`);
      if (linkStatusOf(path) === undefined) return false;
      asCommandError(() => rmSync(path, { recursive: true }));
      return true;
    },
  },
};

/** Undefined if the path does not exist. */
function linkStatusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function touch(args: BoundArguments): boolean {
  const path = expandedPath(argument(args, "name"));
  const [accessed, modified] = ["atime", "mtime"].map((name) => {
    const value = argument(args, name);
    if (value === null) return undefined;
    if (!/^\d+$/.test(strOf(value))) throw invocationError("atime and mtime must be integers");
    return Number(strOf(value));
  });
  asCommandError(() => {
    if (!existsSync(path)) writeFileSync(path, "", { flag: "a" });
    const nowSeconds = Date.now() / 1_000;
    utimesSync(path, accessed ?? nowSeconds, modified ?? nowSeconds);
  });
  return existsSync(path);
}

/** @throws SaltworksError FUNCTION_FAILED if the path does not exist */
function foundStatus(path: string, isFollowed: boolean): Stats {
  const status = (isFollowed ? statIfThere(path) : undefined) ?? linkStatusOf(path);
  if (status === undefined) throw commandError(`Path not found: ${path}`);
  return status;
}

async function stats(path: string, isFollowed: boolean): Promise<Encodable> {
  const status = foundStatus(path, isFollowed);
  const user = await findUserById(status.uid);
  return new Map<Value, Encodable>([
    ["inode", status.ino],
    ["uid", status.uid],
    ["gid", status.gid],
    ["group", (await groupNameOf(status.gid)) ?? status.gid],
    ["user", user?.name ?? status.uid],
    ["atime", floatItem(status.atimeMs / 1_000)],
    ["mtime", floatItem(status.mtimeMs / 1_000)],
    ["ctime", floatItem(status.ctimeMs / 1_000)],
    ["size", status.size],
    ["mode", modeText(status)],
    ["type", typeOf(status)],
    ["target", isFollowed && existsSync(path) ? realpathSync(path) : resolve(path)],
  ]);
}

function modeText(status: Stats): string {
  return (status.mode & permissionBits).toString(8).padStart(4, "0");
}

function typeOf(status: Stats): string {
  if (status.isDirectory()) return "dir";
  if (status.isCharacterDevice()) return "char";
  if (status.isBlockDevice()) return "block";
  if (status.isSymbolicLink()) return "link";
  if (status.isFIFO()) return "pipe";
  return status.isSocket() ? "socket" : "file";
}

function modeOf(path: string, isFollowed: boolean): string {
  return modeText(foundStatus(path, isFollowed));
}

function setMode(path: string, given: string): string {
  const mode = given.replace(/^[0Oo]+/, "") || "0";
  if (!existsSync(path)) throw commandError(`${path}: File not found`);
  if (!/^[0-7]{1,4}$/.test(mode)) return `Invalid Mode ${mode}`;
  asCommandError(() => chmodSync(path, Number.parseInt(mode, 8)));
  return modeOf(path, true);
}

async function makeDirectory(args: BoundArguments): Promise<boolean> {
  const path = normalize(expandedPath(argument(args, "dir_path")));
  if (statIfThere(path)?.isDirectory()) return true;
  const mode = argument(args, "mode");
  const owner = await ownerOf(argument(args, "user"), argument(args, "group"));
  asPython(path, () => mkdirSync(path, { recursive: true }));
  if (mode !== null) setMode(path, strOf(mode));
  if (owner !== undefined) asCommandError(() => chownSync(path, owner.uid, owner.gid));
  return true;
}

/** Ids of user and group. Without a name, the id of this process. @throws SaltworksError FUNCTION_FAILED for an unknown name */
async function ownerOf(user: Value, group: Value): Promise<{ readonly uid: number; readonly gid: number } | undefined> {
  if (user === null && group === null) return undefined;
  const uid = user === null ? process.getuid?.() : (await findUser(strOf(user)))?.uid;
  const gid = group === null ? process.getgid?.() : await findGroupId(strOf(group));
  if (uid === undefined) throw commandError("User does not exist");
  if (gid === undefined) throw commandError("Group does not exist");
  return { uid, gid };
}

function copy(args: BoundArguments): boolean {
  const from = absolutePath(argument(args, "src"), () => "File path must be absolute.");
  const to = expandedPath(argument(args, "dst"));
  const source = statIfThere(from);
  if (source === undefined) throw commandError(`No such file or directory '${from}'`);
  const isTree = source.isDirectory() || (statIfThere(to)?.isDirectory() ?? false);
  if (isTree && !isTrue(argument(args, "recurse"))) {
    throw invocationError("Cannot copy overwriting a directory without recurse flag set to true!");
  }
  try {
    if (isTree) {
      if (isTrue(argument(args, "remove_existing"))) rmSync(to, { recursive: true, force: true });
      cpSync(from, to, { recursive: true });
    } else copyFileSync(from, to);
    chmodSync(to, source.mode & permissionBits);
  } catch (error) {
    if (!isFileError(error)) throw error;
    throw commandError(`Could not copy '${from}' to '${to}'`);
  }
  return true;
}
