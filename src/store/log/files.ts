/**
 * The log files beside the job cache's data, one per writing thread: makes one, reads them all, tells which writer has ended.
 * A name tells the writer: `returns-<process>-<thread>-<start of the thread in clock ticks>-<random>.log`. A file gets its name when all of it is on the
 * disk and its first block says that it is empty, so that a short file or zeros are damage. Logs of earlier releases have 12 random digits instead of 16,
 * and zeros in them mean that nothing waits. Earlier releases find and read our logs.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { removeIfThere, syncDirectory } from "../disk/durable-file.ts";
import { storeFailed } from "../disk/store-error.ts";
import { startTicksOf } from "../disk/thread-start.ts";
import {
  blockBytes,
  blocksFor,
  decodeFrame,
  decodeHead,
  emptyMark,
  firstGeneration,
  frameBytesIn,
  type LoggedEntry,
} from "./frames.ts";
import { type Rescued, rescueLog } from "./rescue.ts";

const namePattern = /^returns-(\d+)-(\d+)-(\d+)-([0-9a-f]+)\.log$/;
/** More than earlier releases gave their logs, so that a name tells which release made it. */
const randomDigits = 16;
/** Of a log that is being made. */
const unfinishedEnd = ".new";
const fileMode = 0o600;
/** Written at once when a log is made, bytes. */
const zerosBytes = 1024 * 1024;

/** The calling thread as the kernel knows it. The link is resolved in this thread, so it names this one. */
function ownName(): string {
  const [processId = "", , threadId = ""] = readlinkSync("/proc/thread-self").split("/");
  return `returns-${processId}-${threadId}-${startTicksOf(`${processId}/task/${threadId}`) ?? 0}-${randomBytes(randomDigits / 2).toString("hex")}.log`;
}

/** Whether the thread that wrote this log has ended. */
function isAbandoned(path: string): boolean {
  const [, processId = "", threadId = "", startTicks] = namePattern.exec(basename(path, unfinishedEnd)) ?? [];
  return startTicks !== startTicksOf(`${processId}/task/${threadId}`);
}

/** All logs in a cache's directory. */
export function listLogs(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => namePattern.test(name))
    .map((name) => join(directory, name));
}

/** Removes unfinished logs of writers that died while they made them. They hold no returns. */
function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    const isUnfinished = name.endsWith(unfinishedEnd) && namePattern.test(basename(name, unfinishedEnd));
    if (isUnfinished && isAbandoned(name)) removeIfThere(join(directory, name));
  }
}

/**
 * A new log of the calling thread, its whole length written and synced: later writes then change neither its size nor its place,
 * which is what makes their sync cheap, and no full disk can stop them.
 */
export function createLog(directory: string, bytes: number): { readonly path: string; readonly file: number } {
  const path = join(directory, ownName());
  const unfinished = path + unfinishedEnd;
  const file = openSync(unfinished, "wx", fileMode);
  try {
    const chunk = Buffer.alloc(Math.min(bytes, zerosBytes));
    emptyMark(firstGeneration).copy(chunk);
    for (let at = 0; at < bytes; ) {
      at += writeSync(
        file,
        chunk,
        at % chunk.byteLength,
        Math.min(chunk.byteLength - (at % chunk.byteLength), bytes - at),
        at,
      );
      if (at === chunk.byteLength) chunk.fill(0, 0, blockBytes);
    }
    fsyncSync(file);
    renameSync(unfinished, path);
    syncDirectory(directory);
  } catch (error) {
    closeSync(file);
    for (const name of [unfinished, path]) removeIfThere(name);
    throw error;
  }
  return { path, file };
}

/** Entries that may not be in the store yet, in the order in which they were put. The log may be written meanwhile, so read it before the store. */
export function readLog(path: string): LoggedEntry[] {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return [];
    throw error;
  }
  try {
    return readEntries(file);
  } finally {
    closeSync(file);
  }
}

function readEntries(file: number): LoggedEntry[] {
  const found: LoggedEntry[] = [];
  let generation: number | undefined;
  for (let serial = 0, at = 0; ; serial += 1) {
    const block = readAt(file, at, blockBytes);
    const bytes = frameBytesIn(block);
    if (bytes === undefined) return found;
    const frame = decodeFrame(bytes <= block.byteLength ? block.subarray(0, bytes) : readAt(file, at, bytes));
    // A damaged one is stepped over if its head is whole: those behind it are good.
    const name = frame?.name ?? decodeHead(block)?.name;
    if (name === undefined || name.serial !== serial) return found;
    generation ??= name.generation;
    if (name.generation !== generation) return found;
    if (frame !== undefined) found.push(...frame.entries);
    at += blocksFor(bytes);
  }
}

/** Shorter than asked for at the end of the file. A length that a torn header names must not make us allocate it. */
function readAt(file: number, at: number, bytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let done = 0; done < bytes; ) {
    const part = Buffer.allocUnsafe(Math.min(zerosBytes, bytes - done));
    const count = readSync(file, part, 0, part.byteLength, at + done);
    if (count === 0) break;
    parts.push(part.subarray(0, count));
    done += count;
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/** @param bytes the whole file */
export function rescueFile(path: string, bytes: Buffer): Rescued {
  return rescueLog(bytes, namePattern.exec(basename(path))?.[4]?.length === randomDigits);
}

const nothingLeft: Rescued = { entries: [], fault: undefined };

/** Threads that start together find the same logs: the first one absorbs a log, the others find it gone. */
function readLeftLog(path: string): Rescued {
  try {
    return rescueFile(path, readFileSync(path));
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return nothingLeft;
    if (hasCodeIn(error, "EISDIR", "EACCES", "EPERM", "EIO")) throw storeFailed(`${path} cannot be read`, error);
    throw error;
  }
}

/** @returns false if another thread was first */
function setAside(path: string, aside: string): boolean {
  try {
    renameSync(path, aside);
    return true;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return false;
    throw error;
  }
}

/**
 * Hands over what all logs hold, and removes the logs of threads that have ended. A damaged log is set aside under another name after
 * everything whole in it was handed over.
 *
 * @returns what is damaged, a sentence each
 */
export function absorbLogs(directory: string, store: (entries: readonly LoggedEntry[]) => void): string[] {
  const faults: string[] = [];
  removeUnfinished(directory);
  for (const path of listLogs(directory)) {
    // Asked first: an abandoned log does not change any more.
    const isLeft = isAbandoned(path);
    const { entries, fault } = isLeft ? readLeftLog(path) : { entries: readLog(path), fault: undefined };
    if (entries.length > 0) store(entries);
    if (!isLeft) continue;
    if (fault === undefined) {
      removeIfThere(path);
      continue;
    }
    const aside = join(directory, `damaged-${basename(path)}`);
    if (!setAside(path, aside)) continue;
    faults.push(`${path} ${fault}. All that is whole in it was stored; the file is kept as ${aside}`);
  }
  return faults;
}
