/** Adds the records of a migration to a job cache in Salt's layout. Jobs and returns that are there stay as they are. */
import { existsSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { SaltworksError } from "../../errors.ts";
import { isJid, isUsableJid, jidTime } from "../../wire/jid.ts";
import { replaceFile } from "../disk/durable-file.ts";
import { storeFailed } from "../disk/store-error.ts";
import type { ImportBatch, Imported, ImportedJob, ImportedReturn, JobImport } from "../jobs/job-import.ts";
import {
  endTimeFile,
  jidFile,
  jobDirectory,
  type LocalCacheOptions,
  loadFile,
  noCacheFile,
  returnFile,
} from "./job-files.ts";
import { LocalCache, writeLoadFiles } from "./local-cache.ts";

/** Longest name in a directory, bytes. */
const nameBytesMax = 255;
const fileMode = 0o640;
/** Files of a job. A minion of such a name has no place beside them. */
const ownNames: readonly string[] = [jidFile, noCacheFile, endTimeFile];

export class SaltJobImport implements JobImport {
  readonly #o: LocalCacheOptions;
  readonly #files: LocalCache;

  constructor(o: LocalCacheOptions) {
    this.#o = o;
    this.#files = new LocalCache(o);
  }

  refusalOf(jid: string, minionId?: string): string | undefined {
    if (!isUsableJid(jid)) return "its job id cannot be in Salt's layout";
    const isName = minionId === undefined || (isFolderName(minionId) && !ownNames.includes(minionId));
    return isName ? undefined : "the minion's id cannot be the name of a folder";
  }

  async write(batch: ImportBatch): Promise<Imported> {
    try {
      return await this.#write(batch);
    } catch (error) {
      if (error instanceof SaltworksError) throw error;
      throw storeFailed("migrated jobs cannot be written in Salt's layout", error);
    }
  }

  async #write({ jobs, returns, ends }: ImportBatch): Promise<Imported> {
    const newJobs = jobs.filter((job) => this.#addJob(job)).length;
    let newReturns = 0;
    for (const one of returns) newReturns += (await this.#addReturn(one)) ? 1 : 0;
    for (const { jid, end } of ends) {
      const file = join(directoryIn(this.#o, jid), endTimeFile);
      if (existsSync(directoryIn(this.#o, jid)) && !existsSync(file)) replaceFile(file, end, fileMode);
    }
    const present = jobs.length + returns.length - newJobs - newReturns;
    return { jobs: newJobs, returns: newReturns, present };
  }

  async close(): Promise<void> {
    await this.#files.close();
  }

  /** The time of the file `jid` decides when Salt, and this master, remove the job. */
  #addJob(job: ImportedJob): boolean {
    const directory = directoryIn(this.#o, job.jid);
    if (existsSync(join(directory, loadFile)) && existsSync(join(directory, jidFile))) return false;
    writeLoadFiles(this.#o, job);
    setJobTime(directory, job.jid);
    return true;
  }

  async #addReturn({ jid, minionId, body, atMs }: ImportedReturn): Promise<boolean> {
    const file = join(directoryIn(this.#o, jid), minionId, returnFile);
    if (existsSync(file)) return false;
    await this.#files.keepReturns([{ jid, minionId, body }]);
    // Not written: the job's returns are not to be stored.
    if (!existsSync(file)) return false;
    if (atMs !== undefined) setTime(file, atMs);
    this.#nameJob(jid);
    return true;
  }

  /** A return may come without its request. Salt removes a directory that no file names, and a later migration could not tell whose it is. */
  #nameJob(jid: string): void {
    const directory = directoryIn(this.#o, jid);
    if (existsSync(join(directory, jidFile))) return;
    replaceFile(join(directory, jidFile), jid, fileMode);
    setJobTime(directory, jid);
  }
}

function directoryIn({ cachedir, hashType }: LocalCacheOptions, jid: string): string {
  return jobDirectory(cachedir, hashType, jid);
}

function setJobTime(directory: string, jid: string): void {
  if (isJid(jid)) setTime(join(directory, jidFile), jidTime(jid).getTime());
}

function isFolderName(name: string): boolean {
  return name !== "" && !name.startsWith(".") && !/[/\0]/.test(name) && Buffer.byteLength(name) <= nameBytesMax;
}

function setTime(file: string, atMs: number): void {
  const seconds = atMs / 1_000;
  if (Number.isFinite(seconds)) utimesSync(file, seconds, seconds);
}
