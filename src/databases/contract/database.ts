/** A database that gets a copy of the job cache, in the tables of Salt's own returner: all that the rest of the master knows of it. */
import type { DatabaseName } from "../../config/options/job-cache-drivers.ts";
import type { MasterConfig } from "../../config/schema.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import type { Row } from "./rows.ts";

/** The part of a job cache that a database answers. It does not keep expected minions. */
export type DatabaseReader = Omit<JobCacheReader, "list">;

/** How many rows were added, and how many the database had already. */
export type Written = { readonly added: number; readonly present: number };

/** Each method fails with SaltworksError DATABASE_FAILED or DATABASE_REFUSED, whose messages have no password. */
export interface JobDatabase {
  readonly name: DatabaseName;
  /** Where the database is, for messages: an address without a password. */
  readonly place: string;
  /** Connects, and looks whether the tables of jobs and returns are there. */
  check(): Promise<void>;
  /**
   * Writes all rows in one transaction. `mayBePresent`: an earlier attempt may have written them, so the database is asked first.
   *
   * @throws SaltworksError DATABASE_REFUSED if it refuses a row for what the row holds
   */
  write(rows: readonly Row[], o: { readonly mayBePresent: boolean }): Promise<Written>;
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
