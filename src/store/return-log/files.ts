/**
 * The log files beside the job cache's data, one per writing thread: makes one, reads all, tells which writers have ended.
 * A name identifies the writer: `returns-<process>-<thread>-<start of the thread in clock ticks>-<random>.log`. A file gets its name once it is on
 * disk in full length and its first block marks it as empty, so that a short file or a first block of zeros is damage. Logs of earlier releases have
 * 12 random digits instead of 16; zeros in their first block mean that they are empty. Earlier releases find and read our logs.
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
/** Earlier releases used 12, so the name tells which release made a log. */
const randomDigits = 16;
/** Suffix of a log that is being made. */
const unfinishedEnd = ".new";
const fileMode = 0o600;
/** Bytes per write while a log is made. */
const zerosBytes = 1024 * 1024;

/** The name of a log of the calling thread, by the kernel's ids. The call is synchronous, so `/proc/thread-self` is this thread. */
function ownName(): string {
  const [processId = "", , threadId = ""] = readlinkSync("/proc/thread-self").split("/");
  return `returns-${processId}-${threadId}-${startTicksOf(`${processId}/task/${threadId}`) ?? 0}-${randomBytes(randomDigits / 2).toString("hex")}.log`;
}

/** Whether the thread that wrote this log has ended. */
function isAbandoned(path: string): boolean {
  const [, processId = "", threadId = "", startTicks] = namePattern.exec(basename(path, unfinishedEnd)) ?? [];
  return startTicks !== startTicksOf(`${processId}/task/${threadId}`);
}

/** The paths of all logs in a cache's directory. */
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
 * Makes a log of the calling thread, with its full length written and synced. Later writes then change neither its size nor its blocks on the
 * disk, so their sync is cheap and a full disk cannot fail them.
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

/** The log's entries, in the order in which they were put. Some may not be in the store yet. Read the log before the store, because it may change. */
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
    // A damaged frame is skipped if its head is whole, because the frames behind it are good.
    const name = frame?.name ?? decodeHead(block)?.name;
    if (name === undefined || name.serial !== serial) return found;
    generation ??= name.generation;
    if (name.generation !== generation) return found;
    if (frame !== undefined) found.push(...frame.entries);
    at += blocksFor(bytes);
  }
}

/**
 * Reads up to `bytes`; fewer at the end of the file. Reads in pieces, so that a wrong length in a torn header does not make us allocate so much.
 */
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

/** Reads the log of an ended thread. Threads that start together find the same logs; a log that another thread has absorbed reads as empty. */
function readLeftLog(path: string): Rescued {
  try {
    return rescueFile(path, readFileSync(path));
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return nothingLeft;
    if (hasCodeIn(error, "EISDIR", "EACCES", "EPERM", "EIO")) throw storeFailed(`${path} cannot be read`, error);
    throw error;
  }
}

/** Renames a damaged log. @returns false if another thread has already done so */
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
 * Calls `store` with the entries of each log, then removes logs of ended threads. A damaged log is kept under another name,
 * after `store` has got its whole entries.
 *
 * @returns a sentence per damaged log
 */
export function absorbLogs(directory: string, store: (entries: readonly LoggedEntry[]) => void): string[] {
  const faults: string[] = [];
  removeUnfinished(directory);
  for (const path of listLogs(directory)) {
    // Checked before the log is read, because an abandoned log no longer changes.
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
