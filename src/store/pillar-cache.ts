/**
 * Kept pillars (`pillar_cache`), one file a minion under `cachedir/pillar_cache`, in the layout of Salt 3007, whose `salt-run pillar.*_pillar_cache`
 * reads and empties the same files. Only the master's own account can read them.
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

  /** Undefined if the pillar is not kept or too old, or the file cannot be read. */
  find(id: string, environment: string | null, nowMs: number): ValueMap | undefined {
    const kept = this.#young(id, nowMs);
    const pillar = kept?.pillars.get(environment);
    return pillar instanceof Map ? pillar : undefined;
  }

  /** As in Salt the age is the file's, so that a further environment makes those before it younger. @throws what the system refuses */
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

  /** @throws what the system refuses */
  forget(id: string): void {
    const path = this.#pathOf(id);
    if (path !== undefined) rmSync(path, { force: true });
  }

  /** Undefined for an id that would lead elsewhere. */
  #pathOf(id: string): string | undefined {
    const isName = id !== "" && id !== "." && id !== ".." && !/[/\\\0]/.test(id) && Buffer.byteLength(id) <= 255;
    return isName ? join(this.#directory, id) : undefined;
  }

  /** An operator may have removed the directory under the running master. */
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

  /** Salt's master may have made the directory readable for all users. Removes files that are too old, once in a thread's life. */
  #open(nowMs: number): void {
    if (this.#isOpen) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    chmodSync(this.#directory, 0o700);
    // Set before old files go: one that cannot be removed must not stop all others.
    this.#isOpen = true;
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats?.isFile() === true && nowMs - stats.mtimeMs > this.#ttlMs) rmSync(path, { force: true });
    }
  }

  /** A time in the future comes from a clock that was set back since. It counts as too old. */
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
      // Removed meanwhile, unreadable, on a bad block or not written by a master: it counts as not kept. Writing a new one tells what is wrong.
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
