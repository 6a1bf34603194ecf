/** Returner `sqlite3`: a row of Salt's table `salt_returns` in a file of SQLite. Source: Salt 3007's `sqlite3`. */
import { isBuiltin } from "node:module";
import { reprOf } from "../../../python/repr.ts";
import { formatDate } from "../../../python/strftime.ts";
import { isTrue } from "../../../python/values.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { functionOf, memberOf, textOf } from "../contract/fields.ts";
import { jsonOf } from "../contract/json.ts";
import type { Passing, Returner } from "../contract/returner.ts";

type Parameters = { readonly [name: string]: string | bigint | null };
/** What this returner uses of `node:sqlite`. */
type Sqlite = {
  readonly DatabaseSync: new (
    path: string,
  ) => {
    exec(sql: string): void;
    prepare(sql: string): { run(parameters: Parameters): unknown };
    close(): void;
  };
};

/** As Python prints local time. */
const dateFormat = "%Y-%m-%d %H:%M:%S.%f";
const sql =
  "INSERT INTO salt_returns (fun, jid, id, fun_args, date, full_ret, success) VALUES (:fun, :jid, :id, :fun_args, :date, :full_ret, :success)";

export const sqlite3Returner: Returner = {
  name: "sqlite3",
  doc: describe("Writes a row of Salt's table `salt_returns` in a file of SQLite.", "test.ping --return sqlite3"),
  refusal: () =>
    isBuiltin("node:sqlite")
      ? undefined
      : `the returner sqlite3 needs node:sqlite, which Node.js ${process.versions.node} does not have; Node.js 22.13 and later have it`,
  returner: async ({ ret, settings, load }: Passing) => {
    const options = settings.of("sqlite3", { database: undefined, timeout: undefined });
    const path = options.demand("database");
    const seconds = Number(options.demand("timeout"));
    if (!(seconds >= 0)) throw returnerError("sqlite3.timeout is not a number of seconds");
    const args = memberOf(ret, "fun_args");
    const success = memberOf(ret, "success");
    const row: Parameters = {
      fun: functionOf(ret),
      jid: textOf(ret, "jid"),
      id: textOf(ret, "id"),
      fun_args: isTrue(args) ? reprOf(args) : null,
      date: formatDate(Date.now(), dateFormat),
      full_ret: jsonOf(memberOf(ret, "return")),
      // A bigint: a number would be stored as the text 1.0.
      success: success === null ? "" : BigInt(isTrue(success)),
    };
    const { DatabaseSync } = await load<Sqlite>({ specifier: "node:sqlite", install: "" });
    const database = new DatabaseSync(path);
    try {
      // SQLite waits inside the call, which no deadline of this process ends.
      database.exec(`PRAGMA busy_timeout = ${Math.min(Math.round(seconds * 1_000), busyMsMax)}`);
      database.prepare(sql).run(row);
    } finally {
      database.close();
    }
  },
};

/** Longest wait for another program's lock, milliseconds. */
const busyMsMax = 30_000;
