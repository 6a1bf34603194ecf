/**
 * Values that operators keep beside the master's own: a folder per bank under the cache directory, a file per key in the new msgpack
 * flavour. Salt's layout (its `localfs` cache), so that its tools read them. Banks and keys never lead out of the directory.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { hasCodeIn } from "../config/files/system-errors.ts";
import { SaltworksError } from "../errors.ts";
import { replaceFile } from "./disk/durable-file.ts";

const fileEnd = ".p";
const fileMode = 0o600;
const folderMode = 0o700;
/** Names in the cache directory that belong to this master or to Salt's. Every name that a master makes there is listed here (`test/fleet/masters/cache-banks.test.ts`). */
const ownNames: ReadonlySet<string> = new Set(
  [
    "accounts batches extmods file_lists grains jobs mine minions pillar pillar_cache proc queues roots salt_cmd sessions syndics tokens",
    // What Salt's file servers and pillars keep.
    "git_pillar gitfs hgfs minionfs s3cache svnfs",
  ].flatMap((names) => names.split(" ")),
);
/** The job cache has directories beside it while its number of files changes (`jobs.lmdb.after`). */
const ownForms = /\.lmdb(?:[-.]|$)|_key$|^\./;

export class CacheBanks {
  readonly #folder: string;

  constructor(cachedir: string) {
    this.#folder = cachedir;
  }

  /** Keys and banks within a bank, sorted. @throws SaltworksError STORE_FAILED for a name that leads elsewhere */
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

  /** Without a key the whole bank. @returns false if there was nothing */
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
    const isOwn = ownNames.has(first) || ownForms.test(first);
    const isKeyName = key === undefined || !/^$|[/\\\0]|^\.\.?$/.test(key);
    if (!isInside || !isKeyName || isOwn)
      throw new SaltworksError("STORE_FAILED", "not a bank or key that may be used here", { bank, key: key ?? "" });
    return key === undefined ? join(this.#folder, name) : join(this.#folder, name, `${key}${fileEnd}`);
  }
}

function withoutEnd(name: string): string {
  return name.endsWith(fileEnd) ? name.slice(0, -fileEnd.length) : name;
}
