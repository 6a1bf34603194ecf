/**
 * Job cache in Salt's directory layout. Its files are not synced: as in Salt, a loss of power may lose the last writes.
 * It is a hundred times slower than LMDB. It exists for tools that read these files, and to read the jobs that a Salt master left.
 */
import { type Dirent, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { jobMinionsBelowMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import { isJid, jidTime } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { storeDamaged, storeFailed } from "../disk/store-error.ts";
import { compareNewestFirst, type JobQuery, searchOneByOne } from "../jobs/facts.ts";
import { FilledPage } from "../jobs/filled-page.ts";
import type {
  JobCache,
  ListOptions,
  LoadRecord,
  LoadToPut,
  PutOutcome,
  ReturnPage,
  ReturnRecord,
  ReturnsFound,
  Trimmed,
  TrimOptions,
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
  type LocalCacheOptions,
  loadFile,
  minionsFile,
  minionsFileOf,
  noCacheFile,
  outFile,
  returnFile,
  returnFilesOf,
} from "./job-files.ts";
import { ReturnFolders } from "./return-folders.ts";

const directoryMode = 0o750;
const fileMode = 0o640;
/** A call of `trim` looks at this many times `stepsMax` jobs. */
const looksPerStep = 10;

/** `onDamaged` gets the fault of each damaged file, every time. Such a file counts as absent. */
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

/** Writes a job's `jid`, `.load.p` and `.minions.p`, and `nocache` if its returns are not stored. */
export function writeLoadFiles(o: LocalCacheOptions, { jid, load, minions, isNoCache }: LoadToPut): void {
  const directory = jobDirectory(o.cachedir, o.hashType, jid);
  try {
    mkdirSync(directory, { recursive: true, mode: directoryMode });
    replaceFile(join(directory, minionsFile), encodeMinions(minions), fileMode);
    replaceFile(join(directory, loadFile), load, fileMode);
    if (isNoCache === true) replaceFile(join(directory, noCacheFile), "", fileMode);
    // `jid` is written last: a directory without it counts as unfinished.
    replaceFile(join(directory, jidFile), jid, fileMode);
  } catch (error) {
    throw storeFailed(`job ${jid} cannot be written in local_cache layout`, error);
  }
}

export class LocalCache implements JobCache {
  readonly #o: LocalCacheReading;
  #walk: Generator<string> | undefined;
  readonly #folders: ReturnFolders;

  constructor(o: LocalCacheReading) {
    this.#o = o;
    this.#folders = new ReturnFolders(o);
  }

  async keepReturns(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    return batch.map((record) => this.#putReturn(record));
  }

  async keepJobs(jobs: readonly LoadToPut[]): Promise<void> {
    for (const job of jobs) writeLoadFiles(this.#o, job);
  }

  async keepNewJob(jid: string, make: () => LoadToPut): Promise<void> {
    if (!existsSync(join(this.#directory(jid), loadFile))) writeLoadFiles(this.#o, make());
  }

  /** Replaces the syndic's former list, as Salt does. */
  async addMinions(jid: string, syndic: string, minions: readonly string[]): Promise<void> {
    const directory = this.#directory(jid);
    if (!existsSync(join(directory, loadFile))) return;
    try {
      replaceFile(
        join(directory, minionsFileOf(syndic)),
        encodeMinions(minions.slice(0, jobMinionsBelowMax)),
        fileMode,
      );
    } catch (error) {
      throw storeFailed(`minions of job ${jid} cannot be written in local_cache layout`, error);
    }
  }

  async job(jid: string): Promise<LoadRecord | undefined> {
    const directory = this.#directory(jid);
    const load = readIfThere(join(directory, loadFile));
    if (load === undefined) return undefined;
    const lists = entriesOf(directory).filter(({ name }) => anyMinionsFile.test(name));
    const minions = lists.flatMap(({ name }) => {
      const file = join(directory, name);
      return this.#readable(file, () => decodeMinions(readIfThere(file) ?? encodeMinions([]))) ?? [];
    });
    return { jid, load, minions: [...new Set(minions)] };
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    return this.#request(jid);
  }

  async returns(jid: string, page: ReturnPage): Promise<ReturnsFound> {
    const filled = new FilledPage(page);
    for (const minionId of this.#folders.onPage(jid, page)) {
      if (filled.isFull) return { returns: filled.returns, hasMore: true };
      const body = this.#returnOf(jid, minionId);
      if (body !== undefined) filled.add({ minionId, body });
    }
    return { returns: filled.returns, hasMore: false };
  }

  async returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    return this.#returnOf(jid, minionId);
  }

  async whichReturned(jid: string, minionIds: readonly string[]): Promise<string[]> {
    return minionIds.filter((minionId) => this.#returnOf(jid, minionId) !== undefined);
  }

  async list({ newestFirst, limit, before }: ListOptions): Promise<string[]> {
    const jids = this.#allJids().filter((jid) => before === undefined || jid < before);
    return (newestFirst ? jids : jids.reverse()).slice(0, limit);
  }

  async find(query: JobQuery): Promise<string[]> {
    return searchOneByOne(this.#allJids(), (jid) => this.#request(jid), query);
  }

  async endTime(jid: string): Promise<string | undefined> {
    return readIfThere(join(this.#directory(jid), endTimeFile))
      ?.toString("utf8")
      .trim();
  }

  /** Empty, because `keepReturns` looks for the file `nocache` of each job. */
  async unkeptJobs(): Promise<string[]> {
    return [];
  }

  #request(jid: string): Buffer | undefined {
    return readIfThere(join(this.#directory(jid), loadFile));
  }

  #returnOf(jid: string, minionId: string): Buffer | undefined {
    const directory = join(this.#directory(jid), minionId);
    const file = join(directory, returnFile);
    const returned = readIfThere(file);
    if (returned === undefined) return undefined;
    return this.#readable(file, () =>
      bodyFromFiles(jid, minionId, { returned, out: readIfThere(join(directory, outFile)) }),
    );
  }

  /** Runs a step on a file's contents. A file that is damaged, or cut by a loss of power, counts as absent. */
  #readable<Result>(file: string, step: () => Result): Result | undefined {
    try {
      return step();
    } catch (error) {
      if (!(error instanceof SaltworksError) || !error.code.startsWith("WIRE_")) throw error;
      this.#o.onDamaged?.(storeDamaged(`${file} is not what was stored: ${error.message}`));
      return undefined;
    }
  }

  /** The ids of all jobs, newest first. */
  #allJids(): string[] {
    const jids: string[] = [];
    for (const directory of this.#jobDirectories()) {
      const jid = this.#jidIn(join(directory, loadFile));
      if (jid !== undefined) jids.push(jid);
    }
    return jids.sort(compareNewestFirst);
  }

  /** The id of the job in a load file. With `onDamaged`, a file that cannot be read is reported and left out. */
  #jidIn(file: string): string | undefined {
    try {
      const load = readIfThere(file);
      return load === undefined ? undefined : this.#readable(file, () => jidOf(load));
    } catch (error) {
      if (this.#o.onDamaged === undefined || !hasCode(error, "STORE_FAILED")) throw error;
      this.#o.onDamaged(error as Error);
      return undefined;
    }
  }

  /** Removes old jobs; ignores `keep`, which our store applies. Each call goes on where the last stopped, so that none looks at too many jobs. */
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
    // As in Salt, where a directory cannot have the name of one of the job's files.
    if (minionId === jidFile || minionId === noCacheFile || minionId.startsWith(".")) return "duplicate";
    if (existsSync(join(directory, noCacheFile))) return "stored";
    const { returned, out } = returnFilesOf(body);
    const folder = join(directory, minionId);
    let isMade = false;
    try {
      mkdirSync(directory, { recursive: true, mode: directoryMode });
      // As in Salt, a return is a duplicate if its directory already exists.
      mkdirSync(folder, { mode: directoryMode });
      isMade = true;
      replaceFile(join(folder, returnFile), returned, fileMode);
      if (out !== undefined) replaceFile(join(folder, outFile), out, fileMode);
      return "stored";
    } catch (error) {
      // A folder without `return.p` is a remnant of a killed master.
      if (!isMade && hasCodeIn(error, "EEXIST")) {
        if (existsSync(join(folder, returnFile))) return "duplicate";
        rmSync(folder, { recursive: true, force: true });
        return this.#putReturn({ jid, minionId, body });
      }
      // An empty folder would make the next try a duplicate.
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

/** The job id in a load. @throws SaltworksError WIRE_MALFORMED and other WIRE_ codes */
function jidOf(load: Uint8Array): string {
  const decoded = decode(load);
  const jid = decoded instanceof Map ? textField(decoded, "jid") : undefined;
  if (jid === undefined) throw new SaltworksError("WIRE_MALFORMED", "it has no job id");
  return jid;
}

/** Compares the time of the file `jid`. A directory without one is a remnant of an interrupted write; then its own time counts. */
function isOlder(directory: string, olderThanMs: number): boolean {
  const stat =
    statSync(join(directory, jidFile), { throwIfNoEntry: false }) ?? statSync(directory, { throwIfNoEntry: false });
  return stat !== undefined && stat.mtimeMs < olderThanMs;
}

export function openLocalCache(o: LocalCacheReading): JobCache {
  return new LocalCache(o);
}
