/** The targets of a migration: a database, and the local stores. */

import { hasCode } from "../../errors.ts";
import { databaseCutsMax } from "../../limits.ts";
import type { JobImport } from "../../store/jobs/job-import.ts";
import type { JobDatabase } from "../contract/database.ts";
import { jobRow, type Row, returnRow } from "../contract/rows.ts";
import { writeApart } from "../row-writer.ts";
import { isCut } from "../suspects.ts";
import {
  jobName,
  type LeftOut,
  leftOut,
  type MigratedItem,
  type MigrationTarget,
  type MigrationWritten,
  returnName,
} from "./contract.ts";

type Entry = { readonly what: string; readonly row: Row };
type Counted = { jobs: number; returns: number; present: number; readonly refused: LeftOut[] };

export class DatabaseTarget implements MigrationTarget {
  readonly place: string;
  readonly #database: JobDatabase;
  readonly #isOwned: boolean;
  /** How often in a row the connection has ended. */
  #cuts = 0;
  /** The row that ended it when it was written alone, and how often. */
  #suspect = { what: "", cuts: 0 };

  /** @param isOwned `close` closes the database */
  constructor(database: JobDatabase, isOwned: boolean) {
    this.#database = database;
    this.#isOwned = isOwned;
    this.place = database.place;
  }

  async check(): Promise<void> {
    await this.#database.check();
  }

  async write(items: readonly MigratedItem[]): Promise<MigrationWritten> {
    const counted: Counted = { jobs: 0, returns: 0, present: 0, refused: [] };
    const entries = items.flatMap((item) => entryOf(item, counted.refused));
    try {
      if (this.#cuts < databaseCutsMax) await this.#writeTogether(entries, counted);
      else for (const entry of entries) await this.#writeAlone(entry, counted);
    } catch (error) {
      this.#cuts = isCut(error) ? this.#cuts + 1 : 0;
      throw error;
    }
    this.#cuts = 0;
    return counted;
  }

  async close(): Promise<void> {
    if (this.#isOwned) await this.#database.close();
  }

  async #writeTogether(entries: readonly Entry[], counted: Counted): Promise<void> {
    await writeApart(entries, {
      database: this.#database,
      // Another program, or an attempt that was killed, may have written any of them.
      how: { mayBePresent: true },
      count: counted,
      onRefused: ({ what }, reason) => counted.refused.push(leftOut(what, reason.message)),
    });
  }

  /** A row that ends the connection each time is left out, if the database answers just before. */
  async #writeAlone(entry: Entry, counted: Counted): Promise<void> {
    const isSuspected = this.#suspect.what === entry.what && this.#suspect.cuts >= databaseCutsMax - 1;
    if (isSuspected) await this.#database.check();
    try {
      await this.#writeTogether([entry], counted);
    } catch (error) {
      if (!isCut(error)) throw error;
      if (isSuspected) {
        counted.refused.push(leftOut(entry.what, (error as Error).message));
        return;
      }
      const cuts = this.#suspect.what === entry.what ? this.#suspect.cuts : 0;
      this.#suspect = { what: entry.what, cuts: cuts + 1 };
      throw error;
    }
  }
}

function entryOf(item: MigratedItem, refused: LeftOut[]): readonly Entry[] {
  if (item.kind !== "job" && item.kind !== "return") return [];
  const what = item.kind === "job" ? jobName(item.job.jid) : returnName(item.jid, item.minionId);
  try {
    if (item.kind === "job") return [{ what, row: jobRow(item.job.jid, item.job.load) }];
    const { jid, minionId, body, atMs } = item;
    return [{ what, row: returnRow(jid, minionId, body, atMs) }];
  } catch (error) {
    if (!hasCode(error, "DATABASE_REFUSED")) throw error;
    refused.push(leftOut(what, (error as Error).message));
    return [];
  }
}

/** LMDB, or Salt's files. */
export class StoreTarget implements MigrationTarget {
  readonly place: string;
  readonly #store: JobImport;

  constructor(place: string, store: JobImport) {
    this.place = place;
    this.#store = store;
  }

  async check(): Promise<void> {
    await this.#store.write({ jobs: [], returns: [], ends: [] });
  }

  async write(items: readonly MigratedItem[]): Promise<MigrationWritten> {
    const refused: LeftOut[] = [];
    const takes = (what: string, reason: string | undefined) => {
      if (reason !== undefined) refused.push(leftOut(what, reason));
      return reason === undefined;
    };
    const written = await this.#store.write({
      jobs: items.flatMap((item) =>
        item.kind === "job" && takes(jobName(item.job.jid), this.#store.refusalOf(item.job.jid)) ? [item.job] : [],
      ),
      returns: items.flatMap((item) =>
        item.kind === "return" &&
        takes(returnName(item.jid, item.minionId), this.#store.refusalOf(item.jid, item.minionId))
          ? [item]
          : [],
      ),
      ends: items.flatMap((item) =>
        item.kind === "end" && this.#store.refusalOf(item.jid) === undefined ? [item] : [],
      ),
    });
    return { ...written, refused };
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}
