/**
 * Job cache in Salt's own directory layout. Nothing is synced: as in Salt, a loss of power may cost the last moments.
 * Slower than LMDB by a hundred times; it exists for tools that read these files, and to read what a Salt master left.
 */
import { type Dirent, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { textField } from "../../wire/fields.ts";
import { isJid, jidTime } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { storeDamaged, storeFailed } from "../disk/store-error.ts";
import { compareNewestFirst, type JobQuery, searchOneByOne } from "../jobs/facts.ts";
import {
  compareIds,
  type JobStore,
  type ListOptions,
  type LoadRecord,
  type LoadToPut,
  type PutOutcome,
  type ReturnPage,
  type ReturnRecord,
  type StoredReturn,
  type Trimmed,
  type TrimOptions,
} from "../jobs/job-cache.ts";
import {
  anyMinionsFile,
  bodyFromFiles,
  decodeMinions,
  encodeMinions,
  endTimeFile,
  jidFile,
  jobDirectory,
  jobsDirectory,
  loadFile,
  minionsFile,
  noCacheFile,
  outFile,
  returnFile,
  returnFilesOf,
} from "./job-files.ts";

const directoryMode = 0o750;
const fileMode = 0o640;
/** Jobs looked at per job that may go in one call of `trim`. */
const looksPerStep = 10;

export type LocalCacheOptions = { readonly cachedir: string; readonly hashType: string };
/** `onDamaged` gets what is wrong with a return that counts as absent, each time. */
export type LocalCacheReading = LocalCacheOptions & { readonly onDamaged?: (error: Error) => void };

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR", "EISDIR")) return undefined;
    throw storeFailed(`${path} cannot be read`, error);
  }
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw storeFailed(`${directory} cannot be read`, error);
  }
}

function foldersIn(directory: string): string[] {
  return entriesOf(directory)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name);
}

/** Writes a job's `jid`, `.load.p`, `.minions.p` and the mark of one whose returns are not kept. Used for every job: Salt's command line reads them. */
export function writeLoadFiles(o: LocalCacheOptions, { jid, load, minions, isNoCache }: LoadToPut): void {
  const directory = jobDirectory(o.cachedir, o.hashType, jid);
  try {
    mkdirSync(directory, { recursive: true, mode: directoryMode });
    replaceFile(join(directory, minionsFile), encodeMinions(minions), fileMode);
    replaceFile(join(directory, loadFile), load, fileMode);
    if (isNoCache === true) replaceFile(join(directory, noCacheFile), "", fileMode);
    // Last: a directory without it counts as unfinished.
    replaceFile(join(directory, jidFile), jid, fileMode);
  } catch (error) {
    throw storeFailed(`job ${jid} cannot be written in local_cache layout`, error);
  }
}

export class LocalCache implements JobStore {
  readonly #o: LocalCacheReading;
  #walk: Generator<string> | undefined;
  #listing: { readonly jid: string; readonly ids: readonly string[] } | undefined;

  constructor(o: LocalCacheReading) {
    this.#o = o;
  }

  async keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    return batch.map((record) => this.#putReturn(record));
  }

  async keepJobs(jobs: readonly LoadToPut[]): Promise<void> {
    for (const job of jobs) writeLoadFiles(this.#o, job);
  }

  async keepNewJob(job: LoadToPut): Promise<void> {
    if (!existsSync(join(this.#directory(job.jid), loadFile))) writeLoadFiles(this.#o, job);
  }

  job(jid: string): LoadRecord | undefined {
    const directory = this.#directory(jid);
    const load = readIfThere(join(directory, loadFile));
    if (load === undefined) return undefined;
    const lists = entriesOf(directory).filter(({ name }) => anyMinionsFile.test(name));
    const minions = lists.flatMap(
      ({ name }) => readable(() => decodeMinions(readIfThere(join(directory, name)) ?? encodeMinions([]))) ?? [],
    );
    return { jid, load, minions: [...new Set(minions)] };
  }

  request(jid: string): Uint8Array | undefined {
    return readIfThere(join(this.#directory(jid), loadFile));
  }

  returns(jid: string, { after, limit }: ReturnPage): StoredReturn[] {
    const returns: StoredReturn[] = [];
    for (const minionId of this.#returned(jid)) {
      if (returns.length >= limit) break;
      if (after !== undefined && compareIds(minionId, after) <= 0) continue;
      const body = this.returnOf(jid, minionId);
      if (body !== undefined) returns.push({ minionId, body });
    }
    return returns;
  }

  returnOf(jid: string, minionId: string): Buffer | undefined {
    const directory = join(this.#directory(jid), minionId);
    const file = join(directory, returnFile);
    const returned = readIfThere(file);
    if (returned === undefined) return undefined;
    return readable(
      () => bodyFromFiles(jid, minionId, { returned, out: readIfThere(join(directory, outFile)) }),
      (error) => this.#o.onDamaged?.(storeDamaged(`${file} is not what was stored: ${error.message}`)),
    );
  }

  async whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return minionIds.filter((minionId) => this.returnOf(jid, minionId) !== undefined);
  }

  list({ newestFirst, limit, before }: ListOptions): string[] {
    const jids = this.#allJids().filter((jid) => before === undefined || jid < before);
    return (newestFirst ? jids : jids.reverse()).slice(0, limit);
  }

  find(query: JobQuery): string[] {
    return searchOneByOne(this.#allJids(), (jid) => this.request(jid), query);
  }

  endTime(jid: string): string | undefined {
    return readIfThere(join(this.#directory(jid), endTimeFile))
      ?.toString("utf8")
      .trim();
  }

  /** The marks are looked for where a return is written. */
  async unkeptJobs(): Promise<string[]> {
    return [];
  }

  /** Minions with a folder, sorted. Listed once a turn, for all pages that are asked for in it. */
  #returned(jid: string): readonly string[] {
    if (this.#listing?.jid !== jid) {
      this.#listing = { jid, ids: foldersIn(this.#directory(jid)).sort(compareIds) };
      queueMicrotask(() => {
        this.#listing = undefined;
      });
    }
    return this.#listing.ids;
  }

  /** Newest first. */
  #allJids(): string[] {
    const jids: string[] = [];
    for (const directory of this.#jobDirectories()) {
      const load = readIfThere(join(directory, loadFile));
      const jid = load === undefined ? undefined : jidOf(load);
      if (jid !== undefined) jids.push(jid);
    }
    return jids.sort(compareNewestFirst);
  }

  /** Goes on where the last call stopped, so that no call looks at too many jobs. Removes old jobs alone: what writes these files counts elsewhere. */
  async trim({ olderThanJid, stepsMax }: TrimOptions): Promise<Trimmed> {
    const removed = isJid(olderThanJid) ? this.#removeOlder(jidTime(olderThanJid).getTime(), stepsMax) : 0;
    return { removed, hasMore: removed >= stepsMax, olderThanJid };
  }

  async close(): Promise<void> {
    this.#walk = undefined;
  }

  #removeOlder(olderThanMs: number, stepsMax: number): number {
    let steps = 0;
    for (let looks = 0; looks < stepsMax * looksPerStep && steps < stepsMax; looks += 1) {
      this.#walk ??= this.#jobDirectories();
      const { value: directory, done } = this.#walk.next();
      if (done || directory === undefined) {
        this.#walk = undefined;
        return steps;
      }
      if (!isOlder(directory, olderThanMs)) continue;
      rmSync(directory, { recursive: true, force: true });
      steps += 1;
    }
    return steps;
  }

  #putReturn({ jid, minionId, body }: ReturnRecord): PutOutcome {
    const directory = this.#directory(jid);
    if (existsSync(join(directory, noCacheFile))) return "stored";
    const { returned, out } = returnFilesOf(body);
    const folder = join(directory, minionId);
    let isMade = false;
    try {
      mkdirSync(directory, { recursive: true, mode: directoryMode });
      // As in Salt, making this directory is what tells a first return from a second.
      mkdirSync(folder, { mode: directoryMode });
      isMade = true;
      replaceFile(join(folder, returnFile), returned, fileMode);
      if (out !== undefined) replaceFile(join(folder, outFile), out, fileMode);
      return "stored";
    } catch (error) {
      // A folder without it is what a master that was killed left.
      if (!isMade && hasCodeIn(error, "EEXIST")) {
        if (existsSync(join(folder, returnFile))) return "duplicate";
        rmSync(folder, { recursive: true, force: true });
        return this.#putReturn({ jid, minionId, body });
      }
      // Left empty, it would make a duplicate of the next try.
      if (isMade) rmSync(folder, { recursive: true, force: true });
      throw storeFailed(`a return of job ${jid} cannot be written in local_cache layout`, error);
    }
  }

  #directory(jid: string): string {
    return jobDirectory(this.#o.cachedir, this.#o.hashType, jid);
  }

  *#jobDirectories(): Generator<string> {
    const top = jobsDirectory(this.#o.cachedir);
    for (const head of foldersIn(top)) {
      for (const rest of foldersIn(join(top, head))) yield join(top, head, rest);
    }
  }
}

/** Files are not synced: one that a loss of power cut off, or that is damaged, counts as absent and hides no other. */
function readable<Result>(step: () => Result, onDamaged?: (error: Error) => void): Result | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof SaltworksError) || !error.code.startsWith("WIRE_")) throw error;
    onDamaged?.(error);
    return undefined;
  }
}

function jidOf(load: Uint8Array): string | undefined {
  const decoded = readable(() => decode(load));
  return decoded instanceof Map ? textField(decoded, "jid") : undefined;
}

/** By the time at which the `jid` file was written; a directory without one is what an interrupted write left. */
function isOlder(directory: string, olderThanMs: number): boolean {
  const stat =
    statSync(join(directory, jidFile), { throwIfNoEntry: false }) ?? statSync(directory, { throwIfNoEntry: false });
  return stat !== undefined && stat.mtimeMs < olderThanMs;
}

export function openLocalCache(o: LocalCacheReading): JobStore {
  return new LocalCache(o);
}
