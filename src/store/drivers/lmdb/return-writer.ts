/**
 * Puts returns for one thread: tells duplicates, makes each batch durable in the thread's log, and brings what the log holds into LMDB
 * in transactions large enough to be cheap. docs/decisions/0006-job-cache-writes.md.
 */
import { returnsPerTransaction, returnTransactionDelayMs } from "../../../limits.ts";
import { checkedValue } from "../../disk/checked-value.ts";
import { storeDamaged, storeFailed } from "../../disk/store-error.ts";
import type { PutOutcome, ReturnRecord } from "../../jobs/job-cache.ts";
import { absorbLogs } from "../../log/files.ts";
import type { LoggedEntry } from "../../log/frames.ts";
import { KnownReturns, type StoredReturns } from "../../log/known-returns.ts";
import { ReturnLog } from "../../log/return-log.ts";
import { returnKey } from "./records.ts";

export type ReturnWriterOptions = {
  /** Where logs stand. */
  readonly directory: string;
  /** Whether a put waits for the disk. */
  readonly isSynced: boolean;
  readonly stored: StoredReturns;
  /** One durable transaction per file; what is there already stays. Throws if nothing, or not everything, could be stored. */
  readonly store: (entries: readonly LoggedEntry[]) => void;
  /** A transaction in the background failed: nothing is lost, it will be tried again. */
  readonly onFault: (error: Error) => void;
  /** How long returns wait in the log at most, milliseconds. */
  readonly storeDelayMs?: number;
};

function keyPrefix(jid: string): string {
  return returnKey(jid, "").toString("utf8");
}

/** The last prefix again, since a batch's returns are mostly of one job. */
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
  /** A write failed: this log takes nothing more. What it held before is good. */
  #isLogSpoilt = false;
  #writing: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #waiting: ReturnRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isTransactionDue = false;
  #isClosed = false;

  /** Brings into the store what threads that died left in their logs, and what living ones wrote so far: a predecessor may be about to die. */
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
      // A duplicate's first return may still be on its way to the disk: both are answered when it is there.
      const isDone = this.#store(fresh);
      if (isDone !== undefined) await isDone;
      return outcomes;
    } catch (error) {
      for (const { jid, minionId } of fresh) this.#known.remove(jid, minionId);
      throw storeFailed("a write failed", error);
    }
  }

  /** Brings everything from the log into the store. @throws SaltworksError STORE_FAILED; the returns then stay in the log */
  async flush(): Promise<void> {
    while (this.#following !== undefined || this.#writing !== undefined) {
      await Promise.allSettled([this.#following, this.#writing]);
    }
    try {
      this.#transact();
      this.#known.shrink();
      if (this.#log?.isStale === true) this.#log.erase();
    } catch (error) {
      throw storeFailed("returns stay in the log", error);
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

  /** While the disk writes a batch, later batches wait and go together. @returns undefined if it is done */
  #store(records: readonly ReturnRecord[]): Promise<void> | undefined {
    if (this.#writing === undefined && this.#following === undefined) return this.#write(records);
    this.#waiting.push(...records);
    this.#following ??= this.#follow(this.#writing);
    return this.#following;
  }

  /** If a write fails, the batches behind it fail, too: duplicates in them stand for its returns. */
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
    if (!log.fits(records)) this.#transact();
    if (!log.fits(records)) {
      this.#options.store(records.map(({ jid, minionId, body }) => entryOf(returnKey(jid, minionId), body)));
      return undefined;
    }
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

  #endWriting(log: ReturnLog, isSpoilt: boolean): void {
    this.#writing = undefined;
    this.#isLogSpoilt ||= isSpoilt;
    this.#scheduleTransaction(log);
  }

  #readyLog(): ReturnLog {
    if (this.#isLogSpoilt) {
      this.#transact();
      const spoilt = this.#log;
      // Let go before it is removed: its file must be closed only once.
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

  /** Right after the answer to this batch if `returnsPerTransaction` wait, else after `storeDelayMs`. */
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
        // Not while a batch is about to be logged: its returns are known and not yet stored.
        this.#known.shrink();
      } else if (this.#log.isStale && !this.#isLogSpoilt) this.#log.erase();
    } catch (error) {
      this.#options.onFault(storeFailed("returns stay in the log", error));
    }
  }
}

function entryOf(key: Buffer, body: Uint8Array): LoggedEntry {
  return { key, value: checkedValue(key, body) };
}
