/** Opens the job cache for operators' queries, with the database behind it that the configuration names. */
import { eventReturnsOf } from "../config/options/event-returns.ts";
import {
  type DatabaseName,
  databaseNames,
  databaseOf,
  feedKindOf,
  isDatabaseName,
} from "../config/options/job-cache-drivers.ts";
import { type ClosableJobReader, openJobCacheReader } from "../store/drivers/open-job-cache.ts";
import type { DatabaseConfig, DatabaseReader, JobDatabase } from "./contract/database.ts";
import { withDatabaseBehind } from "./reader-behind.ts";
import { openDatabase } from "./registry.ts";

export type OpenReaderOptions = {
  readonly isReadOnly?: boolean;
  readonly onFault?: (error: Error) => void;
  readonly onLeftOut?: (text: string) => void;
};

/** The databases that runners ask by name. Each is opened when it is first asked for. */
export type JobDatabases = {
  readonly names: readonly DatabaseName[];
  /** The one that the configuration names for jobs, or else for events. */
  readonly own: DatabaseName | undefined;
  /** @throws SaltworksError PACKAGE_MISSING */
  open(name: DatabaseName): JobDatabase;
};

export type OpenedReader = {
  readonly jobs: Omit<ClosableJobReader, "list" | "close" | "saltFiles">;
  readonly saltJobs: ClosableJobReader["saltFiles"];
  readonly databases: JobDatabases;
  readonly close: () => Promise<void>;
};

/** @throws SaltworksError STORE_FAILED, STORE_DAMAGED, PACKAGE_MISSING */
export function openJobReader(config: DatabaseConfig, o: OpenReaderOptions): OpenedReader {
  const local = openJobCacheReader(config, o);
  const opened = new Map<DatabaseName, JobDatabase>();
  const open = (name: DatabaseName) => {
    const database = opened.get(name) ?? openDatabase(config, name);
    opened.set(name, database);
    return database;
  };
  const own = databaseOf(config);
  const eventReturns: readonly string[] = eventReturnsOf(config);
  const behind = { areReturnsBehind: feedKindOf(config) === "jobs", onLeftOut: o.onLeftOut ?? (() => undefined) };
  const reader = (name: DatabaseName): DatabaseReader => open(name).reader;
  return {
    jobs: own === undefined ? local : withDatabaseBehind(local, reader(own), behind),
    saltJobs: local.saltFiles,
    databases: { names: databaseNames, own: own ?? eventReturns.find(isDatabaseName), open },
    close: async () => {
      await Promise.all([local.close(), ...[...opened.values()].map((database) => database.close())]);
    },
  };
}
