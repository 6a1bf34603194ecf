/** Execution module `cp`: files of the master and of other servers, and files for the master. Source: Salt 3007's `cp`, docs/functions.md. */

import { strOf } from "../../../python/repr.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { cacheDirectory, cacheFiles, cacheMaster, getDirectory, listMinion, listStates } from "./directories.ts";
import {
  cacheDestination,
  cacheFile,
  cacheLocalFile,
  getFile,
  getFileText,
  getUrl,
  hashFile,
  isCached,
  statFile,
} from "./files.ts";
import { environmentOf, masterEnvironments, masterLinks, masterList } from "./master-file.ts";
import { pushDirectory, pushFile } from "./push.ts";
import { receiveChunk, receiveFiles } from "./receive.ts";
import { getTemplate } from "./template.ts";

const received: ModuleFunctions = {
  "cp.recv": {
    ...signature("files, dest"),
    doc: describe("Writes the files that `saltworks cp` sends. Not made for the command line."),
    run: (_, args) => receiveFiles(args),
  },
  "cp.recv_chunked": {
    ...signature("dest, chunk, append=False, compressed=True, mode=None"),
    doc: describe("Writes a piece of a file that `saltworks cp --chunked` sends. Not made for the command line."),
    run: receiveChunk,
  },
};

const copies: ModuleFunctions = {
  "cp.get_file": {
    ...signature("path, dest, saltenv=None, makedirs=False, template=None, gzip=None, **kwargs"),
    doc: describe(
      "Copies a file of the master to this machine.",
      "cp.get_file salt://path/to/file /minion/dest makedirs=True",
    ),
    run: getFile,
  },
  "cp.get_file_str": {
    ...signature("path, saltenv=None"),
    doc: describe("The text of a file of the master.", "cp.get_file_str salt://my/file"),
    run: getFileText,
  },
  "cp.get_dir": {
    ...signature("path, dest, saltenv=None, template=None, gzip=None, **kwargs"),
    doc: describe("Copies a directory of the master to this machine.", "cp.get_dir salt://path/to/dir /minion/dest"),
    run: getDirectory,
  },
  "cp.get_url": {
    ...signature("path, dest='', saltenv=None, makedirs=False, source_hash=None"),
    doc: describe(
      "Copies a file of the master (`salt://`) or of a web server. Without `dest` it goes to the minion's cache, with `dest=None` its text is returned.",
      "cp.get_url https://example.com/file /minion/dest",
    ),
    run: getUrl,
  },
  "cp.get_template": {
    ...signature("path, dest, template='jinja', saltenv=None, makedirs=False, **kwargs"),
    doc: describe(
      "Renders a file of the master as a template and writes the result on this machine.",
      "cp.get_template salt://path/to/template /minion/dest",
    ),
    run: getTemplate,
  },
  "cp.hash_file": {
    ...signature("path, saltenv=None"),
    doc: describe("The hash of a file of the master or of this machine.", "cp.hash_file salt://path/to/file"),
    run: hashFile,
  },
  "cp.stat_file": {
    ...signature("path, saltenv=None, octal=True"),
    doc: describe("The mode of a file of the master or of this machine.", "cp.stat_file salt://path/to/file"),
    run: statFile,
  },
};

const cache: ModuleFunctions = {
  "cp.cache_file": {
    ...signature("path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False"),
    doc: describe("Copies a file to the minion's cache.", "cp.cache_file salt://path/to/file"),
    run: cacheFile,
  },
  "cp.cache_files": {
    ...signature("paths, saltenv=None"),
    doc: describe("Copies several files to the minion's cache.", "cp.cache_files salt://path/file1,salt://path/file2"),
    run: cacheFiles,
  },
  "cp.cache_dir": {
    ...signature("path, saltenv=None, include_empty=False, include_pat=None, exclude_pat=None"),
    doc: describe(
      "Copies a directory of the master to the minion's cache. Patterns are globs, or with `E@` regular expressions.",
      "cp.cache_dir salt://path/to/dir include_pat='E@\\.py$'",
    ),
    run: cacheDirectory,
  },
  "cp.cache_master": {
    ...signature("saltenv=None"),
    doc: describe("Copies all files of the master to the minion's cache.", "cp.cache_master"),
    run: cacheMaster,
  },
  "cp.cache_local_file": {
    ...signature("path"),
    doc: describe("Copies a file of this machine to the minion's cache.", "cp.cache_local_file /etc/hosts"),
    run: cacheLocalFile,
  },
  "cp.cache_dest": {
    ...signature("url, saltenv=None"),
    doc: describe("The path that a file would have in the minion's cache.", "cp.cache_dest salt://path/to/file"),
    run: cacheDestination,
  },
  "cp.is_cached": {
    ...signature("path, saltenv=None"),
    doc: describe(
      "The path of a file in the minion's cache, an empty text without one.",
      "cp.is_cached salt://path/to/file",
    ),
    run: isCached,
  },
  "cp.list_minion": {
    ...signature("saltenv=None"),
    doc: describe("The files in the minion's cache.", "cp.list_minion"),
    run: listMinion,
  },
};

const lists: ModuleFunctions = {
  "cp.envs": {
    ...signature(""),
    doc: describe("The environments of the master's files.", "cp.envs"),
    run: (context) => masterEnvironments(context),
  },
  "cp.list_master": {
    ...signature("saltenv=None, prefix=''"),
    doc: describe("The files of the master.", "cp.list_master"),
    run: (context, args) =>
      masterList(context, "files", environmentOf(context, argument(args, "saltenv")), strOf(argument(args, "prefix"))),
  },
  "cp.list_master_dirs": {
    ...signature("saltenv=None, prefix=''"),
    doc: describe("The directories of the master.", "cp.list_master_dirs"),
    run: (context, args) =>
      masterList(context, "dirs", environmentOf(context, argument(args, "saltenv")), strOf(argument(args, "prefix"))),
  },
  "cp.list_master_symlinks": {
    ...signature("saltenv=None, prefix=''"),
    doc: describe("The links of the master, with their targets.", "cp.list_master_symlinks"),
    run: (context, args) =>
      masterLinks(context, environmentOf(context, argument(args, "saltenv")), strOf(argument(args, "prefix"))),
  },
  "cp.list_states": {
    ...signature("saltenv=None"),
    doc: describe("The states of the master, by their files.", "cp.list_states"),
    run: listStates,
  },
};

const pushes: ModuleFunctions = {
  "cp.push": {
    ...signature("path, keep_symlinks=False, upload_path=None, remove_source=False"),
    doc: describe("Sends a file to the master, if the master accepts files (`file_recv`).", "cp.push /etc/fstab"),
    run: pushFile,
  },
  "cp.push_dir": {
    ...signature("path, glob=None, upload_path=None"),
    doc: describe("Sends the files of a directory to the master.", "cp.push_dir /etc/modprobe.d glob='*.conf'"),
    run: pushDirectory,
  },
};

export const cpModule: ModuleFunctions = { ...received, ...copies, ...cache, ...lists, ...pushes };
