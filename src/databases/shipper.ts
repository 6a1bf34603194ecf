/**
 * Copies what the local store feeds into a database, batch by batch. An entry leaves the feed only after the database has committed its row, so a
 * master that was killed goes on where it stopped. docs/decisions/0030-job-feed.md.
 */
import { hasCode } from "../errors.ts";
import { databaseRowsMax, logItemsMax } from "../limits.ts";
import type { FedJob, FedReturn, FeedEntry, FeedState, JobFeed } from "../store/jobs/job-feed.ts";
import type { JobDatabase } from "./contract/database.ts";
import { jobRow, type Row, returnRow } from "./contract/rows.ts";
import { writeApart } from "./row-writer.ts";
import { isCut, Suspects } from "./suspects.ts";

/** Bytes of stored returns in one transaction. Its rows hold each return twice, as JSON. */
const batchBytesMax = 2 * 1024 * 1024;
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
  /** Why the database took nothing more. The caller tries again later. */
  fault: string | undefined;
  /** A text for each of the first rows that were refused. */
  readonly refusals: string[];
  feed: FeedState;
};

type Entry = { readonly entry: FeedEntry; readonly row: Row };

export class Shipper {
  readonly #feed: JobFeed;
  readonly #database: JobDatabase;
  /** By part of the feed: rows at its head that an attempt with an unknown end may have written. */
  readonly #unsure: number[];
  readonly #suspects: Suspects[];
  /** The database was asked since the start, or since it last failed. An operator is told of a fault before the first job waits for it. */
  #isChecked = false;

  constructor(feed: JobFeed, database: JobDatabase) {
    this.#feed = feed;
    this.#database = database;
    // The master before this one may have been killed between the database's commit and the removal from the feed.
    this.#unsure = Array(feed.partCount).fill(databaseRowsMax);
    this.#suspects = Array.from({ length: feed.partCount }, () => new Suspects());
  }

  /** @throws SaltworksError STORE_FAILED if our own store cannot be read */
  async step(): Promise<ShippedStep> {
    const step: ShippedStep = {
      ...{ jobs: 0, returns: 0, present: 0, refused: 0, gone: 0, batches: 0 },
      ...{ fault: undefined, refusals: [], feed: this.#feed.state() },
    };
    const endMs = performance.now() + stepMs;
    await this.#check(step);
    for (let hasMore = true; hasMore && step.fault === undefined && performance.now() < endMs; ) {
      hasMore = false;
      for (let part = 0; part < this.#feed.partCount && step.fault === undefined; part += 1)
        hasMore = (await this.#shipBatch(part, step)) || hasMore;
    }
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

  /** @returns whether the part may have more */
  async #shipBatch(part: number, step: ShippedStep): Promise<boolean> {
    const suspects = this.#suspects[part] ?? new Suspects();
    if (suspects.isAlone) return await this.#judge(part, suspects, step);
    const entries = this.#feed.read(part, { limit: suspects.limit, bytesMax: batchBytesMax });
    if (entries.length === 0) return this.#refill(part);
    try {
      await this.#write(part, this.#rowsOf(entries, step), step);
    } catch (error) {
      if (isCut(error)) suspects.noteCut(entries.length);
      this.#unsure[part] = databaseRowsMax;
      this.#fail(error, step);
      return false;
    }
    this.#leave(part, entries, step);
    return true;
  }

  #leave(part: number, entries: readonly FeedEntry[], step: ShippedStep): void {
    const places = entries.map(({ place }) => place);
    this.#feed.remove(part, places);
    this.#suspects[part]?.notePassed(entries.length);
    this.#unsure[part] = Math.max(0, (this.#unsure[part] ?? 0) - entries.length);
    step.batches += 1;
  }

  /**
   * The oldest row has ended the connection again and again. It is tried alone, each time just after the database has answered and has taken another
   * row. That row stays in the feed until the suspect is judged: writing it again changes nothing.
   */
  async #judge(part: number, suspects: Suspects, step: ShippedStep): Promise<boolean> {
    const [suspect, ...others] = this.#feed.read(part, { limit: databaseRowsMax, bytesMax: batchBytesMax });
    if (suspect === undefined) return false;
    const other = others.length === 0 ? undefined : others[suspects.other(others.length)];
    this.#unsure[part] = databaseRowsMax;
    let isHealthy = false;
    try {
      await this.#database.check();
      isHealthy = await this.#takes(other);
      await this.#write(part, this.#rowsOf([suspect], step), step);
    } catch (error) {
      if (!isHealthy || !isCut(error) || !suspects.noteTrial()) {
        this.#fail(error, step);
        return false;
      }
      refuse(step, suspect, error as Error);
    }
    this.#leave(part, [suspect], step);
    return true;
  }

  async #takes(entry: FeedEntry | undefined): Promise<boolean> {
    if (entry === undefined || entry.kind === "gone" || entry.kind === "damaged") return false;
    try {
      await this.#database.write([rowOf(entry)], { mayBePresent: true });
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
    return isRefilled;
  }

  #rowsOf(entries: readonly FeedEntry[], step: ShippedStep): Entry[] {
    return entries.flatMap((entry) => {
      if (entry.kind === "gone" || entry.kind === "damaged") {
        step.gone += 1;
        return [];
      }
      try {
        return [{ entry, row: rowOf(entry) }];
      } catch (error) {
        if (!hasCode(error, "DATABASE_REFUSED")) throw error;
        refuse(step, entry, error as Error);
        return [];
      }
    });
  }

  async #write(part: number, rows: readonly Entry[], step: ShippedStep): Promise<void> {
    await writeApart(rows, {
      database: this.#database,
      mayBePresent: (this.#unsure[part] ?? 0) > 0,
      count: step,
      onRefused: ({ entry }, reason) => refuse(step, entry, reason),
    });
  }
}

function rowOf(entry: FedJob | FedReturn): Row {
  if (entry.kind === "job") return jobRow(entry.jid, entry.load);
  return returnRow(entry.jid, entry.minionId, entry.body);
}

function refuse(step: ShippedStep, entry: FeedEntry, { message }: Error): void {
  step.refused += 1;
  if (step.refusals.length >= logItemsMax) return;
  const whose = entry.kind === "return" ? ` of minion ${JSON.stringify(entry.minionId)}` : "";
  step.refusals.push(`${entry.kind}${whose} of job ${JSON.stringify(entry.jid)}: ${message}`);
}
