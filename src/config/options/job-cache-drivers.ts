/**
 * The drivers of the job cache by their names in `master_job_cache`, each with the options that only this driver reads. The options are part of the
 * table in master.ts. src/store/drivers/registry.ts has the drivers; it compiles only with the same names.
 */
import { ours, port, seconds } from "./details.ts";
import { integer, number, type OptionTable, optional, text } from "./option.ts";
import type { SitePlugin } from "./site-python.ts";

const localDrivers = {
  lmdb: {
    store_shards: integer(
      1,
      "Files over which the job cache is spread. One commit serves a batch, so few are better.",
      {
        ...ours,
        min: 1,
        max: 64,
        unit: "files",
      },
    ),
  },
  local_cache: {},
} as const satisfies Readonly<Record<string, OptionTable>>;

const tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
const tlsModeText = "PostgreSQL's mode of TLS. `require` and beneath do not verify the server, `verify-full` does.";

/** Drivers that are databases: LMDB stores the jobs, and they get a copy. src/databases/registry.ts compiles only with the same names. */
const databaseDrivers = {
  mysql: {
    "mysql.host": text("salt", "Address of the MariaDB or MySQL server."),
    "mysql.port": integer(3_306, "Port of the MariaDB or MySQL server.", port),
    "mysql.user": text("salt", "User of the database."),
    "mysql.pass": text("salt", "Password of `mysql.user`.", { isSecret: true }),
    "mysql.db": text("salt", "Name of the database."),
    "mysql.ssl_ca": optional(
      text("", "File of the certificates that the server's must be signed by. It turns TLS on."),
    ),
    "mysql.ssl_cert": optional(text("", "File of the master's own certificate for TLS to the server.")),
    "mysql.ssl_key": optional(text("", "File of the private key for `mysql.ssl_cert`.")),
  },
  pgjsonb: {
    "returner.pgjsonb.host": text("localhost", "Address of the PostgreSQL server, or the directory of its socket."),
    "returner.pgjsonb.port": integer(5_432, "Port of the PostgreSQL server.", port),
    "returner.pgjsonb.user": text("salt", "User of the database."),
    "returner.pgjsonb.pass": text("salt", "Password of `returner.pgjsonb.user`.", { isSecret: true }),
    "returner.pgjsonb.db": text("salt", "Name of the database."),
    "returner.pgjsonb.connect_timeout": optional(integer(0, "Longest wait for a connection. Not set: 5 s.", seconds)),
    "returner.pgjsonb.sslmode": text("prefer", tlsModeText, { choices: tlsModes }),
    "returner.pgjsonb.sslrootcert": optional(text("", "File of the certificates that the server's must be signed by.")),
    "returner.pgjsonb.sslcert": optional(text("", "File of the master's own certificate for TLS to the server.")),
    "returner.pgjsonb.sslkey": optional(text("", "File of the private key for `returner.pgjsonb.sslcert`.")),
    "returner.pgjsonb.sslcrl": optional(text("", "File of a list of revoked certificates.")),
  },
  postgres: {
    "returner.postgres.host": text("localhost", "Address of the PostgreSQL server, or the directory of its socket."),
    "returner.postgres.port": integer(5_432, "Port of the PostgreSQL server.", port),
    "returner.postgres.user": text("salt", "User of the database."),
    "returner.postgres.passwd": text("salt", "Password of `returner.postgres.user`.", { isSecret: true }),
    "returner.postgres.db": text("salt", "Name of the database."),
    "returner.postgres.sslmode": text("prefer", tlsModeText, { choices: tlsModes, ...ours }),
    "returner.postgres.sslrootcert": optional(
      text("", "File of the certificates that the server's must be signed by.", ours),
    ),
  },
  redis: {
    "redis.host": text("localhost", "Address of the Redis server."),
    "redis.port": integer(6_379, "Port of the Redis server.", port),
    "redis.unix_socket_path": optional(text("", "The Redis server's socket, instead of its address and port.")),
    "redis.db": integer(0, "Number of the database in Redis.", { min: 0, max: 1_000_000, unit: "number" }),
    "redis.password": optional(text("", "Password of the Redis server.", { isSecret: true })),
  },
  sqlite3: {
    "sqlite3.database": text("", "File of SQLite. Unlike other paths it stays outside `root_dir`."),
    "sqlite3.timeout": number(5, "How long to wait while another program holds the file.", {
      min: 0,
      max: 3_600,
      unit: "seconds",
    }),
  },
} as const satisfies Readonly<Record<string, OptionTable>>;

const jobCacheDrivers = { ...localDrivers, ...databaseDrivers };

export type JobCacheDriverName = keyof typeof jobCacheDrivers;
export const jobCacheDriverNames = Object.keys(jobCacheDrivers) as JobCacheDriverName[];

/** All tables in one. */
type Merged<Table> = (Table extends unknown ? (table: Table) => void : never) extends (table: infer All) => void
  ? All
  : never;
export const jobCacheDriverOptions = Object.assign({}, ...Object.values(jobCacheDrivers)) as Merged<
  (typeof jobCacheDrivers)[JobCacheDriverName]
>;

export type DatabaseName = keyof typeof databaseDrivers;
export const databaseNames = Object.keys(databaseDrivers) as DatabaseName[];

export function isDatabaseName(name: string): name is DatabaseName {
  return databaseNames.some((each) => each === name);
}

/** `sitePlugins`: among them returners in the site's own Python. */
type CacheNames = {
  readonly master_job_cache?: string;
  readonly ext_job_cache?: string;
  readonly sitePlugins?: readonly SitePlugin[];
};

/** The database that gets jobs: one of `databaseNames`, or a returner in the site's own Python. */
export function databaseOf(config: CacheNames): string | undefined {
  return externalDatabaseOf(config) ?? ownDatabaseOf(config);
}

function ownDatabaseOf(config: CacheNames): string | undefined {
  return pythonJobCache(config, "master_job_cache") ?? builtName(config.master_job_cache);
}

/** The one that minions write their returns into. */
function externalDatabaseOf(config: CacheNames): string | undefined {
  return pythonJobCache(config, "ext_job_cache") ?? builtName(config.ext_job_cache);
}

/** A warning about a database of `master_job_cache` that gets nothing, because jobs go to the one of `ext_job_cache`. */
export function unfedDatabaseFault(config: CacheNames): readonly string[] {
  const [own, external] = [ownDatabaseOf(config), externalDatabaseOf(config)];
  if (own === undefined || external === undefined || own === external) return [];
  return [
    `master_job_cache: '${own}' gets no jobs while ext_job_cache names '${external}', which gets all; Salt's master writes each job's load to both, and reads them from ext_job_cache alone`,
  ];
}

/** Whether old rows of the database leave it. As in Salt, only those of `master_job_cache`: with `ext_job_cache` minions write there. */
export function isCleanedDatabase(config: CacheNames): boolean {
  const own = ownDatabaseOf(config);
  return own !== undefined && databaseOf(config) === own;
}

function pythonJobCache({ sitePlugins = [] }: CacheNames, option: string): string | undefined {
  return sitePlugins.find((plugin) => plugin.kind === "job_cache" && plugin.option === option)?.name;
}

function builtName(name = ""): DatabaseName | undefined {
  return isDatabaseName(name) ? name : undefined;
}

/** What the local store has to feed to the database: with `ext_job_cache` minions write their returns themselves. */
export function feedKindOf(config: CacheNames): "none" | "jobs" | "all" {
  if (databaseOf(config) === undefined) return "none";
  return externalDatabaseOf(config) === undefined ? "all" : "jobs";
}
