/**
 * Cache banks: operators' values in the cache directory, a folder per bank and a file per key, in the new msgpack flavour. This is the layout of
 * Salt's `localfs` cache, so Salt's tools can read them. Names of banks and keys that lead out of the directory are refused.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { hasCodeIn } from "../config/files/system-errors.ts";
import { SaltworksError } from "../errors.ts";
import { replaceFile } from "./disk/durable-file.ts";
import { driversCacheNames } from "./drivers/registry.ts";

const fileEnd = ".p";
const fileMode = 0o600;
const folderMode = 0o700;
/** Names in the cache directory that this master or a Salt master uses. `test/fleet/masters/cache-banks.test.ts` checks that the list is complete. */
const ownNames: ReadonlySet<string> = new Set(
  [
    "accounts api_sessions batches cluster extmods file_lists grains jobs migrations mine minions pillar pillar_cache proc queues roots salt_cmd sessions syndics tokens tokens-removed",
    // Folders of Salt's file servers and pillars.
    "git_pillar gitfs hgfs minionfs s3cache svnfs",
  ].flatMap((names) => names.split(" ")),
);
/** Forms of further such names. A master that leaves its cluster keeps the records in `cluster-left-…`. A folder whose name ends in `.lmdb.after` exists while the number of the job cache's files changes. */
const ownForms = /\.lmdb(?:[-.]|$)|_key$|^\.|^cluster-left-/;

export class CacheBanks {
  readonly #folder: string;

  constructor(cachedir: string) {
    this.#folder = cachedir;
  }

  /** The keys and banks in a bank, sorted. @throws SaltworksError STORE_FAILED for a refused name */
  list(bank: string): string[] {
    return (
      this.#reading(() => readdirSync(this.#path(bank)))
        ?.map(withoutEnd)
        .sort() ?? []
    );
  }

  fetch(bank: string, key: string): Uint8Array | undefined {
    return this.#reading(() => readFileSync(this.#path(bank, key)));
  }

  store(bank: string, key: string, value: Uint8Array): void {
    const path = this.#path(bank, key);
    mkdirSync(this.#path(bank), { recursive: true, mode: folderMode });
    replaceFile(path, value, fileMode);
  }

  /** Removes a key, or without one the whole bank. @returns false if it did not exist */
  flush(bank: string, key: string | undefined): boolean {
    const path = this.#path(bank, key);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory() !== (key === undefined)) return false;
    rmSync(path, { recursive: true });
    return true;
  }

  #reading<Result>(read: () => Result): Result | undefined {
    try {
      return read();
    } catch (error) {
      if (hasCodeIn(error, "ENOENT", "ENOTDIR", "EISDIR")) return undefined;
      throw error;
    }
  }

  #path(bank: string, key?: string): string {
    const name = normalize(bank);
    const isInside = name !== "." && !isAbsolute(name) && !name.startsWith("..") && !name.includes("\0");
    const first = name.split("/")[0] ?? "";
    const isOwn = ownNames.has(first) || driversCacheNames.has(first) || ownForms.test(first);
    const isKeyName = key === undefined || !/^$|[/\\\0]|^\.\.?$/.test(key);
    if (!isInside || !isKeyName || isOwn)
      throw new SaltworksError("STORE_FAILED", "not a bank or key that operators may use", { bank, key: key ?? "" });
    return key === undefined ? join(this.#folder, name) : join(this.#folder, name, `${key}${fileEnd}`);
  }
}

function withoutEnd(name: string): string {
  return name.endsWith(fileEnd) ? name.slice(0, -fileEnd.length) : name;
}
