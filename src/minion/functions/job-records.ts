/**
 * The records of running jobs: one file per job in `<cachedir>/proc` with the publish load and the process id, as in Salt.
 * Every process of this minion, `call` included, lists and signals jobs through these files.
 */
import { mkdir, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { intField, textField } from "../../wire/fields.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { RunningJob } from "./module-contract.ts";

/** A valid job id. It is the name of the record's file. */
const jidText = /^[A-Za-z0-9_-]{1,64}$/;

export function isUsableJid(jid: Value | undefined): jid is string {
  return typeof jid === "string" && jidText.test(jid);
}

export class JobRecords {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(cachedir: string): Promise<JobRecords> {
    const directory = join(cachedir, "proc");
    await mkdir(directory, { recursive: true });
    return new JobRecords(directory);
  }

  /** `load`: the publish load without its serial number. */
  async write(jid: string, load: ReadonlyMap<Value, Value>, pid: number): Promise<void> {
    await writeFile(this.#pathOf(jid), encode(new Map<Value, Value>([["pid", pid], ...load]), "bin"));
  }

  async remove(jid: string): Promise<void> {
    await removeIfThere(this.#pathOf(jid));
  }

  /** Jobs whose process lives, except the process `exceptPid`. Removes the records of jobs whose process has ended. */
  async running(exceptPid?: number): Promise<RunningJob[]> {
    const jobs: RunningJob[] = [];
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      const job = await readRecord(path);
      const pid = job === undefined ? undefined : intField(job, "pid");
      if (job === undefined || pid === undefined) continue;
      if (!(await isSaltProcess(pid))) await removeIfThere(path);
      else if (pid !== exceptPid) jobs.push(job);
    }
    return jobs;
  }

  /** Signals a running job's process and all processes that it started. @returns Salt's text; an empty text if the job does not run */
  async signal(jid: string, signal: number): Promise<string> {
    const job = (await this.running()).find((candidate) => textField(candidate, "jid") === jid);
    const pid = job === undefined ? undefined : intField(job, "pid");
    if (pid === undefined) return "";
    const descendants = await descendantsOf(pid);
    // Signals the job's own process first. Otherwise its shell would start the next command when the current one ends.
    const isSent = sendSignal(pid, signal);
    for (const descendant of descendants) sendSignal(descendant, signal);
    if (isSent) return `Signal ${signal} sent to job ${jid} at pid ${pid}`;
    await this.remove(jid);
    return `Job ${jid} was not running and job data has been cleaned up`;
  }

  #pathOf(jid: string): string {
    if (!isUsableJid(jid)) throw new SaltworksError("WIRE_MALFORMED", "a job id that cannot be a file name");
    return join(this.#directory, jid);
  }
}

/** Returns undefined if the record is gone or only partly written. */
async function readRecord(path: string): Promise<ValueMap | undefined> {
  try {
    const record = decode(await readFile(path));
    return record instanceof Map ? record : undefined;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT") || hasCode(error, "WIRE_TRUNCATED") || hasCode(error, "WIRE_MALFORMED")) {
      return undefined;
    }
    throw error;
  }
}

/** Whether the process lives and its command line names salt: the kernel may have given the id to another program. */
async function isSaltProcess(pid: number): Promise<boolean> {
  if (pid === process.pid) return true;
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "latin1")).includes("salt");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ESRCH")) return false;
    throw error;
  }
}

async function descendantsOf(pid: number): Promise<number[]> {
  const children = new Map<number, number[]>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = await parentOf(Number(name));
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [pid];
  for (const next of found) found.push(...(children.get(next) ?? []));
  return found.slice(1);
}

async function parentOf(pid: number): Promise<number | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}

/** Returns false if the process does not exist. */
function sendSignal(pid: number, signal: number): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (hasCodeIn(error, "ESRCH")) return false;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT")) throw error;
  }
}
