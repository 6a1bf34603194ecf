/** Execution module `cp`: files that come from the master. Source: Salt 3007's `cp`, docs/functions.md. */
import { cacheFile, getFile, getFileText, hashFile, isCached, listMaster } from "./cp-files.ts";
import { receiveChunk, receiveFiles } from "./cp-receive.ts";
import { describe } from "./describe.ts";
import type { ModuleFunctions } from "./module-functions.ts";
import { signature } from "./signature.ts";

export const cpModule: ModuleFunctions = {
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
  "cp.cache_file": {
    ...signature("path, saltenv=None, source_hash=None, verify_ssl=True, use_etag=False"),
    doc: describe("Copies a file of the master to the minion's cache.", "cp.cache_file salt://path/to/file"),
    run: cacheFile,
  },
  "cp.is_cached": {
    ...signature("path, saltenv=None"),
    doc: describe("Where the minion's cache has a file of the master.", "cp.is_cached salt://path/to/file"),
    run: isCached,
  },
  "cp.hash_file": {
    ...signature("path, saltenv=None"),
    doc: describe("The hash of a file, of the master or of this machine.", "cp.hash_file salt://path/to/file"),
    run: hashFile,
  },
  "cp.list_master": {
    ...signature("saltenv=None, prefix=''"),
    doc: describe("The files of the master.", "cp.list_master"),
    run: listMaster,
  },
};
