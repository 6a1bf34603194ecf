/** Opens the two job caches of a migration by their names. */
import {
  isDatabaseName,
  type JobCacheDriverName,
  jobCacheDriverNames,
} from "../../config/options/job-cache-drivers.ts";
import { SaltworksError } from "../../errors.ts";
import { openJobCacheReader } from "../../store/drivers/open-job-cache.ts";
import { driverOf } from "../../store/drivers/registry.ts";
import { SaltJobImport } from "../../store/salt/import-jobs.ts";
import { jobsDirectory } from "../../store/salt/job-files.ts";
import type { DatabaseConfig, JobDatabase } from "../contract/database.ts";
import { openDatabase } from "../registry.ts";
import type { MigrationSource, MigrationTarget } from "./contract.ts";
import { MarkFile } from "./mark.ts";
import { Migration } from "./migration.ts";
import { ReaderSource } from "./reader-source.ts";
import { SaltSource } from "./salt-source.ts";
import { DatabaseTarget, StoreTarget } from "./targets.ts";

export type MigrationNames = { readonly from: string; readonly to: string };
type Names = { readonly from: JobCacheDriverName; readonly to: JobCacheDriverName };

/** @throws SaltworksError FUNCTION_FAILED for names that no migration can have: wrong arguments end a runner with exit code 0, as in Salt */
export function checkMigrationNames(config: DatabaseConfig, { from, to }: MigrationNames): Names {
  const wrong = (text: string) => new SaltworksError("FUNCTION_FAILED", text);
  const named = (name: string) => {
    const known = jobCacheDriverNames.find((each) => each === name);
    if (known === undefined)
      throw wrong(
        `there is no job cache ${JSON.stringify(name)}; from and to take two of ${jobCacheDriverNames.join(", ")}`,
      );
    if (known === "sqlite3" && config["sqlite3.database"] === "")
      throw wrong("sqlite3 is not configured: sqlite3.database names no file");
    return known;
  };
  const names = { from: named(from), to: named(to) };
  if (names.from === names.to) throw wrong(`from and to are both ${from}`);
  return names;
}

/**
 * Opens a migration where its mark says. `own`: the open database to which the caller's thread copies jobs, because two connections that write it at
 * once could write a row twice.
 *
 * @throws SaltworksError FUNCTION_FAILED, PACKAGE_MISSING, DATABASE_FAILED, STORE_FAILED
 */
export async function openMigration(
  config: DatabaseConfig,
  names: MigrationNames,
  own?: JobDatabase,
): Promise<Migration> {
  const { from, to } = checkMigrationNames(config, names);
  const target = targetOf(config, to, own);
  const source = sourceOf(config, from);
  try {
    return await Migration.open({ source, target, mark: new MarkFile(config.cachedir, from, to) });
  } catch (error) {
    await Promise.all([source.close(), target.close()]);
    throw error;
  }
}

function sourceOf(config: DatabaseConfig, name: JobCacheDriverName): MigrationSource {
  if (name === "local_cache") return new SaltSource(config.cachedir);
  if (!isDatabaseName(name)) return storeSource(config);
  const database = openDatabase(config, name);
  const { reader } = database;
  return new ReaderSource({
    place: database.place,
    jobs: reader,
    jids: (page) => reader.jids(page),
    jobCount: () => reader.jobCount(),
    check: async () => {
      await reader.jids({ after: undefined, limit: 1 });
    },
    close: () => database.close(),
  });
}

/** The local store, as `jobs.lookup_jid` reads it. Returns that a Salt master received are in Salt's files. */
function storeSource(config: DatabaseConfig): MigrationSource {
  const local = localConfig(config);
  const driver = driverOf(local);
  const jobs = openJobCacheReader(local, {
    onFault: () => undefined,
    onLeftOut: (text) => source.onLeftOut(text),
  });
  const walk = driver.openWalk(local);
  const source = new ReaderSource({
    place: driver.place(local),
    jobs,
    jids: async (page) => walk.jids(page),
    jobCount: async () => walk.jobCount(),
    check: async () => undefined,
    close: async () => {
      await Promise.all([jobs.close(), walk.close()]);
    },
  });
  return source;
}

function targetOf(config: DatabaseConfig, name: JobCacheDriverName, own: JobDatabase | undefined): MigrationTarget {
  const { cachedir, hash_type: hashType } = config;
  if (name === "local_cache")
    return new StoreTarget(jobsDirectory(cachedir), new SaltJobImport({ cachedir, hashType }));
  if (isDatabaseName(name)) {
    return name === own?.name
      ? new DatabaseTarget(own, false)
      : new DatabaseTarget(openDatabase(migratingConfig(config), name), true);
  }
  const local = localConfig(config);
  return new StoreTarget(driverOf(local).place(local), driverOf(local).openImport(local));
}

function localConfig(config: DatabaseConfig): DatabaseConfig {
  return { ...config, master_job_cache: "lmdb", ext_job_cache: "" };
}

/** A writer's connection ends an earlier one of the same name, so a migration has a name of its own. */
function migratingConfig(config: DatabaseConfig): DatabaseConfig {
  return { ...config, id: `${config.id} migration` };
}
