/**
 * The durable record of batch jobs (Salt's `-b`): one append-only file per job, one entry per line. A batch job whose last entry is not `done`
 * goes on at the master's next start. docs/decisions/0020-batches-in-the-master.md.
 */
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { batchEntryBytesMax } from "../../limits.ts";
import type { BatchEntry } from "../../wire/batch-options.ts";
import { syncDirectory } from "../disk/durable-file.ts";

const suffix = ".log";
/** The id comes from a caller, so it is checked: it must not be a path. */
const namePattern = /^\d{20}(?:_\d+)?$/;
const chunkBytes = 65_536;
const newline = 0x0a;
const doneStart = '{"kind":"done"';
const fdatasyncAsync = promisify(fdatasync);

/** `offset` and `end`: start and end of the entry's line in the log. Followers use them to ask for the entries that they lack. */
export type PlacedEntry = { readonly offset: number; readonly end: number; readonly entry: BatchEntry };
export type BatchSummary = {
  readonly first: Extract<BatchEntry, { kind: "new" }>;
  readonly last: BatchEntry;
};

export function batchDirectory(cachedir: string): string {
  return join(cachedir, "batches");
}

function logFile(directory: string, jid: string): string {
  if (!namePattern.test(jid)) throw new SaltworksError("FUNCTION_ARGUMENTS", `${jid} is not the job id of a batch`);
  return join(directory, `${jid}${suffix}`);
}

/** A log that is open for appending. In a cluster its entries go to the other members, too. */
export interface OpenBatchLog {
  append(entry: BatchEntry): PlacedEntry;
  /** Resolves when all appended entries are safe. */
  sync(): Promise<void>;
  close(): void;
}

/** An entry as its line in the log. */
export function batchLine(entry: BatchEntry): Buffer {
  return Buffer.from(`${JSON.stringify(entry)}\n`, "utf8");
}

/** A log that is open for appending. Only the master opens one. Every method throws SaltworksError STORE_FAILED on an error of the disk. */
export class BatchLog implements OpenBatchLog {
  readonly #fd: number;
  #end: number;
  #syncs = 0;
  #isClosing = false;

  private constructor(fd: number, end: number) {
    this.#fd = fd;
    this.#end = end;
  }

  /** @throws SaltworksError STORE_FAILED, also if the log already exists */
  static create(directory: string, jid: string): BatchLog {
    return attempt(() => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const fd = openSync(logFile(directory, jid), "ax", 0o600);
      syncDirectory(directory);
      return new BatchLog(fd, 0);
    });
  }

  /** Opens an existing log for appending. Removes a line that a crash cut off. */
  static reopen(directory: string, jid: string): { readonly log: BatchLog; readonly entries: readonly BatchEntry[] } {
    const entries: BatchEntry[] = [];
    let end = 0;
    for (;;) {
      const placed = readBatchEntries(directory, jid, end, batchEntryBytesMax);
      for (const { entry } of placed) entries.push(entry);
      const last = placed.at(-1);
      if (last === undefined) break;
      end = last.end;
    }
    const log = attempt(() => {
      const fd = openSync(logFile(directory, jid), "a");
      if (fstatSync(fd).size > end) ftruncateSync(fd, end);
      return new BatchLog(fd, end);
    });
    return { log, entries };
  }

  append(entry: BatchEntry): PlacedEntry {
    const line = batchLine(entry);
    const offset = this.#end;
    attempt(() => {
      for (let written = 0; written < line.length; ) written += writeSync(this.#fd, line, written);
    });
    this.#end += line.length;
    return { offset, end: this.#end, entry };
  }

  /** Resolves when all appended entries are on disk. */
  async sync(): Promise<void> {
    this.#syncs += 1;
    try {
      await fdatasyncAsync(this.#fd);
    } catch (error) {
      throw failed(error);
    } finally {
      this.#syncs -= 1;
      if (this.#isClosing && this.#syncs === 0) closeSync(this.#fd);
    }
  }

  /** Closes the file after any sync under way. Call it once. */
  close(): void {
    this.#isClosing = true;
    if (this.#syncs === 0) closeSync(this.#fd);
  }
}

/** Ids of the batch jobs that have a log, oldest first. */
export function listBatches(directory: string): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith(suffix));
    return names
      .map((name) => name.slice(0, -suffix.length))
      .filter((jid) => namePattern.test(jid))
      .sort();
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return [];
    throw failed(error);
  }
}

export function hasBatch(directory: string, jid: string): boolean {
  return namePattern.test(jid) && statSync(logFile(directory, jid), { throwIfNoEntry: false }) !== undefined;
}

export function removeBatch(directory: string, jid: string): void {
  attempt(() => rmSync(logFile(directory, jid), { force: true }));
}

/**
 * Writes a part of a log that another member owns. What the file has beyond it is void, and is cut off.
 *
 * @param isKnown the file may have this part and later ones already; then nothing is written
 * @throws SaltworksError STORE_FAILED, also if the file ends before the part
 */
export function copyBatchPart(
  directory: string,
  jid: string,
  offset: number,
  bytes: Uint8Array,
  isKnown: boolean,
): void {
  attempt(() => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const fd = openSync(logFile(directory, jid), constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      const { size } = fstatSync(fd);
      if (size < offset) throw new Error(`the copy of ${jid} ends at ${size}, before ${offset}`);
      if (isKnown && readAt(fd, offset, bytes.byteLength).equals(bytes)) return;
      ftruncateSync(fd, offset);
      for (let written = 0; written < bytes.byteLength; )
        written += writeSync(fd, bytes, written, bytes.byteLength - written, offset + written);
    } finally {
      closeSync(fd);
    }
  });
}

/** Adds the whole lines in `bytes` to `found`. @returns where the last of them ends */
export function placeLines(bytes: Buffer, at: number, found: PlacedEntry[]): number {
  let start = 0;
  for (let end = bytes.indexOf(newline) + 1; end > 0; end = bytes.indexOf(newline, start) + 1) {
    const entry = JSON.parse(bytes.toString("utf8", start, end)) as BatchEntry;
    found.push({ offset: at + start, end: at + end, entry });
    start = end;
  }
  return at + start;
}

/**
 * Reads whole entries from `offset` on: at least one if there is any, and more until `bytesMax` is reached.
 *
 * @throws SaltworksError FUNCTION_ARGUMENTS if the batch job has no log, STORE_FAILED
 */
export function readBatchEntries(directory: string, jid: string, offset: number, bytesMax: number): PlacedEntry[] {
  return withLog(directory, jid, (fd) => {
    const found: PlacedEntry[] = [];
    let at = offset;
    let wanted = chunkBytes;
    for (;;) {
      const bytes = readAt(fd, at, wanted);
      const end = placeLines(bytes, at, found);
      if (bytes.length < wanted || end - offset >= bytesMax) return found;
      // Without a whole line, reads twice as many bytes: the line of a large batch job's minions is long.
      wanted = end > at ? chunkBytes : wanted * 2;
      if (wanted > 2 * batchEntryBytesMax) throw failed(new Error("a line is too long"));
      at = end;
    }
  });
}

/** Reads the first and the last entry, and not those between. */
export function readBatchSummary(directory: string, jid: string): BatchSummary | undefined {
  const first = readBatchEntries(directory, jid, 0, 1)[0]?.entry;
  if (first?.kind !== "new") return undefined;
  const last = withLog(directory, jid, (fd) => {
    const { size } = fstatSync(fd);
    const tail = readAt(fd, Math.max(0, size - chunkBytes), chunkBytes);
    const lines = tail.toString("utf8").split("\n");
    const line = lines.length > 2 ? lines.at(-2) : undefined;
    return line === undefined ? first : parsedOr(line, first);
  });
  return { first, last };
}

/** The entry `done` in the last line; otherwise `otherwise`. The line may be cut off at its start; then it is not a `done`, which is short. */
function parsedOr(line: string, otherwise: BatchEntry): BatchEntry {
  return line.startsWith(doneStart) ? (JSON.parse(line) as BatchEntry) : otherwise;
}

/** Whether a part of a log holds the start of its last line. */
export function isEndOfBatch(part: Uint8Array): boolean {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  const at = bytes.lastIndexOf(doneStart);
  return at === 0 || bytes[at - 1] === newline;
}

/** Whether the system refused a step on a log. The fault may pass, as that of a full disk. */
export function isFaultOfDisk(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && "errno" in error.cause;
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(fd, bytes, filled, length - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

function withLog<Result>(directory: string, jid: string, read: (fd: number) => Result): Result {
  const file = logFile(directory, jid);
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT")) throw failed(error);
    throw new SaltworksError("FUNCTION_ARGUMENTS", `${jid} is not the job id of a batch`, { jid }, { cause: error });
  }
  try {
    return attempt(() => read(fd));
  } finally {
    closeSync(fd);
  }
}

function attempt<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw error instanceof SaltworksError ? error : failed(error);
  }
}

function failed(cause: unknown): SaltworksError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SaltworksError("STORE_FAILED", `the log of a batch failed: ${why}`, {}, { cause });
}
