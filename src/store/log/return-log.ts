/**
 * The log of one writing thread: a batch of returns is durable after one write and one sync of a file that never changes its size.
 * What it holds waits to be brought into the store; then the file is used from its start again. docs/decisions/0006-job-cache-writes.md.
 */
import { closeSync, fdatasync, fdatasyncSync, write, writeSync } from "node:fs";
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

const writeLater = promisify(write);
const syncLater = promisify(fdatasync);

/**
 * Writes that take longer than this on average, milliseconds, are handed to another thread: opening the next batch's seals is then
 * worth more than the 40 µs that the hand-over costs. Under half of it they come back.
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

  /** Makes the file. `isSynced`: a write is on the disk when it is done, otherwise in the kernel's cache. */
  constructor(directory: string, isSynced: boolean, keyPrefix: (jid: string) => string) {
    const { path, file } = createLog(directory, returnLogBytes);
    this.path = path;
    this.#file = file;
    this.#isSynced = isSynced;
    this.#keyPrefix = keyPrefix;
  }

  /** Returns that wait. */
  get count(): number {
    return this.#entryStarts.length;
  }

  /** Whether the file still shows entries that the store has: what `clear` leaves. */
  get isStale(): boolean {
    return this.#isStale;
  }

  fits(records: readonly LoggedReturn[]): boolean {
    return this.#end + frameBytesMax(records) <= this.#image.byteLength;
  }

  /**
   * Adds a batch, which must fit. The promise of the batch before must have settled.
   *
   * @returns undefined if it is already written, as on a fast disk
   * @throws what the file system says; the batch is then not among the waiting ones, and the caller must replace the log
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
    if (this.#isSlow) return this.#writeSlowly(start, end).then(note);
    for (let at = start; at < end; ) at += writeSync(this.#file, this.#image, at, end - at, at);
    if (this.#isSynced) fdatasyncSync(this.#file);
    note();
    return undefined;
  }

  /** What waits, in the order in which it was added: views, good until `clear`. */
  entries(): LoggedEntry[] {
    return this.#entryStarts.map((start) => entryAt(this.#image, start));
  }

  /** All that waited is in the store. */
  clear(): void {
    this.#isStale ||= this.#entryStarts.length > 0;
    this.#entryStarts = [];
    this.#end = 0;
    this.#serial = 0;
    this.#generation += 1;
  }

  /** Marks the file as empty, so that returns which the store trims later do not come back from it. The next batch would overwrite them, too. */
  erase(): void {
    writeSync(this.#file, emptyMark(this.#generation), 0, blockBytes, 0);
    if (this.#isSynced) fdatasyncSync(this.#file);
    this.#isStale = false;
  }

  /** Only when nothing waits: the file goes. */
  remove(): void {
    closeSync(this.#file);
    removeIfThere(this.path);
  }

  async #writeSlowly(start: number, end: number): Promise<void> {
    for (let at = start; at < end; ) {
      const { bytesWritten } = await writeLater(this.#file, this.#image, at, end - at, at);
      at += bytesWritten;
    }
    if (this.#isSynced) await syncLater(this.#file);
  }

  #noteTime(tookMs: number): void {
    this.#writeMs += (tookMs - this.#writeMs) * averageWeight;
    this.#isSlow = this.#writeMs > (this.#isSlow ? slowWriteMs / 2 : slowWriteMs);
  }
}
