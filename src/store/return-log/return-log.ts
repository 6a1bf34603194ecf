/**
 * The log of one writing thread: one write and one sync make a batch of returns durable, in a file that never changes its size.
 * Its returns wait until the writer stores them; then the file is reused from its start. docs/decisions/0006-job-cache-writes.md.
 */
import { closeSync, fdatasync, fdatasyncSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { returnLogBytes } from "../../limits.ts";
import { removeIfThere } from "../disk/durable-file.ts";
import { createLog } from "./files.ts";
import {
  blockBytes,
  blocksFor,
  emptyMark,
  encodeFrame,
  entryAt,
  firstGeneration,
  frameBytesMax,
  type LoggedEntry,
  type LoggedReturn,
} from "./frames.ts";

const syncLater = promisify(fdatasync);

/**
 * If writes take longer than this on average, milliseconds, a thread of libuv makes their syncs, and the worker opens the next batch's seals meanwhile.
 * The hand-over costs 40 µs. Under half of this average the worker syncs by itself again.
 */
const slowWriteMs = 2;
/** Weight of the latest write in the average. */
const averageWeight = 0.1;

export class ReturnLog {
  readonly path: string;
  readonly #file: number;
  readonly #isSynced: boolean;
  readonly #keyPrefix: (jid: string) => string;
  readonly #image = Buffer.alloc(returnLogBytes);
  #entryStarts: number[] = [];
  #end = 0;
  #generation = firstGeneration;
  #serial = 0;
  #writeMs = 0;
  #isSlow = false;
  #isStale = false;

  /** Makes the file. `isSynced`: a finished write is on the disk; otherwise it is in the kernel's cache. */
  constructor(directory: string, isSynced: boolean, keyPrefix: (jid: string) => string) {
    const { path, file } = createLog(directory, returnLogBytes);
    this.path = path;
    this.#file = file;
    this.#isSynced = isSynced;
    this.#keyPrefix = keyPrefix;
  }

  /** Number of returns that wait to be stored. */
  get count(): number {
    return this.#entryStarts.length;
  }

  /** Whether the file still has entries that are already in the store. `clear` leaves them there. */
  get isStale(): boolean {
    return this.#isStale;
  }

  fits(records: readonly LoggedReturn[]): boolean {
    return this.#end + frameBytesMax(records) <= this.#image.byteLength;
  }

  /**
   * Adds a batch, which must fit. The promise of the previous batch must have settled.
   *
   * @returns undefined if the batch is already written, as on a fast disk
   * @throws errors of the file system; the batch then does not count as added, and the caller must replace the log
   */
  add(records: readonly LoggedReturn[]): Promise<void> | undefined {
    const start = this.#end;
    const entryStarts: number[] = [];
    const name = { generation: this.#generation, serial: this.#serial };
    const end = encodeFrame(this.#image, start, records, name, this.#keyPrefix, entryStarts);
    const startedMs = performance.now();
    const note = () => {
      this.#noteTime(performance.now() - startedMs);
      for (const entryStart of entryStarts) this.#entryStarts.push(entryStart);
      this.#end = start + blocksFor(end - start);
      this.#serial += 1;
      this.#isStale = false;
    };
    // The write ends in the kernel's cache, so that only the sync is slow.
    for (let at = start; at < end; ) at += writeSync(this.#file, this.#image, at, end - at, at);
    if (this.#isSlow && this.#isSynced) return syncLater(this.#file).then(note);
    if (this.#isSynced) fdatasyncSync(this.#file);
    note();
    return undefined;
  }

  /** The waiting returns in the order in which they were added, as views that are valid until `clear`. */
  entries(): LoggedEntry[] {
    return this.#entryStarts.map((start) => entryAt(this.#image, start));
  }

  /** The caller has stored all waiting returns: starts the next generation. */
  clear(): void {
    this.#isStale ||= this.#entryStarts.length > 0;
    this.#entryStarts = [];
    this.#end = 0;
    this.#serial = 0;
    this.#generation += 1;
  }

  /** Marks the file as empty, so that returns that are trimmed from the store do not come back from it. The next batch would have the same effect. */
  erase(): void {
    writeSync(this.#file, emptyMark(this.#generation), 0, blockBytes, 0);
    if (this.#isSynced) fdatasyncSync(this.#file);
    this.#isStale = false;
  }

  /** Removes the file. Call it only if no return waits. */
  remove(): void {
    closeSync(this.#file);
    removeIfThere(this.path);
  }

  #noteTime(tookMs: number): void {
    this.#writeMs += (tookMs - this.#writeMs) * averageWeight;
    this.#isSlow = this.#writeMs > (this.#isSlow ? slowWriteMs / 2 : slowWriteMs);
  }
}
