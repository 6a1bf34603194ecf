/**
 * Source `sqlite3`: the rows of queries in a file of SQLite. Source: Salt 3007's module of that name, observed. A process of its own asks,
 * because a query cannot be ended otherwise.
 */
import { fileURLToPath } from "node:url";
import { requirePackage } from "../../databases/packages.ts";
import { packageName } from "../../databases/sqlite3/client.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource } from "./contract.ts";
import { queriesOf, valuesOf } from "./sql/source.ts";

const reader = fileURLToPath(new URL("sql/sqlite-reader.js", import.meta.url));
const standardPath = "/var/lib/salt/pillar.db";
const standardTimeoutSeconds = 5;

/** What the reader is asked: `busyMs` is how long it waits for a writer. */
export type SqliteAsked = {
  readonly path: string;
  readonly busyMs: number;
  readonly id: string;
  readonly queries: readonly string[];
};

export const sqlite3: ExternalSource = {
  parameters: [],
  requiredCount: 0,
  takes: "all",
  // A minion that may ask for this source could choose the query.
  isForMinions: false,
  packageName,
  command: (args, { id, option }) => {
    requirePackage("ext_pillar: sqlite3", packageName);
    // As in Salt, the map counts only if it names the file.
    const given = (option("sqlite3") ?? {}) as Readonly<Record<string, unknown>>;
    const { database = standardPath, timeout = standardTimeoutSeconds } = given.database === undefined ? {} : given;
    const asked: SqliteAsked = {
      path: String(database),
      busyMs: Number(timeout) * 1_000,
      id,
      queries: queriesOf(args).map(({ query }) => query),
    };
    return { argv: [process.execPath, "--no-warnings", reader], input: JSON.stringify(asked) };
  },
  read: ({ outcome }, args) => {
    if (outcome === undefined) throw sourceFault("databases of external pillars are read only on a master");
    if ("fault" in outcome) throw sourceFault(outcome.fault, { isFatal: outcome.isFatal });
    if (!("stdout" in outcome) || outcome.exitCode !== 0)
      throw sourceFault("stdout" in outcome ? outcome.complaint || "the reader failed" : "the reader failed");
    return valuesOf(args, Buffer.from(outcome.stdout, "base64"));
  },
};
