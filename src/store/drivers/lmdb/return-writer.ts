/**
 * Puts returns for one thread: detects duplicates, makes each batch durable in the thread's log, and moves the log's returns into LMDB in large,
 * cheap transactions. Batches of large returns go into LMDB at once. docs/decisions/0006-job-cache-writes.md.
 */
import {
  returnLogBytes,
  returnsPerTransaction,
  returnTransactionDelayMs,
  unloggedBatchBytesMin,
} from "../../../limits.ts";
import { checkBytes, writeChecked } from "../../disk/checked-value.ts";
import { storeDamaged, storeFailed } from "../../disk/store-error.ts";
import type { PutOutcome, ReturnRecord } from "../../jobs/job-cache.ts";
import { absorbLogs } from "../../return-log/files.ts";
import { frameBytesMax, type LoggedEntry } from "../../return-log/frames.ts";
import { KnownReturns, type StoredReturns } from "../../return-log/known-returns.ts";
import { ReturnLog } from "../../return-log/return-log.ts";
import { returnKey } from "./records.ts";

export type ReturnWriterOptions = {
  /** The directory of the logs. */
  readonly directory: string;
  /** Whether a put waits for the disk. */
  readonly isSynced: boolean;
  readonly stored: StoredReturns;
  /** Stores entries in one durable transaction per file. Returns that are already stored stay. Throws unless all entries are stored. */
  readonly store: (entries: readonly LoggedEntry[]) => void;
  /** Gets the error of a background transaction. Its returns stay in the log, and the writer tries again. */
  readonly onFault: (error: Error) => void;
  /** Bound of the time that returns wait in the log, milliseconds. Default: `returnTransactionDelayMs`. */
  readonly storeDelayMs?: number;
};

/** Most memory that is kept for values, bytes: a full batch of `batch_max_bytes`, and a larger return of its own. */
const valuesKeptBytesMax = 2 * 1024 * 1024;

function keyPrefix(jid: string): string {
  return returnKey(jid, "").toString("utf8");
}

/** Like `keyPrefix`, but remembers the last prefix, because most returns of a batch are of one job. */
function rememberingPrefix(): (jid: string) => string {
  let lastJid: string | undefined;
  let lastPrefix = "";
  return (jid) => {
    if (jid !== lastJid) {
      lastJid = jid;
      lastPrefix = keyPrefix(jid);
    }
    return lastPrefix;
  };
}

export class ReturnWriter {
  readonly #options: ReturnWriterOptions;
  readonly #known: KnownReturns;
  readonly #keyPrefix = rememberingPrefix();
  #log: ReturnLog | undefined;
  /** A write failed: the log takes no further returns. The returns that it held before are good. */
  #isLogSpoilt = false;
  #writing: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #waiting: ReturnRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isTransactionDue = false;
  #isClosed = false;
  /** Memory for the values of batches that are not logged. New memory for each would cost page faults. */
  #values = Buffer.alloc(0);

  /** Stores the returns in the logs of all threads, dead or living: the thread that this one replaces may still be ending. */
  constructor(options: ReturnWriterOptions) {
    this.#options = options;
    this.#known = new KnownReturns(options.stored);
    for (const fault of absorbLogs(options.directory, options.store)) options.onFault(storeDamaged(fault));
  }

  async put(batch: readonly ReturnRecord[]): Promise<PutOutcome[]> {
    const fresh: ReturnRecord[] = [];
    try {
      const outcomes = batch.map((record): PutOutcome => {
        const isNew = this.#known.add(record.jid, record.minionId);
        if (isNew) fresh.push(record);
        return isNew ? "stored" : "duplicate";
      });
      // The first return of a duplicate may still be on its way to the disk, so the answer waits for that, too.
      const isDone = this.#store(fresh);
      if (isDone !== undefined) await isDone;
      return outcomes;
    } catch (error) {
      for (const { jid, minionId } of fresh) this.#known.remove(jid, minionId);
      throw storeFailed("a write failed", error);
    }
  }

  /** Moves all returns from the log into the store. @throws SaltworksError STORE_FAILED; the returns then stay in the log */
  async flush(): Promise<void> {
    while (this.#following !== undefined || this.#writing !== undefined) {
      await Promise.allSettled([this.#following, this.#writing]);
    }
    try {
      this.#transact();
      this.#known.shrink();
      if (this.#log?.isStale === true) this.#log.erase();
    } catch (error) {
      throw storeFailed("returns cannot be stored and stay in the log", error);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.flush();
    const log = this.#log;
    this.#log = undefined;
    log?.remove();
  }

  /** Logs the returns. While the disk writes a batch, later batches wait, and are then written together. @returns undefined if already durable */
  #store(records: readonly ReturnRecord[]): Promise<void> | undefined {
    if (this.#writing === undefined && this.#following === undefined) return this.#write(records);
    this.#waiting.push(...records);
    this.#following ??= this.#follow(this.#writing);
    return this.#following;
  }

  /** Writes the waiting batches after `before`. If that write fails, they fail, too, because they may have duplicates of its returns. */
  async #follow(before: Promise<void> | undefined): Promise<void> {
    let records: readonly ReturnRecord[] = [];
    try {
      await before;
    } finally {
      records = this.#waiting;
      this.#waiting = [];
      this.#following = undefined;
    }
    await this.#write(records);
  }

  #write(records: readonly ReturnRecord[]): Promise<void> | undefined {
    if (records.length === 0) return undefined;
    const log = this.#readyLog();
    if (isLarge(records)) {
      this.#options.store(this.#entriesOf(records));
      if (log.count === 0) this.#known.shrink();
      return undefined;
    }
    if (!log.fits(records)) this.#transact();
    try {
      const later = log.add(records);
      if (later === undefined) {
        this.#scheduleTransaction(log);
        return undefined;
      }
      this.#writing = later.then(
        () => this.#endWriting(log, false),
        (error: unknown) => {
          this.#endWriting(log, true);
          throw error;
        },
      );
      return this.#writing;
    } catch (error) {
      this.#isLogSpoilt = true;
      throw error;
    }
  }

  /** The values are good until the next call. */
  #entriesOf(records: readonly ReturnRecord[]): LoggedEntry[] {
    const bytes = records.reduce((sum, { body }) => sum + checkBytes + body.byteLength, 0);
    if (bytes > this.#values.byteLength && bytes <= valuesKeptBytesMax) this.#values = Buffer.allocUnsafeSlow(bytes);
    const values = bytes <= this.#values.byteLength ? this.#values : Buffer.allocUnsafeSlow(bytes);
    let end = 0;
    return records.map(({ jid, minionId, body }) => {
      const start = end;
      end += checkBytes + body.byteLength;
      const key = returnKey(jid, minionId);
      return { key, value: writeChecked(values.subarray(start, end), key, body) };
    });
  }

  #endWriting(log: ReturnLog, isSpoilt: boolean): void {
    this.#writing = undefined;
    this.#isLogSpoilt ||= isSpoilt;
    this.#scheduleTransaction(log);
  }

  #readyLog(): ReturnLog {
    if (this.#isLogSpoilt) {
      this.#transact();
      const spoilt = this.#log;
      // Unset before `remove`, which may throw: the file must be closed only once.
      this.#log = undefined;
      this.#isLogSpoilt = false;
      spoilt?.remove();
    }
    this.#log ??= new ReturnLog(this.#options.directory, this.#options.isSynced, this.#keyPrefix);
    return this.#log;
  }

  #transact(): void {
    const log = this.#log;
    if (log === undefined || log.count === 0) return;
    this.#options.store(log.entries());
    log.clear();
  }

  /** Schedules a transaction: right after the answer to this batch if `returnsPerTransaction` returns wait, else after `storeDelayMs`. */
  #scheduleTransaction(log: ReturnLog): void {
    if (log.count >= returnsPerTransaction && !this.#isTransactionDue) {
      this.#isTransactionDue = true;
      setImmediate(() => {
        this.#isTransactionDue = false;
        this.#transactSoon();
      });
    }
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#transactSoon();
      if (this.#log !== undefined && (this.#log.count > 0 || this.#log.isStale)) this.#scheduleTransaction(this.#log);
    }, this.#options.storeDelayMs ?? returnTransactionDelayMs).unref();
  }

  #transactSoon(): void {
    if (this.#writing !== undefined || this.#following !== undefined || this.#log === undefined) return;
    try {
      if (this.#log.count > 0) {
        this.#transact();
        // Now no batch is on its way to the log, so the store has every known return.
        this.#known.shrink();
      } else if (this.#log.isStale && !this.#isLogSpoilt) this.#log.erase();
    } catch (error) {
      this.#options.onFault(storeFailed("returns cannot be stored and stay in the log", error));
    }
  }
}

/** Whether the batch goes into the store at once. A batch of many small returns may exceed the log, too. */
function isLarge(records: readonly ReturnRecord[]): boolean {
  const bytes = records.reduce((sum, { body }) => sum + body.byteLength, 0);
  return bytes >= unloggedBatchBytesMin || frameBytesMax(records) > returnLogBytes;
}
