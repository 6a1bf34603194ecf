/**
 * Copies what the local store feeds into a database, batch by batch. An entry leaves the feed only after the database has committed its row, so a
 * master that was killed goes on where it stopped. docs/decisions/0030-job-feed.md.
 */
import { setImmediate as turn } from "node:timers/promises";
import { hasCode } from "../errors.ts";
import { databaseCopyRowsMax, logItemsMax } from "../limits.ts";
import type { FeedEntry, FeedState, JobFeed } from "../store/jobs/job-feed.ts";
import { Batch, type BatchEntry } from "./batch.ts";
import type { BroughtRows } from "./brought-rows.ts";
import type { JobDatabase } from "./contract/database.ts";
import { writeApart } from "./row-writer.ts";
import { isCut, Suspects } from "./suspects.ts";

/** One step, milliseconds, apart from its last transaction. */
const stepMs = 500;
/** Jobs and returns of the store that are added to the feed at once after it was full. */
const refillAtOnce = 5_000;

/**
 * The counts of one step. `present`: the database had the row already. `refused`: rows that the database does not take for what they hold; the local
 * store keeps them. `gone`: removed from the local store, or damaged there.
 */
export type ShippedStep = {
  jobs: number;
  returns: number;
  present: number;
  refused: number;
  gone: number;
  batches: number;
  /** The step's time was over before all that waited was copied. */
  hasMore: boolean;
  /** Why the database took nothing more. The caller tries again later. */
  fault: string | undefined;
  /** A text for each of the first rows that were refused. */
  readonly refusals: string[];
  feed: FeedState;
};

export class Shipper {
  readonly #feed: JobFeed;
  readonly #database: JobDatabase;
  readonly #brought: BroughtRows;
  /** By part of the feed: rows at its head that an attempt with an unknown end may have written. */
  readonly #unsure: number[];
  readonly #suspects: Suspects[];
  /** By part of the feed: its oldest entries, read while the database wrote those before. */
  readonly #ahead: (Batch | undefined)[] = [];
  /** The database was asked since the start, or since it last failed. An operator is told of a fault before the first job waits for it. */
  #isChecked = false;

  constructor(feed: JobFeed, database: JobDatabase, brought: BroughtRows) {
    this.#feed = feed;
    this.#database = database;
    this.#brought = brought;
    // The master before this one may have been killed between the database's commit and the removal from the feed.
    this.#unsure = Array(feed.partCount).fill(databaseCopyRowsMax);
    this.#suspects = Array.from({ length: feed.partCount }, () => new Suspects());
  }

  /** @throws SaltworksError STORE_FAILED if our own store cannot be read */
  async step(): Promise<ShippedStep> {
    const step: ShippedStep = {
      ...{ jobs: 0, returns: 0, present: 0, refused: 0, gone: 0, batches: 0 },
      ...{ hasMore: false, fault: undefined, refusals: [], feed: this.#feed.state() },
    };
    const endMs = performance.now() + stepMs;
    await this.#check(step);
    do {
      step.hasMore = false;
      for (let part = 0; part < this.#feed.partCount && step.fault === undefined; part += 1)
        step.hasMore = (await this.#shipBatch(part, step)) || step.hasMore;
    } while (step.hasMore && step.fault === undefined && performance.now() < endMs);
    step.feed = this.#feed.state();
    return step;
  }

  /** @throws SaltworksError STORE_FAILED */
  feedState(): FeedState {
    return this.#feed.state();
  }

  async #check(step: ShippedStep): Promise<void> {
    if (this.#isChecked) return;
    try {
      await this.#database.check();
      this.#isChecked = true;
    } catch (error) {
      this.#fail(error, step);
    }
  }

  #fail(error: unknown, step: ShippedStep): void {
    if (!hasCode(error, "DATABASE_FAILED")) throw error;
    this.#isChecked = false;
    step.fault = (error as Error).message;
  }

  /** @returns whether the part may have more. After a batch that was not full, rows come one by one: they gather until the next step. */
  async #shipBatch(part: number, step: ShippedStep): Promise<boolean> {
    const suspects = this.#suspects[part] ?? new Suspects();
    if (suspects.isAlone) return await this.#judge(part, suspects, step);
    const entriesMax = Math.min(suspects.limit, this.#database.rowsMax ?? databaseCopyRowsMax);
    const batch = this.#next(part, entriesMax);
    if (batch.entries.length === 0) return this.#refill(part);
    const isFull = batch.isFull(entriesMax);
    try {
      await this.#writeAndReadAhead(part, batch, step);
    } catch (error) {
      if (isCut(error)) suspects.noteCut(batch.entries.length);
      this.#unsure[part] = databaseCopyRowsMax;
      this.#fail(error, step);
      return false;
    }
    this.#leave(part, batch, step);
    return isFull || this.#refillsWhenEmpty(part, entriesMax);
  }

  /** After a batch that was not full: keeps what came meanwhile for the next step. @returns whether nothing came, and a full feed had left out more */
  #refillsWhenEmpty(part: number, entriesMax: number): boolean {
    const rest = this.#next(part, entriesMax);
    if (rest.entries.length === 0) return this.#refill(part);
    this.#ahead[part] = rest;
    return false;
  }

  /** The oldest entries of a part. */
  #next(part: number, entriesMax: number): Batch {
    const batch = this.#ahead[part] ?? new Batch();
    this.#ahead[part] = undefined;
    while (batch.read(this.#feed, part, { entriesMax }));
    return batch;
  }

  /** Makes the rows after these while the database writes. After a failure the feed is read from its head again. */
  async #writeAndReadAhead(part: number, batch: Batch, step: ShippedStep): Promise<void> {
    let isWriting = true;
    const written = this.#write(part, batch.rows, step).finally(() => {
      isWriting = false;
    });
    const ahead = new Batch();
    const readAhead = async () => {
      if (!batch.isFull()) return;
      const after = batch.entries.at(-1)?.place;
      while (isWriting && ahead.read(this.#feed, part, { after })) await turn();
    };
    // Both have ended before either fails, so that no other transaction begins beside this one.
    for (const ended of await Promise.allSettled([written, readAhead()]))
      if (ended.status === "rejected") throw ended.reason;
    if (ahead.entries.length > 0) this.#ahead[part] = ahead;
  }

  #leave(part: number, { entries, gone, unreadable }: Batch, step: ShippedStep): void {
    const places = entries.map(({ place }) => place);
    this.#feed.remove(part, places);
    this.#suspects[part]?.notePassed(entries.length);
    this.#unsure[part] = Math.max(0, (this.#unsure[part] ?? 0) - entries.length);
    step.batches += 1;
    step.gone += gone;
    for (const { entry, reason } of unreadable) refuse(step, entry, reason);
  }

  /**
   * The oldest row has ended the connection again and again. It is tried alone, each time just after the database has answered and has taken another
   * row. That row stays in the feed until the suspect is judged: writing it again changes nothing.
   */
  async #judge(part: number, suspects: Suspects, step: ShippedStep): Promise<boolean> {
    const { entries } = this.#next(part, databaseCopyRowsMax);
    const [suspect, ...others] = entries;
    if (suspect === undefined) return false;
    const other = others.length === 0 ? undefined : others[suspects.other(others.length)];
    const batch = new Batch([suspect]);
    this.#unsure[part] = databaseCopyRowsMax;
    let isHealthy = false;
    try {
      await this.#database.check();
      isHealthy = await this.#takes(part, other);
      await this.#write(part, batch.rows, step);
    } catch (error) {
      if (!isHealthy || !isCut(error) || !suspects.noteTrial()) {
        this.#fail(error, step);
        return false;
      }
      refuse(step, suspect, error as Error);
    }
    this.#leave(part, batch, step);
    return true;
  }

  async #takes(part: number, entry: FeedEntry | undefined): Promise<boolean> {
    const { rows } = new Batch(entry === undefined ? [] : [entry]);
    if (rows.length === 0) return false;
    try {
      await this.#database.write(
        rows.map(({ row }) => row),
        { mayBePresent: true, isOwnOnly: this.#isOwnOnly(part) },
      );
      return true;
    } catch (error) {
      if (!hasCode(error, "DATABASE_REFUSED")) throw error;
      return false;
    }
  }

  /** What is added now may be in the database already, because a full feed left out only a part of the store. */
  #refill(part: number): boolean {
    const isRefilled = this.#feed.refill(part, refillAtOnce);
    this.#unsure[part] = isRefilled ? Number.POSITIVE_INFINITY : 0;
    if (!isRefilled) this.#brought.noteDrained(part, this.#feed.partCount);
    return isRefilled;
  }

  /** False if a row may have come by a migration, whose returns do not begin as ours. The same where the whole store is fed again. */
  #isOwnOnly(part: number): boolean {
    return !this.#brought.mayWait && Number.isFinite(this.#unsure[part]);
  }

  async #write(part: number, rows: readonly BatchEntry[], step: ShippedStep): Promise<void> {
    const mayBePresent = this.#brought.mayWait || (this.#unsure[part] ?? 0) > 0;
    await writeApart(rows, {
      database: this.#database,
      how: { mayBePresent, isOwnOnly: this.#isOwnOnly(part) },
      count: step,
      onRefused: ({ entry }, reason) => refuse(step, entry, reason),
    });
  }
}

function refuse(step: ShippedStep, entry: FeedEntry, { message }: Error): void {
  step.refused += 1;
  if (step.refusals.length >= logItemsMax) return;
  const whose = entry.kind === "return" ? ` of minion ${JSON.stringify(entry.minionId)}` : "";
  step.refusals.push(`${entry.kind}${whose} of job ${JSON.stringify(entry.jid)}: ${message}`);
}
