/** The drivers of databases by their names in `master_job_cache`, `ext_job_cache` and `ext_source`. */
import { type DatabaseName, databaseOf, isDatabaseName } from "../config/options/job-cache-drivers.ts";
import type { DatabaseConfig, DatabaseDriver, JobDatabase } from "./contract/database.ts";
import { mysqlDriver } from "./mysql/driver.ts";
import { requirePackage } from "./packages.ts";
import { pgjsonbDriver, postgresDriver } from "./postgres/driver.ts";
import { redisDriver } from "./redis/driver.ts";
import { sqliteDriver } from "./sqlite3/driver.ts";

const drivers: Readonly<Record<DatabaseName, DatabaseDriver>> = {
  mysql: mysqlDriver,
  pgjsonb: pgjsonbDriver,
  postgres: postgresDriver,
  redis: redisDriver,
  sqlite3: sqliteDriver,
};

/** Opens a returner in the site's own Python. */
export type OpenPythonDatabase = (name: string) => JobDatabase;

/** @throws SaltworksError PACKAGE_MISSING */
export function openDatabase(config: DatabaseConfig, name: DatabaseName): JobDatabase {
  checkPackage(name);
  return drivers[name].open(config);
}

/** The address of a database, without a password; of a returner in Python its interpreter. */
export function databasePlace(config: DatabaseConfig, name: string): string {
  return isDatabaseName(name) ? drivers[name].place(config) : pythonPlace(config, name);
}

/** Refuses a configuration whose database needs a package that is not installed. @throws SaltworksError PACKAGE_MISSING */
export function checkDatabasePackages(config: DatabaseConfig): void {
  const name = databaseOf(config);
  if (name !== undefined && isDatabaseName(name)) checkPackage(name);
}

/** Where a returner in Python is, for messages. */
export function pythonPlace({ sitePython = "Python" }: Pick<DatabaseConfig, "sitePython">, name: string): string {
  return `${name} in ${sitePython}`;
}

function checkPackage(name: DatabaseName): void {
  requirePackage(`${name} as a job cache`, drivers[name].packageName);
}
