/** Opens the job cache for operators' queries, with the database behind it that the configuration names. */
import { eventReturnsOf } from "../config/options/event-returns.ts";
import {
  type DatabaseName,
  databaseNames,
  databaseOf,
  feedKindOf,
  isDatabaseName,
} from "../config/options/job-cache-drivers.ts";
import { SaltworksError } from "../errors.ts";
import { type ClosableJobReader, openJobCacheReader } from "../store/drivers/open-job-cache.ts";
import type { DatabaseConfig, JobDatabase } from "./contract/database.ts";
import { withDatabaseBehind } from "./reader-behind.ts";
import { type OpenPythonDatabase, openDatabase, pythonPlace } from "./registry.ts";

export type OpenReaderOptions = {
  readonly isReadOnly?: boolean;
  readonly onFault?: (error: Error) => void;
  readonly onLeftOut?: (text: string) => void;
  /** Undefined: what a returner in the site's own Python has is left out. */
  readonly openPython?: OpenPythonDatabase | undefined;
};

/** The databases that runners ask by name. Each is opened when it is first asked for. */
export type JobDatabases = {
  readonly names: readonly DatabaseName[];
  /** The one that the configuration names for jobs, or else for events. */
  readonly own: string | undefined;
  /** `name`: one of `names`, or `own`. @throws SaltworksError PACKAGE_MISSING */
  open(name: string): JobDatabase;
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
  const opened = new Map<string, JobDatabase>();
  const make = (name: string) => {
    if (isDatabaseName(name)) return openDatabase(config, name);
    if (o.openPython !== undefined) return o.openPython(name);
    throw new SaltworksError("DATABASE_FAILED", `${pythonPlace(config, name)}: it is asked by a running master only`);
  };
  const open = (name: string) => {
    const database = opened.get(name) ?? make(name);
    opened.set(name, database);
    return database;
  };
  const own = databaseOf(config);
  const eventReturns: readonly string[] = eventReturnsOf(config);
  const behind = { areReturnsBehind: feedKindOf(config) === "jobs", onLeftOut: o.onLeftOut ?? (() => undefined) };
  const isAsked = own !== undefined && (isDatabaseName(own) || o.openPython !== undefined);
  return {
    jobs: isAsked ? withDatabaseBehind(local, open(own).reader, behind) : local,
    saltJobs: local.saltFiles,
    databases: { names: databaseNames, own: own ?? eventReturns.find(isDatabaseName), open },
    close: async () => {
      await Promise.all([local.close(), ...[...opened.values()].map((database) => database.close())]);
    },
  };
}
