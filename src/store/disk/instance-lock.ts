/**
 * Allows one master per directory: a lock file names the process that owns the directory. A master takes over the lock of a dead process. The start
 * time (`/proc/<pid>/stat`, field 22) tells a reused process id from the former owner.
 */
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably, removeIfThere } from "./durable-file.ts";
import { startTicksOf } from "./thread-start.ts";

const lockName = ".saltworks.lock";
/** Second lock, held while a dead owner's lock is replaced, so that two starting masters cannot both take it over. */
const takeoverName = ".saltworks.lock.takeover";
/** A takeover lasts milliseconds. If its lock is older than this, the process died during it. */
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
    // Another starting master may have finished a takeover since `readOwner` above.
    const present = readOwner(path);
    if (isAlive(present)) throw running(directory, present.pid);
    removeIfThere(path);
    if (!createDurably(path, mine, mode)) throw running(directory, readOwner(path)?.pid ?? 0);
  } finally {
    removeIfThere(takeover);
  }
  return path;
}

/** The id of the living process that owns the directory; undefined if there is none. */
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
