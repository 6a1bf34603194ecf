/**
 * Caches the lists of an environment's files for `fileserver_list_cache_time`, in files where Salt keeps them. After such a file is removed
 * (by `fileserver.clear_file_list_cache` or any program), the next request makes the list anew.
 */
import { mkdirSync, type Stats } from "node:fs";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isNotThere } from "../../../config/files/system-errors.ts";
import { SaltworksError } from "../../../errors.ts";
import { fileListsKeptMax } from "../../../limits.ts";
import { replaceFile } from "../../../store/disk/durable-file.ts";
import { decode, encode } from "../../../wire/msgpack.ts";
import type { Value } from "../../../wire/values.ts";
import type { FileLists } from "../contract/backend.ts";
import type { FileServerSettings } from "../contract/settings.ts";
import { rootsOfEnvironment } from "./find.ts";
import { walkRoots } from "./walk.ts";

type Kept = { readonly stamp: string; readonly lists: FileLists };
const fileMode = 0o600;
const extension = ".p";

export class FileListCache {
  readonly counters = { made: 0, known: 0 };
  readonly #settings: FileServerSettings;
  readonly #nowMs: () => number;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Map<string, Promise<FileLists>>();

  constructor(settings: FileServerSettings, nowMs: () => number = Date.now) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  /** Returns the same object while the lists are unchanged; undefined for an unknown environment. */
  async lists(environment: string): Promise<FileLists | undefined> {
    if (rootsOfEnvironment(this.#settings, environment) === undefined) return undefined;
    const underWay = this.#underWay.get(environment);
    if (underWay !== undefined) return await underWay;
    const finding = this.#find(environment);
    this.#underWay.set(environment, finding);
    try {
      return await finding;
    } finally {
      this.#underWay.delete(environment);
    }
  }

  /** Removes the lists of these environments, or of all. @returns the sorted names of environments whose list existed */
  async clear(environments: readonly string[] | undefined): Promise<readonly string[]> {
    const names = (await this.#files()).map((name) => name.slice(0, -extension.length));
    const wanted = names.filter((name) => environments === undefined || environments.map(fileName).includes(name));
    for (const name of wanted) await unlink(join(this.#directory, name + extension));
    return wanted.sort();
  }

  get #directory(): string {
    return join(this.#settings.cachedir, "file_lists", "roots");
  }

  async #files(): Promise<string[]> {
    try {
      return (await readdir(this.#directory)).filter((name) => name.endsWith(extension) && !name.startsWith("."));
    } catch (error) {
      if (isNotThere(error)) return [];
      throw error;
    }
  }

  async #find(environment: string): Promise<FileLists> {
    const path = join(this.#directory, fileName(environment) + extension);
    const stats = await statOf(path);
    const ageMs = stats === undefined ? Number.POSITIVE_INFINITY : this.#nowMs() - stats.mtimeMs;
    // A list whose time lies more than 1 s in the future is made anew.
    const isYoung = ageMs >= -1_000 && ageMs < this.#settings.listAgeMs;
    const known = stats !== undefined && isYoung ? await this.#known(environment, path, stats) : undefined;
    if (known !== undefined) {
      this.counters.known += 1;
      return known;
    }
    this.counters.made += 1;
    const lists = await walkRoots(this.#settings, rootsOfEnvironment(this.#settings, environment) ?? []);
    // With `__env__` clients may ask for any environment name. Empty lists are not cached, so that clients cannot fill the disk.
    if (!this.#settings.roots.has(environment) && lists.files.length + lists.dirs.length === 0) return lists;
    mkdirSync(this.#directory, { recursive: true });
    replaceFile(path, encode(recordOf(lists), "bin"), fileMode);
    this.#keep(environment, await statOf(path), lists);
    return lists;
  }

  async #known(environment: string, path: string, stats: Stats): Promise<FileLists | undefined> {
    const kept = this.#kept.get(environment);
    if (kept?.stamp === stampOf(stats)) return kept.lists;
    try {
      const lists = listsOf(decode(await readFile(path)));
      if (lists !== undefined) this.#keep(environment, stats, lists);
      return lists;
    } catch (error) {
      // Another program removed the file or is writing it: the caller makes the list.
      if (isNotThere(error) || (error instanceof SaltworksError && error.code.startsWith("WIRE_"))) return undefined;
      throw error;
    }
  }

  #keep(environment: string, stats: Stats | undefined, lists: FileLists): void {
    this.#kept.delete(environment);
    if (stats !== undefined) this.#kept.set(environment, { stamp: stampOf(stats), lists });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > fileListsKeptMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** Escapes an environment's name for a file name, as Salt does. */
function fileName(environment: string): string {
  return environment.replace(/[\\:/*?"<>|]/g, (letter) => {
    const code = letter.charCodeAt(0).toString(16).toUpperCase();
    return `%${code}`;
  });
}

function recordOf({ files, dirs, emptyDirs, links }: FileLists) {
  return { files, dirs, empty_dirs: emptyDirs, links };
}

function listsOf(record: Value): FileLists | undefined {
  if (!(record instanceof Map)) return undefined;
  const [files, dirs, emptyDirs] = ["files", "dirs", "empty_dirs"].map((name) => textsOf(record.get(name)));
  const links = record.get("links");
  if (files === undefined || dirs === undefined || emptyDirs === undefined || !(links instanceof Map)) return undefined;
  return { files, dirs, emptyDirs, links: new Map([...links].map(([name, to]) => [String(name), String(to)])) };
}

function textsOf(value: Value | undefined): string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

function stampOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}
