/**
 * Backend `minionfs`: files that minions have pushed (`cp.push`), as `MINION_ID/PATH` in one environment. It follows no links, and never serves a top
 * file: a minion would otherwise decide what others run. Source: Salt 3007's `minionfs` backend.
 */
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { nothingIfGone } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { listedFilesMax } from "../../../limits.ts";
import { isExposed } from "../../../python/expression.ts";
import type { AskedFile, FileBackend, FileChanges, FileLists, FoundFile } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";
import { FileHashes } from "../local/hashes.ts";
import { findFile } from "../roots/find.ts";
import { walkRoots } from "../roots/walk.ts";

type Settings = Pick<
  FileServerSettings,
  "cachedir" | "hashType" | "isIgnored" | "isReceiving" | "listAgeMs" | "minionfs"
>;

const noLists: FileLists = { files: [], dirs: [], emptyDirs: [], links: new Map() };

export class MinionfsBackend implements FileBackend {
  readonly name: string;
  readonly #settings: Settings;
  readonly #hashes: FileHashes;
  readonly #nowMs: () => number;
  #lists: { readonly madeMs: number; readonly lists: FileLists } | undefined;
  #listing: Promise<FileLists> | undefined;

  constructor(name: string, settings: Settings, nowMs: () => number = () => performance.now()) {
    this.name = name;
    this.#settings = settings;
    this.#hashes = new FileHashes(settings.hashType);
    this.#nowMs = nowMs;
  }

  /** None while minions may not push, as in Salt. */
  environments(): readonly string[] {
    return this.#settings.isReceiving ? [this.#settings.minionfs.environment] : [];
  }

  /** As in Salt the name that clients hear lacks the mountpoint. */
  async find({ name, environment }: AskedFile): Promise<FoundFile | undefined> {
    const { mountpoint } = this.#settings.minionfs;
    if (!this.environments().includes(environment) || basename(name) === "top.sls") return undefined;
    if (mountpoint !== "" && !name.startsWith(`${mountpoint}/`)) return undefined;
    const below = mountpoint === "" ? name : name.slice(mountpoint.length + 1);
    const [id = "", ...parts] = below.split("/");
    if (parts.length === 0 || !this.#isExposed(id)) return undefined;
    const { isIgnored } = this.#settings;
    const roots = new Map([[environment, [this.#filesOf(id)]]]);
    const asked = { name: parts.join("/"), environment, rootIndex: undefined };
    const found = await findFile({ roots, isIgnored, followsLinks: false }, this.#hashes, asked);
    return found?.named(below);
  }

  async lists(environment: string): Promise<FileLists | undefined> {
    if (!this.environments().includes(environment)) return undefined;
    const known = this.#lists;
    if (known !== undefined && this.#nowMs() - known.madeMs < this.#settings.listAgeMs) return known.lists;
    this.#listing ??= this.#list();
    try {
      const made = await this.#listing;
      const lists = known !== undefined && isSame(known.lists, made) ? known.lists : made;
      this.#lists = { madeMs: this.#nowMs(), lists };
      return lists;
    } finally {
      this.#listing = undefined;
    }
  }

  async clearLists(environments: readonly string[] | undefined): Promise<readonly string[]> {
    const { environment } = this.#settings.minionfs;
    if (this.#lists === undefined || environments?.includes(environment) === false) return [];
    this.#lists = undefined;
    return [environment];
  }

  async update(): Promise<FileChanges> {
    this.#lists = undefined;
    return { isChanged: false, changed: [], added: [], removed: [] };
  }

  #isExposed(id: string): boolean {
    const { whitelist, blacklist } = this.#settings.minionfs;
    return isExposed(id, whitelist, blacklist);
  }

  #filesOf(id: string): string {
    return join(this.#settings.cachedir, "minions", id, "files");
  }

  /** @throws SaltworksError FILES_FAILED for more than `listedFilesMax` files of all minions */
  async #list(): Promise<FileLists> {
    const { cachedir, isIgnored, minionfs } = this.#settings;
    const files: string[] = [];
    const dirs: string[] = [];
    for (const id of await readdir(join(cachedir, "minions")).catch(nothingIfGone)) {
      if (!this.#isExposed(id)) continue;
      const named = (path: string) => [minionfs.mountpoint, id, path].filter((part) => part !== "").join("/");
      const rules = { isIgnored: (path: string) => isIgnored(named(path)), followsLinks: false, hidesLinks: true };
      const own = await walkRoots(rules, [this.#filesOf(id)]);
      files.push(...own.files.map(named));
      dirs.push(...own.dirs.map(named));
      if (files.length + dirs.length > listedFilesMax)
        throw new SaltworksError("FILES_FAILED", `minions have pushed more than ${listedFilesMax} files`, {
          max: listedFilesMax,
        });
    }
    return { ...noLists, files: files.sort(), dirs: dirs.sort() };
  }
}

function isSame(a: FileLists, b: FileLists): boolean {
  const areSame = (one: readonly string[], other: readonly string[]) =>
    one.length === other.length && one.every((name, index) => name === other[index]);
  return areSame(a.files, b.files) && areSame(a.dirs, b.dirs);
}
