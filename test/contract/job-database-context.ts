/** What the parts of the contract of databases of jobs share: a database, its server, and what differs from one driver to the next. */
import type { MasterConfig } from "../../src/config/schema.ts";
import type { JobDatabase, Written } from "../../src/databases/contract/database.ts";
import type { Row } from "../../src/databases/contract/rows.ts";

/** A server that a test can kill, and look at from beside. */
export type ServerUnderTest = {
  readonly port: number;
  /** What no error may show. */
  readonly password: string;
  /** Bytes that only the request to commit has. */
  readonly commitWord: string;
  kill(): Promise<void>;
  /** Starts it again on its data. */
  run(): Promise<void>;
};

export type DatabaseUnderTest = {
  /** `port`: of something between the master and the server. `masterId`: of another master. */
  config(o?: { readonly port?: number; readonly masterId?: string }): MasterConfig;
  /** Rows of jobs or returns, counted without the driver. */
  count(kind: Row["kind"]): Promise<number> | number;
  /** Leaves the tables there, and empty. */
  clear(): Promise<void> | void;
  /** Undefined for a file. */
  readonly server: ServerUnderTest | undefined;
  remove(): Promise<void>;
};

export type JobDatabaseTraits = {
  /** Why the test cannot run here. */
  readonly skip: string | false;
  readonly hasServer: boolean;
  /** A job that is written again stays as it was; otherwise it is replaced. Each as in Salt. */
  readonly keepsFirstJob: boolean;
  /** What is read where a text had a zero byte. */
  readonly nul: string;
  /** A row that the database refuses for what it holds, if there is one. */
  readonly refused: (() => Row) | undefined;
};

/** What the parts of the contract share. */
export type DatabaseContext = {
  readonly traits: JobDatabaseTraits;
  under(): DatabaseUnderTest;
  /** Opened anew for each test. */
  database(): JobDatabase;
  /** Opens another one, which is closed after the test. */
  open(o?: { readonly port?: number; readonly masterId?: string }): JobDatabase;
  write(rows: readonly Row[], mayBePresent?: boolean): Promise<Written>;
  /** The value that a minion returned to `jid`. */
  storedValue(minionId: string, jobId?: string): Promise<unknown>;
  counts(): Promise<{ readonly job: number; readonly return: number }>;
  /** DATABASE_FAILED without a password. */
  isDown(error: unknown): boolean;
};
