/**
 * Kept pillars (`pillar_cache`), one file a minion under `cachedir/pillar_cache`, in the layout of Salt 3007, whose `salt-run pillar.*_pillar_cache`
 * reads and empties the same files. Only the master's own account can read them.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../config/file-errors.ts";
import { hasCode } from "../errors.ts";
import { pillarCacheEnvironmentsMax, pillarCacheFileBytesMax } from "../limits.ts";
import { decode, encode } from "../wire/msgpack.ts";
import { Float, type Value, type ValueMap } from "../wire/values.ts";
import { replaceFile } from "./durable-file.ts";

const dataKey = "CacheDisk_data";
const timeKey = "CacheDisk_cachetime";

type KeptFile = { readonly pillars: ValueMap; readonly atMs: number };

function secondsOf(value: Value | undefined): number {
  return value instanceof Float ? value.value : Number(value ?? 0);
}

export class PillarCacheFiles {
  readonly #directory: string;
  readonly #ttlMs: number;
  #isOpen = false;

  constructor(directory: string, ttlMs: number) {
    this.#directory = directory;
    this.#ttlMs = ttlMs;
  }

  /** Undefined for a pillar that is not kept or too old, and where the file cannot be read. */
  find(id: string, environment: string | null, nowMs: number): ValueMap | undefined {
    const kept = this.#read(id);
    if (kept === undefined || nowMs - kept.atMs > this.#ttlMs) return undefined;
    const pillar = kept.pillars.get(environment);
    return pillar instanceof Map ? pillar : undefined;
  }

  /** As in Salt the age is the file's, so that a further environment makes those before it younger. */
  keep(id: string, environment: string | null, pillar: ValueMap, nowMs: number): void {
    const path = this.#pathOf(id);
    if (path === undefined) return;
    this.#open(nowMs);
    const kept = this.#read(id);
    const pillars: ValueMap = kept !== undefined && nowMs - kept.atMs <= this.#ttlMs ? kept.pillars : new Map();
    pillars.delete(environment);
    pillars.set(environment, pillar);
    for (const name of pillars.keys()) {
      if (pillars.size <= pillarCacheEnvironmentsMax) break;
      pillars.delete(name);
    }
    const bytes = encode(
      new Map<string, ValueMap>([
        [dataKey, new Map([[id, pillars]])],
        [timeKey, new Map([[id, new Float(nowMs / 1_000)]])],
      ]),
      "bin",
    );
    if (bytes.byteLength > pillarCacheFileBytesMax) this.forget(id);
    else replaceFile(path, bytes, 0o600);
  }

  forget(id: string): void {
    const path = this.#pathOf(id);
    if (path !== undefined) rmSync(path, { force: true });
  }

  /** Undefined for an id that would lead elsewhere. */
  #pathOf(id: string): string | undefined {
    const isName = id !== "" && id !== "." && id !== ".." && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= 255;
    return isName ? join(this.#directory, id) : undefined;
  }

  /** Salt's master may have made the directory, for everybody to read. Files that are too old go once in a thread's life. */
  #open(nowMs: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    chmodSync(this.#directory, 0o700);
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats?.isFile() === true && nowMs - stats.mtimeMs > this.#ttlMs) rmSync(path, { force: true });
    }
  }

  #read(id: string): KeptFile | undefined {
    const path = this.#pathOf(id);
    if (path === undefined) return undefined;
    try {
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined || stats.size === 0 || stats.size > pillarCacheFileBytesMax) return undefined;
      const file = decode(readFileSync(path));
      const [data, times] = file instanceof Map ? [file.get(dataKey), file.get(timeKey)] : [];
      const pillars = data instanceof Map ? data.get(id) : undefined;
      const seconds = times instanceof Map ? secondsOf(times.get(id)) : 0;
      return pillars instanceof Map ? { pillars, atMs: seconds * 1_000 } : undefined;
    } catch (error) {
      // Gone in the meantime, or not written by a master: as good as not kept.
      if (hasCodeIn(error, "ENOENT") || isUnreadable(error)) return undefined;
      throw error;
    }
  }
}

function isUnreadable(error: unknown): boolean {
  return hasCode(error, "WIRE_TRUNCATED") || hasCode(error, "WIRE_MALFORMED") || hasCode(error, "WIRE_TOO_LARGE");
}
