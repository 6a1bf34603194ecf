/**
 * One master per directory: a file that names the process which owns it. The lock of a dead process is taken over; a reused
 * process id is told apart by its start time (`/proc/<pid>/stat`, field 22).
 */
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably, removeIfThere } from "./durable-file.ts";
import { startTicksOf } from "./thread-start.ts";

const lockName = ".saltworks.lock";
/** Held while a dead owner's lock is removed, so that two starting masters do not both take it. */
const takeoverName = ".saltworks.lock.takeover";
/** A takeover lasts milliseconds. If the file is older, the process died in it. */
const takeoverAgeMsMax = 10_000;
const mode = 0o600;

export interface InstanceLock {
  release(): void;
}

type Owner = { readonly pid: number; readonly startTicks: string };

function readOwner(path: string): Owner | undefined {
  try {
    const [pid, startTicks] = readFileSync(path, "utf8").trim().split(" ");
    const number = Number(pid);
    return Number.isSafeInteger(number) && number > 0 && startTicks !== undefined
      ? { pid: number, startTicks }
      : undefined;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return undefined;
    throw new SaltworksError("STORE_FAILED", `${path} cannot be read`, { path }, { cause: error });
  }
}

function isAlive(owner: Owner | undefined): owner is Owner {
  return owner !== undefined && startTicksOf(String(owner.pid)) === owner.startTicks;
}

function running(directory: string, pid: number): SaltworksError {
  return new SaltworksError("MASTER_RUNNING", `another master (process ${pid}) uses ${directory}`, { directory, pid });
}

function isOld(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > takeoverAgeMsMax;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return false;
    throw error;
  }
}

function claimOne(directory: string): string {
  const path = join(directory, lockName);
  const takeover = join(directory, takeoverName);
  mkdirSync(directory, { recursive: true });
  const mine = `${process.pid} ${startTicksOf(String(process.pid)) ?? "unknown"}\n`;
  if (createDurably(path, mine, mode)) return path;
  const owner = readOwner(path);
  if (isAlive(owner)) throw running(directory, owner.pid);
  if (isOld(takeover)) removeIfThere(takeover);
  if (!createDurably(takeover, mine, mode)) throw running(directory, readOwner(takeover)?.pid ?? 0);
  try {
    // Another starting master may have finished a takeover between our look and ours.
    const present = readOwner(path);
    if (isAlive(present)) throw running(directory, present.pid);
    removeIfThere(path);
    if (!createDurably(path, mine, mode)) throw running(directory, readOwner(path)?.pid ?? 0);
  } finally {
    removeIfThere(takeover);
  }
  return path;
}

/** The process that owns a directory now. */
export function instanceOwner(directory: string): number | undefined {
  const owner = readOwner(join(directory, lockName));
  return isAlive(owner) ? owner.pid : undefined;
}

/**
 * Claims every directory for this process, or none.
 *
 * @throws SaltworksError MASTER_RUNNING with `pid` and `directory` if a living process owns one of them
 */
export function claimInstance(directories: readonly string[]): InstanceLock {
  const claimed: string[] = [];
  const release = () => {
    for (const path of claimed.splice(0)) removeIfThere(path);
  };
  try {
    for (const directory of new Set(directories)) claimed.push(claimOne(directory));
  } catch (error) {
    release();
    throw error;
  }
  return { release };
}
