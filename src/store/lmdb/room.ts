/**
 * Room for LMDB on the disk, taken before LMDB writes: its data file is filled with zeros behind its last page, so that a full disk is met by
 * us, as an error, and never by LMDB. lmdb 3.5.6 writes its sentence about a failed page write past the end of 100 bytes of heap,
 * and leaves a lock taken when a transaction cannot begin. docs/decisions/0024-damaged-stores.md.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { lmdbRoomStepBytes } from "../../limits.ts";
import { createDurably } from "../disk/durable-file.ts";
import { noteDiskFault } from "../disk/faults.ts";
import { headBytesMax, lastPagePlaces, readMetas } from "./meta.ts";

const defaultPageBytes = 4_096;
/** Pages that a transaction changes whatever it puts: roots, the list of free pages, what a split adds on each level. */
const pagesOfAny = 64;
/** Pages of one put: the leaf's copy, and its share of splits and branches. */
const pagesPerPut = 2;
/** What puts under way in other threads may take meanwhile, in shares of our own. */
const concurrentShares = 4;

/**
 * Bytes by which a transaction with `puts` puts and `bytes` bytes in them lets the file grow at most. A value of more than
 * a third of a page gets pages of its own.
 */
export function roomFor(puts: number, bytes: number): number {
  return (pagesOfAny + puts * pagesPerPut) * defaultPageBytes + bytes;
}

/** What is open of a file: where its meta pages name the last page. */
type OpenFile = { readonly file: number; readonly pageBytes: number; readonly places: readonly number[] };

/** One thread's view of a data file. */
export class LmdbRoom {
  readonly #path: string;
  readonly #number = Buffer.alloc(8);
  #open: OpenFile | undefined;
  #size = 0;
  #underWay = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Within a transaction, or before one. @throws SaltworksError STORE_FAILED, on a full disk: the file is then as good as before */
  take(bytes: number): void {
    this.#open ??= openFile(this.#path);
    const { file, pageBytes, places } = this.#open;
    const wanted = (Math.max(...places.map((place) => this.#numberAt(file, place))) + 1) * pageBytes + bytes;
    if (wanted <= this.#size) return;
    this.#size = fstatSync(file).size;
    if (wanted <= this.#size) return;
    const end = Math.ceil(wanted / lmdbRoomStepBytes) * lmdbRoomStepBytes;
    const zeros = Buffer.alloc(Math.min(lmdbRoomStepBytes, end - this.#size));
    try {
      // Appended: whatever LMDB writes at the same time, in whichever thread, lies before the end, or moves it.
      while (this.#size < end) this.#size += writeSync(file, zeros, 0, Math.min(zeros.length, end - this.#size));
    } catch (cause) {
      noteDiskFault(cause);
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new SaltworksError("STORE_FAILED", `${this.#path} cannot grow: ${why}`, { file: this.#path }, { cause });
    }
  }

  #numberAt(file: number, place: number): number {
    readSync(file, this.#number, 0, this.#number.byteLength, place);
    return Number(this.#number.readBigUInt64LE(0));
  }

  /** For a put that another thread brings to the file: room for all of ours that are under way, and as much for other threads. */
  async during<Result>(bytes: number, put: () => Promise<Result>): Promise<Result> {
    this.#underWay += bytes;
    try {
      this.take(this.#underWay * concurrentShares);
      return await put();
    } finally {
      this.#underWay -= bytes;
    }
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open.file);
    this.#open = undefined;
  }
}

function openFile(path: string): OpenFile {
  const file = openSync(path, "a+");
  const head = Buffer.alloc(headBytesMax);
  const pageBytes =
    readMetas(head.subarray(0, readSync(file, head, 0, head.byteLength, 0)))[0]?.pageBytes ?? defaultPageBytes;
  return { file, pageBytes, places: lastPagePlaces(pageBytes) };
}

/** Bytes of the lock file for `readersMax` readers, as LMDB lays it out. */
function lockBytes(readersMax: number): number {
  return lockHeadBytes + readersMax * lockSlotBytes;
}

const lockHeadBytes = 208;
const lockSlotBytes = 64;
const lockBlockBytes = 4_096;
const lockMode = 0o600;

/**
 * LMDB maps its lock file into memory, where a place that the disk has no room for ends the process. A new one is written whole.
 *
 * @throws what the file system says
 */
export function ensureLockFile(dataFile: string, readersMax: number): void {
  // Not even opened if it is there: closing it would take away the locks that this process holds on it.
  if (!existsSync(`${dataFile}-lock`)) createDurably(`${dataFile}-lock`, Buffer.alloc(lockBytes(readersMax)), lockMode);
}

/** Gives a lock file of an earlier release its places on the disk. Only before this process opens the data file. */
export function fillLockFile(dataFile: string): void {
  let file: number;
  try {
    file = openSync(`${dataFile}-lock`, "r+");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return;
    throw error;
  }
  try {
    // The last byte of each block, and of the file, is in the unused end of a reader's place.
    const { size } = fstatSync(file);
    for (let at = lockBlockBytes - 1; at < size; at += lockBlockBytes) writeSync(file, Buffer.alloc(1), 0, 1, at);
    if (size > 0) writeSync(file, Buffer.alloc(1), 0, 1, size - 1);
  } finally {
    closeSync(file);
  }
}
