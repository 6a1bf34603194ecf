/**
 * Cached pillars (`pillar_cache`), one file per minion under `cachedir/pillar_cache`, in the layout of Salt 3007. Salt's
 * `salt-run pillar.*_pillar_cache` reads and empties the same files. Only the user that runs the master can read them.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../config/files/system-errors.ts";
import { hasCode } from "../errors.ts";
import { pillarCacheEnvironmentsMax, pillarCacheFileBytesMax } from "../limits.ts";
import { decode, encode } from "../wire/msgpack.ts";
import { Float, type Value, type ValueMap } from "../wire/values.ts";
import { replaceFile } from "./disk/durable-file.ts";

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

  /** The cached pillar; undefined if there is none, or it is too old, or the file cannot be read. */
  find(id: string, environment: string | null, nowMs: number): ValueMap | undefined {
    const kept = this.#young(id, nowMs);
    const pillar = kept?.pillars.get(environment);
    return pillar instanceof Map ? pillar : undefined;
  }

  /** Caches a pillar. As in Salt, the age is the whole file's, so caching one environment renews the others. @throws errors of the file system */
  keep(id: string, environment: string | null, pillar: ValueMap, nowMs: number): void {
    const path = this.#pathOf(id);
    if (path === undefined) return;
    this.#open(nowMs);
    const pillars: ValueMap = this.#young(id, nowMs)?.pillars ?? new Map();
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
    else this.#replace(path, bytes, nowMs);
  }

  /** @throws errors of the file system */
  forget(id: string): void {
    const path = this.#pathOf(id);
    if (path !== undefined) rmSync(path, { force: true });
  }

  /** The minion's file; undefined for an id that would lead out of the directory. */
  #pathOf(id: string): string | undefined {
    const isName = id !== "" && id !== "." && id !== ".." && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= 255;
    return isName ? join(this.#directory, id) : undefined;
  }

  /** Replaces the file. Makes the directory again if an operator has removed it. */
  #replace(path: string, bytes: Uint8Array, nowMs: number): void {
    try {
      replaceFile(path, bytes, 0o600);
    } catch (error) {
      if (!hasCodeIn(error, "ENOENT")) throw error;
      this.#isOpen = false;
      this.#open(nowMs);
      replaceFile(path, bytes, 0o600);
    }
  }

  /** Makes the directory private, because a Salt master may have made it readable for all, and removes old files. Once per thread. */
  #open(nowMs: number): void {
    if (this.#isOpen) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    chmodSync(this.#directory, 0o700);
    // Set before old files are removed, so that a file that cannot be removed does not fail every call.
    this.#isOpen = true;
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats?.isFile() === true && nowMs - stats.mtimeMs > this.#ttlMs) rmSync(path, { force: true });
    }
  }

  /** The file unless it is too old. A time in the future, after the clock was set back, counts as too old. */
  #young(id: string, nowMs: number): KeptFile | undefined {
    const kept = this.#read(id);
    if (kept === undefined) return undefined;
    const ageMs = nowMs - kept.atMs;
    return ageMs >= 0 && ageMs <= this.#ttlMs ? kept : undefined;
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
      // A file that is gone, unreadable, on a bad block or not a master's counts as absent. If it cannot be replaced, the write reports why.
      if (isSystemError(error) || isUnreadable(error)) return undefined;
      throw error;
    }
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

function isUnreadable(error: unknown): boolean {
  return hasCode(error, "WIRE_TRUNCATED") || hasCode(error, "WIRE_MALFORMED") || hasCode(error, "WIRE_TOO_LARGE");
}
