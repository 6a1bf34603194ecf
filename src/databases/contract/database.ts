/** A database that gets a copy of the job cache, in the tables of Salt's own returner: all that the rest of the master knows of it. */
import type { MasterConfig } from "../../config/schema.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import type { Row } from "./rows.ts";

/** The part of a job cache that a database answers. It does not keep expected minions. */
export type DatabaseReader = Omit<JobCacheReader, "list"> & {
  /** Ids that have a job or a return, each once, in an order of the database's own. `after`: the last id of the page before. */
  jids(o: { readonly after: string | undefined; readonly limit: number }): Promise<readonly string[]>;
  /** About how many jobs there are, for a progress bar; undefined if that is costly to know. */
  jobCount(): Promise<number | undefined>;
};

/** Rows that were added. `present`: rows that the database had already, counted only with `mayBePresent`. */
export type Written = { readonly jobs: number; readonly returns: number; readonly present: number };

/**
 * `mayBePresent`: an earlier attempt may have written the rows, so the database is asked first. `isOwnOnly`: only rows that a master wrote count then. Rows
 * that a minion wrote itself (`--return`) into the same table do not. A database that keeps one row for both has nothing to tell apart.
 */
export type WriteOptions = { readonly mayBePresent: boolean; readonly isOwnOnly?: boolean };

/**
 * One step of the removal of old rows. `keepSeconds`: rows that are older by the database's own clock leave. `archives`: they go into Salt's archive
 * tables, where the database has them. `rowsMax`: bound of the rows of one transaction. `after`: `next` of the step before; undefined at the start.
 */
export type ExpiryStep = {
  readonly keepSeconds: number;
  readonly archives: boolean;
  readonly rowsMax: number;
  readonly after: string | undefined;
};
/** Rows that left. `next`: where the next step goes on; undefined if no old row is left. */
export type Expired = {
  readonly jobs: number;
  readonly returns: number;
  readonly events: number;
  readonly next: string | undefined;
};

/**
 * Each method fails with SaltworksError DATABASE_FAILED or DATABASE_REFUSED, whose messages have no password. DATABASE_FAILED has `isCut` in its
 * detail if the connection ended or was silent while a statement was under way.
 */
export interface JobDatabase {
  /** One of `databaseNames`, or a returner in the site's own Python. */
  readonly name: string;
  /** Where the database is, for messages: an address without a password. */
  readonly place: string;
  /** Bound of the rows of one transaction, if the database has one of its own. It may change after each. */
  readonly rowsMax?: number;
  /** Connects, and looks whether the tables of jobs and returns are there. */
  check(): Promise<void>;
  /**
   * Writes all rows in one transaction.
   *
   * @throws SaltworksError DATABASE_REFUSED if it refuses a row for what the row holds
   */
  write(rows: readonly Row[], o: WriteOptions): Promise<Written>;
  /**
   * Removes old rows as Salt's `clean_old_jobs` does, in one small transaction. A database that forgets by itself has nothing to do.
   *
   * @throws SaltworksError DATABASE_FAILED also if `checkClock` refuses the database's clock
   */
  expire(o: ExpiryStep): Promise<Expired>;
  readonly reader: DatabaseReader;
  /** Makes the tables that are missing. @returns the names of the tables that it made */
  createSchema(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export type DatabaseConfig = MasterConfig;

/** A driver of a database: its package, which is loaded only when it is used, and how it is opened. */
export interface DatabaseDriver {
  /** The name of the npm package that it needs. */
  readonly packageName: string;
  /** Where the database is, for messages: an address without a password. */
  place(config: DatabaseConfig): string;
  /** Opens nothing yet: the first call connects. */
  open(config: DatabaseConfig): JobDatabase;
}
