/** Backend `roots`: directories of this machine, `file_roots`. Source: Salt 3007's `roots` backend. */

import type { AskedFile, FileBackend, FileChanges, FileLists, FoundFile } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";
import { FileHashes } from "../local/hashes.ts";
import { noteChanges } from "./changes.ts";
import { findFile } from "./find.ts";
import { FileListCache } from "./lists.ts";

export class RootsBackend implements FileBackend {
  readonly name = "roots";
  readonly #settings: FileServerSettings;
  readonly #hashes: FileHashes;
  readonly #lists: FileListCache;

  constructor(settings: FileServerSettings) {
    this.#settings = settings;
    this.#hashes = new FileHashes(settings.hashType);
    this.#lists = new FileListCache(settings);
  }

  environments(): readonly string[] {
    return [...this.#settings.roots.keys()];
  }

  find(asked: AskedFile): Promise<FoundFile | undefined> {
    return findFile(this.#settings, this.#hashes, asked);
  }

  lists(environment: string): Promise<FileLists | undefined> {
    return this.#lists.lists(environment);
  }

  clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    return this.#lists.clear(environments);
  }

  update(): Promise<FileChanges> {
    return noteChanges(this.#settings);
  }
}
