/** Rows for one transaction of the database, read from the feed and made a few at a time. */
import { hasCode } from "../errors.ts";
import { databaseCopyRowsMax } from "../limits.ts";
import type { FeedEntry, FeedPlace, JobFeed } from "../store/jobs/job-feed.ts";
import { jobRow, type Row, returnRow } from "./contract/rows.ts";

/** Bytes of stored returns in one transaction. Its rows hold each return twice, as JSON. */
const bytesMax = 2 * 1024 * 1024;
/** Entries that are read at once, in about half a millisecond. The database's answer to the rows before waits for no more than that. */
const entriesAtOnce = 64;

export type BatchEntry = { readonly entry: FeedEntry; readonly row: Row };

export class Batch {
  /** In the feed's order. They leave it together. */
  readonly entries: FeedEntry[] = [];
  readonly rows: BatchEntry[] = [];
  /** Entries whose record was removed from the store, or is damaged there. */
  gone = 0;
  /** Entries of which no row can be made, and why. */
  readonly unreadable: { readonly entry: FeedEntry; readonly reason: Error }[] = [];
  #bytes = 0;

  constructor(entries: readonly FeedEntry[] = []) {
    for (const entry of entries) this.#add(entry);
  }

  isFull(entriesMax = databaseCopyRowsMax): boolean {
    return this.entries.length >= entriesMax || this.#bytes >= bytesMax;
  }

  /**
   * Reads the next entries of a part of the feed. @param after the place of the entry before this batch; undefined at the feed's head
   *
   * @returns whether there may be more for this batch
   */
  read(feed: JobFeed, part: number, { after, entriesMax = databaseCopyRowsMax }: BatchPlace): boolean {
    if (this.isFull(entriesMax)) return false;
    const limit = Math.min(entriesAtOnce, entriesMax - this.entries.length);
    const last = this.entries.at(-1)?.place ?? after;
    const read = feed.read(part, { after: last, limit, bytesMax: bytesMax - this.#bytes });
    for (const entry of read) this.#add(entry);
    return read.length > 0 && !this.isFull(entriesMax);
  }

  #add(entry: FeedEntry): void {
    this.entries.push(entry);
    if (entry.kind === "gone" || entry.kind === "damaged") {
      this.gone += 1;
      return;
    }
    try {
      this.#bytes += entry.kind === "job" ? entry.load.byteLength : entry.body.byteLength;
      const row =
        entry.kind === "job"
          ? jobRow(entry.jid, entry.load, entry.expected)
          : returnRow(entry.jid, entry.minionId, entry.body);
      this.rows.push({ entry, row });
    } catch (error) {
      if (!hasCode(error, "DATABASE_REFUSED")) throw error;
      this.unreadable.push({ entry, reason: error as Error });
    }
  }
}

type BatchPlace = { readonly after?: FeedPlace | undefined; readonly entriesMax?: number };
