/**
 * Jobs that a Salt master left in its own layout: their loads are taken into our job cache, so that lists and searches find them by its
 * index; their returns stay where they are and are read there.
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
import type { JobSearch, JobStore, LoadRecord } from "../jobs/job-cache.ts";
import { jobDirectory, jobsDirectory, loadFile } from "./job-files.ts";
import type { LocalCacheOptions } from "./local-cache.ts";

/** Loads put into our cache in one transaction. */
const loadsAtOnce = 64;
/** Faults told of one step: mostly all files have the same one. */
const faultsMax = 20;
/** Faults of this process and not of a file: the step is tried again. */
const passingFaults = ["EMFILE", "ENFILE", "ENOMEM"] as const;
/** Faults of one record, Salt's or ours, and not of the whole store. */
const recordFaults: readonly ErrorCode[] = [
  "STORE_DAMAGED",
  ...(["WIRE_TRUNCATED", "WIRE_MALFORMED", "WIRE_TOO_LARGE", "WIRE_TOO_DEEP"] as const),
];

type Fault = { readonly file: string; readonly reason: string };
type OnFault = (fault: Fault) => void;

export type OldJobsOptions = LocalCacheOptions & {
  readonly jobs: Pick<JobStore, "request" | "keepJobs">;
  /** Salt's layout. */
  readonly files: Pick<JobSearch, "job">;
};
export type OldJobsTask = {
  /** Only what changed after this. */
  readonly sinceMs: number;
  /** Jobs older than this one are about to be removed. */
  readonly olderThanJid: string;
  /** Of folders in which this master writes, too, only job directories that changed themselves, as copied and moved ones did. */
  readonly isBrief?: boolean;
};
/** `faults`: what is left out, the first few; `leftOut` of all. */
export type OldJobsStep = {
  readonly taken: number;
  readonly leftOut: number;
  readonly isDone: boolean;
  readonly faults: readonly Fault[];
};

/** Takes the jobs over, some at a time. */
export class OldJobs {
  readonly #o: OldJobsOptions;
  #faults: Fault[] = [];
  #leftOut = 0;
  #taking: AsyncGenerator<number, void, void> | undefined;

  constructor(o: OldJobsOptions) {
    this.#o = o;
  }

  /** For a while; the next step goes on where this one stopped. One that fails makes the next begin anew. @throws what our store or this process lacks */
  async step(task: OldJobsTask): Promise<OldJobsStep> {
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

type Taking = OldJobsOptions & OldJobsTask;

/** One by one: each step is a job directory, or a transaction. @returns how many were taken */
async function* takeOverJobs(o: Taking, onFault: OnFault): AsyncGenerator<number, void, void> {
  let waiting: LoadRecord[] = [];
  for (const directory of changedJobs(o, onFault)) {
    const record = directory === undefined ? undefined : readOldLoad(o, directory, onFault);
    if (record !== undefined) waiting.push(record);
    if (waiting.length >= loadsAtOnce) {
      yield await keepLoads(o, waiting, onFault);
      waiting = [];
    } else yield 0;
  }
  yield await keepLoads(o, waiting, onFault);
}

/** If our store cannot take one of them, it is named and the others are put one by one. @returns how many were put */
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

/** Whether there is anything to take over, or to tell: a look at 256 folders at most. */
export function hasChangedJobs(cachedir: string, sinceMs: number): boolean {
  let hasFaults = false;
  const folders = changedFolders(cachedir, sinceMs, () => {
    hasFaults = true;
  });
  return folders.next().done !== true || hasFaults;
}

/** What is looked at in a folder: all job directories, the ones whose load may be new, or the ones that changed themselves. */
type Look = "all" | "load" | "directory";
type ChangedFolder = { readonly folder: string; readonly look: Look };

/** A folder that has a new job has changed; so have those in which this master wrote. One that was copied keeps its former mtime. */
function* changedFolders(
  cachedir: string,
  sinceMs: number,
  onFault: OnFault,
  isBrief = false,
): Generator<ChangedFolder> {
  const top = jobsDirectory(cachedir);
  // A folder that came into it from elsewhere keeps its own times. What cannot be read here is named with the names in it.
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
    // Its own time is old: it was copied or moved with what is in it, or only its owner or mode changed.
    const isTouched = times.mtimeMs <= sinceMs;
    if (!isTouched) yield { folder, look: isBrief ? "directory" : "all" };
    else if (times.ctimeMs > sinceMs) yield { folder, look: isTopChanged ? "all" : "load" };
  }
}

/** Undefined for one that has not changed. */
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

/** Whatever time a copy gives it, the system notes when that was. */
function hasChanged(directory: string, sinceMs: number, onFault: OnFault): boolean {
  const times = reading(directory, onFault, () => statSync(directory, { throwIfNoEntry: false }));
  return times !== undefined && times.ctimeMs > sinceMs;
}

/**
 * A file that only got another owner is as old as before; one that was copied was made then, and one that was moved with its folder has none of its
 * times changed. File systems that do not tell when a file was made say 0, or when it changed.
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

/** Names a file that cannot be read, and leaves it out. @throws faults that may pass */
function reading<Result>(file: string, onFault: OnFault, step: () => Result): Result | undefined {
  try {
    return step();
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (hasCodeIn(cause, ...passingFaults)) throw error;
    onFault({ file, reason: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

function readOldLoad(o: Taking, directory: string, onFault: OnFault): LoadRecord | undefined {
  const file = join(directory, loadFile);
  const jid = reading(file, onFault, () => jidIn(file));
  if (jid === undefined) return undefined;
  if (isJid(jid) && jid < o.olderThanJid) return undefined;
  if (isStored(o, file, jid, onFault)) return undefined;
  // A directory holds the job whose id its name is made of, and no other: its returns are looked for there.
  if (jobDirectory(o.cachedir, o.hashType, jid) !== directory) {
    onFault({ file, reason: `hash_type ${o.hashType} has another directory for job ${jid}` });
    return undefined;
  }
  const record = reading(file, onFault, () => o.files.job(jid));
  return record === undefined ? undefined : { ...record, isTakenOver: true };
}

/** Nothing takes the place of a record of ours that is damaged: what is left of it may be wanted. */
function isStored(o: Taking, file: string, jid: string, onFault: OnFault): boolean {
  try {
    return o.jobs.request(jid) !== undefined;
  } catch (error) {
    if (!isOfRecord(error)) throw error;
    onFault({ file, reason: `our own record of job ${jid} cannot be read: ${error.message}` });
    return true;
  }
}

/** Undefined if there is no such file. @throws SaltworksError WIRE_TOO_LARGE, WIRE_MALFORMED */
function jidIn(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.size > saltFileBytesMax) throw new SaltworksError("WIRE_TOO_LARGE", `over ${saltFileBytesMax} bytes`);
  const load = decode(readFileSync(file));
  const jid = load instanceof Map ? textField(load, "jid") : undefined;
  if (jid === undefined) throw new SaltworksError("WIRE_MALFORMED", "it names no job");
  if (Buffer.byteLength(jid) > takenJidBytesMax)
    throw new SaltworksError("WIRE_TOO_LARGE", `its job id has over ${takenJidBytesMax} bytes`);
  return jid;
}
