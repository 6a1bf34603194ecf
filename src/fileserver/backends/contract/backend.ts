/** A backend of the file server: all that the rest of the master knows of it. Each backend has a folder beside this one and a line in registry.ts. */
import type { Value } from "../../../wire/values.ts";

/** `rootIndex`: of `index=` in the request. It chooses one directory of the environment; a backend without directories ignores it. */
export type AskedFile = { readonly name: string; readonly environment: string; readonly rootIndex: number | undefined };

/** A file as it was when it was found. `../local/local-file.ts` has the one for files on this machine. */
export type FoundFile = {
  /** Where the file is, for clients. */
  readonly path: string;
  /** Its name in the environment. */
  readonly name: string;
  /** The fields of Python's `os.stat` in its order; null if the backend has none. */
  stat(): Value[] | null;
  /** The hash by `hash_type`, in hexadecimal. @throws the storage's error */
  hash(): Promise<string>;
  /** The whole file if it is small and already in memory. */
  content?(): Uint8Array | undefined;
  /** At most `bytesMax` bytes from `offset` on; none behind the end. @throws the storage's error */
  read(offset: number, bytesMax: number): Promise<Uint8Array>;
};

/** Names in an environment, "/" between their parts, sorted. `links`: the target of each link, as written. */
export type FileLists = {
  readonly files: readonly string[];
  readonly dirs: readonly string[];
  readonly emptyDirs: readonly string[];
  readonly links: ReadonlyMap<string, string>;
};

/** What an update found, for events. */
export type FileChanges = {
  readonly isChanged: boolean;
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** What could not be fetched, and why. */
  readonly failure?: string;
};

export interface FileBackend {
  /** Its name in `fileserver_backend`. */
  readonly name: string;
  environments(): readonly string[] | Promise<readonly string[]>;
  /** Names never contain `..` and are never absolute. @returns undefined if the backend does not have the file, or hides it */
  find(asked: AskedFile): Promise<FoundFile | undefined>;
  /** Returns the same object while the lists are unchanged; undefined for an unknown environment. */
  lists(environment: string): Promise<FileLists | undefined>;
  /** Forgets the cached lists of these environments, or of all. @returns the sorted names of environments that had one */
  clearLists(environments: readonly string[] | undefined): Promise<readonly string[]>;
  /** Looks for changes since the last call; a backend that fetches from elsewhere fetches now. */
  update(): Promise<FileChanges>;
  /** Removes what was fetched from elsewhere. @returns texts about what could not be removed. Absent if the backend fetches nothing */
  clearCache?(): Promise<readonly string[]>;
  /** Locks or unlocks the fetches of remotes whose URL a glob matches, or of all. @returns what was done. Absent if the backend fetches nothing */
  lock?(remote: string | undefined): readonly string[];
  clearLock?(remote: string | undefined): readonly string[];
}
