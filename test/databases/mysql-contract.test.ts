/** The driver `mysql` against the contract of databases of jobs, in a real MariaDB. */
import { jobDatabaseContract } from "../contract/job-database.ts";
import type { DatabaseUnderTest } from "../contract/job-database-context.ts";
import { returned } from "../contract/job-rows.ts";
import { MariadbServer, mariadbMissing } from "./mariadb.ts";

const tables = { job: "jids", return: "salt_returns" } as const;

async function start(): Promise<DatabaseUnderTest> {
  const server = await MariadbServer.start();
  return {
    config: ({ port, masterId = "the_master" } = {}) => server.config({ ...server.options(port), id: masterId }),
    count: (kind) => server.count(tables[kind]),
    clear: () => void server.sql("TRUNCATE salt.jids; TRUNCATE salt.salt_returns"),
    server: {
      port: server.port,
      password: server.password,
      commitWord: "COMMIT",
      kill: () => server.kill(),
      run: () => server.run(),
    },
    remove: () => server.remove(),
  };
}

jobDatabaseContract("mysql", start, {
  skip: mariadbMissing() ?? false,
  hasServer: true,
  keepsFirstJob: true,
  nul: "\0",
  refused: () => returned("x".repeat(300), 1),
});
