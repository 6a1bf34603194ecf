/**
 * Takes over jobs that a Salt master left in its own layout. It copies their loads into our job cache, so that lists and searches find them by the
 * index. Their returns stay in Salt's files and are read there.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { namesIn as namesIfThere } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { type ErrorCode, hasCode, SaltworksError } from "../../errors.ts";
import { saltFileBytesMax, saltMirrorStepMs, takenJidBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import { isJid } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import type { JobCache, JobCacheReader, LoadRecord } from "../jobs/job-cache.ts";
import { jobDirectory, jobsDirectory, type LocalCacheOptions, loadFile } from "./job-files.ts";

/** Loads per transaction of our cache. */
const loadsAtOnce = 64;
/** Bound of the reported faults of a step. Mostly all files have the same fault. */
const faultsMax = 20;
/** Errors of this process and not of a file. The step fails and is tried again. */
const passingFaults = ["EMFILE", "ENFILE", "ENOMEM"] as const;
/** Error codes of one record, Salt's or ours. Other errors concern the whole store. */
const recordFaults: readonly ErrorCode[] = [
  "STORE_DAMAGED",
  ...(["WIRE_TRUNCATED", "WIRE_MALFORMED", "WIRE_TOO_LARGE", "WIRE_TOO_DEEP"] as const),
];

type Fault = { readonly file: string; readonly reason: string };
type OnFault = (fault: Fault) => void;

export type JobTakeOverOptions = LocalCacheOptions & {
  readonly jobs: Pick<JobCache, "request" | "keepJobs">;
  /** Reads jobs in Salt's layout. */
  readonly files: Pick<JobCacheReader, "job">;
};
export type JobTakeOverTask = {
  /** Only jobs that changed after this time are taken over. */
  readonly sinceMs: number;
  /** Older jobs are not taken over, because `trim` would remove them. */
  readonly olderThanJid: string;
  /** In changed folders, looks only at job directories that changed themselves, as by a copy or a move: this master writes in these folders, too. */
  readonly isBrief?: boolean;
};
/** `faults`: the first few files that are left out. `leftOut`: the number of all. */
export type JobTakeOverStep = {
  readonly taken: number;
  readonly leftOut: number;
  readonly isDone: boolean;
  readonly faults: readonly Fault[];
};

/** Takes the jobs over in steps. */
export class JobTakeOver {
  readonly #o: JobTakeOverOptions;
  #faults: Fault[] = [];
  #leftOut = 0;
  #taking: AsyncGenerator<number, void, void> | undefined;

  constructor(o: JobTakeOverOptions) {
    this.#o = o;
  }

  /**
   * Runs for `saltMirrorStepMs`. The next step goes on where this one stopped, or starts again if this one failed.
   *
   * @throws errors of our store, and of the process (`passingFaults`)
   */
  async step(task: JobTakeOverTask): Promise<JobTakeOverStep> {
    this.#faults = [];
    this.#leftOut = 0;
    this.#taking ??= takeOverJobs({ ...this.#o, ...task }, (fault) => this.#note(fault));
    const endMs = performance.now() + saltMirrorStepMs;
    try {
      let taken = 0;
      while (performance.now() < endMs) {
        const { value, done } = await this.#taking.next();
        if (done === true) return { ...this.#told(taken), isDone: true };
        taken += value;
      }
      return { ...this.#told(taken), isDone: false };
    } catch (error) {
      this.#taking = undefined;
      throw error;
    }
  }

  #told(taken: number) {
    return { taken, leftOut: this.#leftOut, faults: this.#faults };
  }

  #note(fault: Fault): void {
    this.#leftOut += 1;
    if (this.#faults.length < faultsMax) this.#faults.push(fault);
  }
}

type Taking = JobTakeOverOptions & JobTakeOverTask;

/** Yields after each job directory and each transaction: the number of jobs that were taken over. */
async function* takeOverJobs(o: Taking, onFault: OnFault): AsyncGenerator<number, void, void> {
  let waiting: LoadRecord[] = [];
  for (const directory of changedJobs(o, onFault)) {
    const record = directory === undefined ? undefined : await readOldLoad(o, directory, onFault);
    if (record !== undefined) waiting.push(record);
    if (waiting.length >= loadsAtOnce) {
      yield await keepLoads(o, waiting, onFault);
      waiting = [];
    } else yield 0;
  }
  yield await keepLoads(o, waiting, onFault);
}

/** Stores the loads. If one is refused, all are stored one by one and the refused one is reported. @returns how many were stored */
async function keepLoads(o: Taking, loads: readonly LoadRecord[], onFault: OnFault): Promise<number> {
  try {
    await o.jobs.keepJobs(loads);
    return loads.length;
  } catch (error) {
    if (!isOfRecord(error)) throw error;
    if (loads.length > 1) {
      let put = 0;
      for (const load of loads) put += await keepLoads(o, [load], onFault);
      return put;
    }
    for (const { jid } of loads)
      onFault({ file: join(jobDirectory(o.cachedir, o.hashType, jid), loadFile), reason: error.message });
    return 0;
  }
}

function isOfRecord(error: unknown): error is Error {
  return recordFaults.some((code) => hasCode(error, code));
}

/** Whether there are changed jobs to take over, or faults to report. Looks at 256 folders at most. */
export function hasChangedJobs(cachedir: string, sinceMs: number): boolean {
  let hasFaults = false;
  const folders = changedFolders(cachedir, sinceMs, () => {
    hasFaults = true;
  });
  return folders.next().done !== true || hasFaults;
}

/** Which job directories of a folder are looked at. `load`: the ones whose load file may be new. `directory`: the ones that changed themselves. */
type Look = "all" | "load" | "directory";
type ChangedFolder = { readonly folder: string; readonly look: Look };

/** Yields folders that may have new jobs. A new job or a write of this master changes the folder's mtime. A copied folder may keep its mtime. */
function* changedFolders(
  cachedir: string,
  sinceMs: number,
  onFault: OnFault,
  isBrief = false,
): Generator<ChangedFolder> {
  const top = jobsDirectory(cachedir);
  // A folder that was moved into `jobs` keeps its own mtime, but changes that of `jobs`. If `jobs` cannot be read, `namesIn` below reports it.
  const topTimes = reading(
    top,
    () => undefined,
    () => statSync(top, { throwIfNoEntry: false }),
  );
  const isTopChanged = topTimes !== undefined && topTimes.mtimeMs > sinceMs;
  for (const head of namesIn(top, onFault)) {
    const folder = join(top, head);
    const times = reading(folder, onFault, () => statSync(folder, { throwIfNoEntry: false }));
    if (times === undefined) continue;
    // With an old mtime and a new ctime, the folder was copied or moved with its contents, or only its owner or mode changed.
    const isTouched = times.mtimeMs <= sinceMs;
    if (!isTouched) yield { folder, look: isBrief ? "directory" : "all" };
    else if (times.ctimeMs > sinceMs) yield { folder, look: isTopChanged ? "all" : "load" };
  }
}

/** Yields the job directories to look at, and undefined for each other one. */
function* changedJobs({ cachedir, sinceMs, isBrief }: Taking, onFault: OnFault): Generator<string | undefined> {
  for (const { folder, look } of changedFolders(cachedir, sinceMs, onFault, isBrief))
    for (const rest of namesIn(folder, onFault)) {
      const directory = join(folder, rest);
      const isMeant =
        look === "all" ||
        (look === "load"
          ? mayBeNew(join(directory, loadFile), sinceMs, onFault)
          : hasChanged(directory, sinceMs, onFault));
      yield isMeant ? directory : undefined;
    }
}

/** Whether the directory changed after `sinceMs`. A copy may set the mtime, but not the ctime. */
function hasChanged(directory: string, sinceMs: number, onFault: OnFault): boolean {
  const times = reading(directory, onFault, () => statSync(directory, { throwIfNoEntry: false }));
  return times !== undefined && times.ctimeMs > sinceMs;
}

/**
 * Whether a load file may be new here. It is not if only its owner or mode changed, which changes only its ctime. A copied file has a new birth
 * time. A file that was moved with its folder keeps all its times. File systems without birth times report 0 or the ctime.
 */
function mayBeNew(file: string, sinceMs: number, onFault: OnFault): boolean {
  const times = reading(file, onFault, () => statSync(file, { throwIfNoEntry: false }));
  if (times === undefined) return false;
  const { birthtimeMs, mtimeMs, ctimeMs } = times;
  return birthtimeMs === 0 || Math.max(birthtimeMs, mtimeMs) > sinceMs || ctimeMs <= sinceMs;
}

function namesIn(directory: string, onFault: OnFault): string[] {
  const names = reading(directory, onFault, () => namesIfThere(directory)) ?? [];
  return names.filter((name) => !name.startsWith("."));
}

/** Runs a step on a file. If the file cannot be read, it is reported and left out. @throws errors of `passingFaults` */
function reading<Result>(file: string, onFault: OnFault, step: () => Result): Result | undefined {
  try {
    return step();
  } catch (error) {
    noteUnreadable(file, onFault, error);
    return undefined;
  }
}

function noteUnreadable(file: string, onFault: OnFault, error: unknown): void {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (hasCodeIn(cause, ...passingFaults)) throw error;
  onFault({ file, reason: error instanceof Error ? error.message : String(error) });
}

async function readOldLoad(o: Taking, directory: string, onFault: OnFault): Promise<LoadRecord | undefined> {
  const file = join(directory, loadFile);
  const jid = reading(file, onFault, () => jidIn(file));
  if (jid === undefined) return undefined;
  if (isJid(jid) && jid < o.olderThanJid) return undefined;
  if (await isStored(o, file, jid, onFault)) return undefined;
  // The directory must be named after the job's id, because the job's returns are read from the directory of that name.
  if (jobDirectory(o.cachedir, o.hashType, jid) !== directory) {
    onFault({ file, reason: `hash_type ${o.hashType} has another directory for job ${jid}` });
    return undefined;
  }
  try {
    const record = await o.files.job(jid);
    return record === undefined ? undefined : { ...record, isTakenOver: true };
  } catch (error) {
    noteUnreadable(file, onFault, error);
    return undefined;
  }
}

/**
 * Whether our cache has the job. A damaged record of ours counts as present, so that it is not replaced: its remains may be wanted. A job that is
 * stored after this look is not replaced either, because the cache looks again as it stores.
 */
async function isStored(o: Taking, file: string, jid: string, onFault: OnFault): Promise<boolean> {
  try {
    return (await o.jobs.request(jid)) !== undefined;
  } catch (error) {
    if (!isOfRecord(error)) throw error;
    onFault({ file, reason: `our own record of job ${jid} cannot be read: ${error.message}` });
    return true;
  }
}

/** The job id in a load file; undefined if the file does not exist. @throws SaltworksError WIRE_TOO_LARGE, WIRE_MALFORMED */
function jidIn(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.size > saltFileBytesMax) throw new SaltworksError("WIRE_TOO_LARGE", `over ${saltFileBytesMax} bytes`);
  const load = decode(readFileSync(file));
  const jid = load instanceof Map ? textField(load, "jid") : undefined;
  if (jid === undefined) throw new SaltworksError("WIRE_MALFORMED", "it has no job id");
  if (Buffer.byteLength(jid) > takenJidBytesMax)
    throw new SaltworksError("WIRE_TOO_LARGE", `its job id has over ${takenJidBytesMax} bytes`);
  return jid;
}
