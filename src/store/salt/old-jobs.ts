/**
 * Jobs that a Salt master left in its own layout: their loads are taken into our job cache, so that lists and searches find them by its
 * index; their returns stay where they are and are read there.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/file-errors.ts";
import { saltFileBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import { isJid } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import type { JobCache, LoadRecord } from "../job-cache.ts";
import type { LocalCacheOptions } from "../local-cache-driver.ts";
import { jobDirectory, jobsDirectory, loadFile } from "../local-cache-files.ts";

/** Loads that go into our cache in one transaction. */
const loadsAtOnce = 64;

export type OldJobsOptions = LocalCacheOptions & {
  readonly jobs: Pick<JobCache, "getRequest" | "putLoads">;
  /** Salt's layout. */
  readonly files: Pick<JobCache, "getLoad">;
  /** Only what changed after this. */
  readonly sinceMs: number;
  /** Jobs older than this one are about to be removed. */
  readonly olderThanJid: string;
  readonly onFault: (fault: { readonly file: string; readonly reason: string }) => void;
};

/** One by one, so that it can be stopped and gone on with: each step is a job directory, or a transaction. @returns how many were taken */
export async function* takeOverJobs(o: OldJobsOptions): AsyncGenerator<number, void, void> {
  let waiting: LoadRecord[] = [];
  for (const directory of changedJobs(o.cachedir, o.sinceMs)) {
    const record = readOldLoad(o, directory);
    if (record !== undefined) waiting.push(record);
    if (waiting.length >= loadsAtOnce) {
      await o.jobs.putLoads(waiting);
      yield waiting.length;
      waiting = [];
    } else yield 0;
  }
  await o.jobs.putLoads(waiting);
  yield waiting.length;
}

/** Whether there is anything to take over: a look at 256 folders at most. */
export function hasChangedJobs(cachedir: string, sinceMs: number): boolean {
  return changedFolders(cachedir, sinceMs).next().done !== true;
}

/** A folder that has a new job has changed; so have those in which this master wrote. One that was copied keeps its former mtime. */
function* changedFolders(cachedir: string, sinceMs: number): Generator<string> {
  const top = jobsDirectory(cachedir);
  for (const head of namesIn(top)) {
    const folder = join(top, head);
    const times = statSync(folder, { throwIfNoEntry: false });
    if (times !== undefined && Math.max(times.mtimeMs, times.ctimeMs) > sinceMs) yield folder;
  }
}

function* changedJobs(cachedir: string, sinceMs: number): Generator<string> {
  for (const folder of changedFolders(cachedir, sinceMs)) for (const rest of namesIn(folder)) yield join(folder, rest);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !name.startsWith("."));
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

function readOldLoad(o: OldJobsOptions, directory: string): LoadRecord | undefined {
  const file = join(directory, loadFile);
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined || stat.size > saltFileBytesMax) return undefined;
    const load = decode(readFileSync(file));
    const jid = load instanceof Map ? textField(load, "jid") : undefined;
    // A directory holds the job whose id its name is made of, and no other.
    if (jid === undefined || jobDirectory(o.cachedir, o.hashType, jid) !== directory) return undefined;
    if (o.jobs.getRequest(jid) !== undefined || (isJid(jid) && jid < o.olderThanJid)) return undefined;
    const record = o.files.getLoad(jid);
    return record === undefined ? undefined : { ...record, isTakenOver: true };
  } catch (error) {
    o.onFault({ file, reason: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}
