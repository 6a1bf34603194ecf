/**
 * Records that expire, such as tokens: one file each, which only the master's user may read. A file's name is a digest of its secret and its time of
 * change is the record's end. An index by minute finds expired records without a look at the others.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { opendir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { expiredPerStepMax } from "../../limits.ts";
import { replaceFile } from "../disk/durable-file.ts";

const fileMode = 0o600;
const directoryMode = 0o700;
const minuteMs = 60_000;
/** The latest time of change that every file system keeps, seconds. A record that ends later is dated anew at each sweep. */
const secondsMax = 4_000_000_000;

/** The name of a secret's file. It does not reveal the secret, which is random. */
export function digestOf(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex");
}

export type ExpiringFilesOptions = {
  readonly directory: string;
  /** What names have after the digest. */
  readonly ending: string;
  /** Larger files are not read. */
  readonly fileBytesMax: number;
  /** The end of a record by its content, for files whose time of change a copy of the directory has lost; without it that time counts. */
  readonly endMsIn?: (bytes: Uint8Array) => number | undefined;
};

export class ExpiringFiles {
  readonly #options: ExpiringFilesOptions;
  /** Names by the minute of their end. */
  readonly #byMinute = new Map<number, Set<string>>();
  readonly #minutes = new Map<string, number>();
  /** Files that were there at the start and that no sweep has indexed yet. */
  #unread: number;
  #isIndexed = false;

  /** Makes a missing directory. */
  constructor(options: ExpiringFilesOptions) {
    this.#options = options;
    mkdirSync(options.directory, { recursive: true, mode: directoryMode });
    this.#unread = readdirSync(options.directory).length;
  }

  /** Records, expired ones included until a sweep. */
  get count(): number {
    return this.#unread + this.#minutes.size;
  }

  /** Whether the index has the record. After a start it knows only new ones until the first sweep. */
  isKnown(name: string): boolean {
    return this.#minutes.has(name);
  }

  /** @throws what the file system says */
  write(name: string, bytes: Uint8Array, endMs: number): void {
    const path = this.#path(name);
    replaceFile(path, bytes, fileMode);
    const seconds = Math.min(endMs / 1_000, secondsMax);
    utimesSync(path, seconds, seconds);
    this.#note(name, endMs);
  }

  /** Undefined if there is no such record. @throws what the file system says */
  read(name: string): Buffer | undefined {
    try {
      if (statSync(this.#path(name)).size > this.#options.fileBytesMax) return undefined;
      return readFileSync(this.#path(name));
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  /** @returns false if there is no such record. @throws what the file system says */
  remove(name: string): boolean {
    try {
      rmSync(this.#path(name));
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return false;
      throw error;
    }
    if (!this.#forget(name)) this.#unread = Math.max(0, this.#unread - 1);
    return true;
  }

  /**
   * Removes expired records, `expiredPerStepMax` at a time; other work of the thread runs in between. The first sweep also makes the index.
   *
   * @param adopt takes a file with another name
   * @returns how many were removed
   */
  async sweep(nowMs: number, adopt?: (name: string) => void): Promise<number> {
    if (!this.#isIndexed) await this.#index(adopt);
    let removed = 0;
    for (const minute of [...this.#byMinute.keys()].filter((each) => each * minuteMs <= nowMs))
      for (const name of [...(this.#byMinute.get(minute) ?? [])]) {
        if (!(await this.#isOver(name, nowMs))) continue;
        await rm(this.#path(name), { force: true });
        this.#forget(name);
        removed += 1;
        if (removed % expiredPerStepMax === 0) await nextTurn();
      }
    return removed;
  }

  async #index(adopt?: (name: string) => void): Promise<void> {
    let looked = 0;
    for await (const { name } of await opendir(this.#options.directory)) {
      looked += 1;
      if (looked % expiredPerStepMax === 0) await nextTurn();
      if (this.#minutes.has(name)) continue;
      if (!this.#isRecord(name)) adopt?.(name);
      else if (!this.#minutes.has(name)) this.#note(name, (await this.#changedMs(name)) ?? 0);
    }
    this.#unread = 0;
    this.#isIndexed = true;
  }

  #isRecord(name: string): boolean {
    return /^[0-9a-f]{64}$/.test(name.slice(0, 64)) && name.slice(64) === this.#options.ending;
  }

  /** Looks at the file once more: the index knows minutes, and the time of change may be wrong. */
  async #isOver(name: string, nowMs: number): Promise<boolean> {
    const bytes = this.#options.endMsIn === undefined ? undefined : this.read(name);
    const endMs = bytes === undefined ? await this.#changedMs(name) : this.#options.endMsIn?.(bytes);
    if (endMs === undefined || endMs <= nowMs) return true;
    this.#note(name, endMs);
    return false;
  }

  async #changedMs(name: string): Promise<number | undefined> {
    try {
      return (await stat(this.#path(name))).mtimeMs;
    } catch (error) {
      if (hasCodeIn(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  #note(name: string, endMs: number): void {
    this.#forget(name);
    const minute = Math.floor(endMs / minuteMs);
    const names = this.#byMinute.get(minute);
    if (names === undefined) this.#byMinute.set(minute, new Set([name]));
    else names.add(name);
    this.#minutes.set(name, minute);
  }

  /** @returns whether the index had it */
  #forget(name: string): boolean {
    const minute = this.#minutes.get(name);
    if (minute === undefined) return false;
    this.#minutes.delete(name);
    const names = this.#byMinute.get(minute);
    names?.delete(name);
    if (names?.size === 0) this.#byMinute.delete(minute);
    return true;
  }

  #path(name: string): string {
    return join(this.#options.directory, name);
  }
}
