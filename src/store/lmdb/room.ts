/**
 * Reserves room on the disk before LMDB writes: appends zeros to the data file behind its last page, so that a full disk is an error of ours and
 * never one of LMDB's. On a failed page write lmdb 3.5.6 writes its message past the end of 100 bytes of heap, and if a transaction cannot begin it
 * does not release a lock. docs/decisions/0024-damaged-stores.md.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { lmdbRoomStepBytes } from "../../limits.ts";
import { createDurably, probeRoom } from "../disk/durable-file.ts";
import { noteDiskFault } from "../disk/faults.ts";
import { storeFailed } from "../disk/store-error.ts";
import { headBytesMax, lastPagePlaces, readMetas } from "./meta.ts";

const defaultPageBytes = 4_096;
/** Pages that every transaction may change: roots, the list of free pages, and a split on each level. */
const pagesOfAny = 64;
/** Pages per put: the copy of the leaf, and a share of splits and branches. */
const pagesPerPut = 2;
/** Puts of all threads under way may take up to this many times the room of this thread's puts. */
const concurrentShares = 4;
/** What a data file is extended by. Kept, because new memory costs more than the write. */
const zeros = Buffer.alloc(lmdbRoomStepBytes);

/**
 * Upper bound of the bytes by which a transaction with `puts` puts and `bytes` bytes in them grows the file. A value of more than a third of a
 * page gets pages of its own.
 */
export function roomFor(puts: number, bytes: number): number {
  return (pagesOfAny + puts * pagesPerPut) * defaultPageBytes + bytes;
}

/** An open data file. `places`: where its meta pages have the number of the last page. */
type OpenFile = { readonly file: number; readonly pageBytes: number; readonly places: readonly number[] };

/** Reserves room in a data file, for one thread. */
export class LmdbRoom {
  readonly #path: string;
  readonly #number = Buffer.alloc(8);
  #open: OpenFile | undefined;
  #size = 0;
  #underWay = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Reserves `bytes`, during or before a transaction. @throws SaltworksError STORE_FAILED, as on a full disk; the data is then unharmed */
  take(bytes: number): void {
    this.#open ??= openFile(this.#path);
    const { file, pageBytes, places } = this.#open;
    const wanted = (Math.max(...places.map((place) => this.#numberAt(file, place))) + 1) * pageBytes + bytes;
    if (wanted <= this.#size) return;
    this.#size = fstatSync(file).size;
    if (wanted <= this.#size) return;
    const end = Math.ceil(wanted / lmdbRoomStepBytes) * lmdbRoomStepBytes;
    try {
      // The zeros are appended. LMDB, in any thread, writes before the end of the file or moves the end, so they overwrite nothing.
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

  /** Runs a put that lmdb's thread writes. Reserves room for all such puts of this thread under way, times `concurrentShares` for other threads. */
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

/**
 * For a data file that LMDB is about to make: shows that the disk takes as much as the file's first transaction wants. LMDB ends the process if the
 * disk is full while it writes the first two pages, and it makes the file itself, so that no room can stand there before.
 *
 * @throws SaltworksError STORE_FAILED on a full disk
 */
export function checkRoomForNew(dataFile: string): void {
  try {
    probeRoom(dataFile, lmdbRoomStepBytes);
  } catch (cause) {
    throw storeFailed(`${dataFile} cannot be made`, cause);
  }
}

/** Bytes of LMDB's lock file for `readersMax` readers. */
function lockBytes(readersMax: number): number {
  return lockHeadBytes + readersMax * lockSlotBytes;
}

const lockHeadBytes = 208;
const lockSlotBytes = 64;
const lockBlockBytes = 4_096;
const lockMode = 0o600;

/**
 * Makes a missing lock file with all its bytes. LMDB maps the file into memory, where an access to a hole on a full disk ends the process.
 *
 * @throws errors of the file system
 */
export function ensureLockFile(dataFile: string, readersMax: number): void {
  // An existing file is not even opened, because closing it would release this process's locks on it.
  if (!existsSync(`${dataFile}-lock`)) createDurably(`${dataFile}-lock`, Buffer.alloc(lockBytes(readersMax)), lockMode);
}

/** Fills the holes in a lock file of an earlier release. Call it only before this process opens the data file. */
export function fillLockFile(dataFile: string): void {
  let file: number;
  try {
    file = openSync(`${dataFile}-lock`, "r+");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return;
    throw error;
  }
  try {
    // The last byte of each block, and of the file, is in the unused end of a reader's slot.
    const { size } = fstatSync(file);
    for (let at = lockBlockBytes - 1; at < size; at += lockBlockBytes) writeSync(file, Buffer.alloc(1), 0, 1, at);
    if (size > 0) writeSync(file, Buffer.alloc(1), 0, 1, size - 1);
  } finally {
    closeSync(file);
  }
}
