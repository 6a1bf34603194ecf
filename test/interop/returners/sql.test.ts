/** Our returners for SQL databases beside Salt's, on the same servers: the rows must be equal. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadLibrary } from "../../../src/minion/returners/contract/library.ts";
import { mustPass, passTo, type Settings } from "../../minion/returners/passing.ts";
import { skipWithout, startMariaDb, startPostgreSql } from "../../services/service.ts";
import { openSaltsReturners } from "./salts-returner.ts";
import { plain, samples } from "./samples.ts";

type MySql = {
  createConnection(options: object): Promise<{
    query(sql: string): Promise<[unknown[]]>;
    end(): Promise<void>;
  }>;
};
type Pg = {
  readonly default: {
    readonly Client: new (
      options: object,
    ) => {
      connect(): Promise<void>;
      query(sql: string): Promise<{ readonly rows: unknown[] }>;
      end(): Promise<void>;
    };
  };
};

const salts = await openSaltsReturners();

/** Passes the samples to Salt's returner and to ours, and compares what `take` then finds. */
async function compare(name: string, options: Settings, take: () => Promise<unknown[]>): Promise<void> {
  await salts.pass(name, options, samples.map(plain));
  const theirs = await take();
  for (const ret of samples) await mustPass([name], options, ret);
  assert.equal(theirs.length, samples.length);
  assert.deepEqual(await take(), theirs);
}

describe("returner mysql", { skip: salts.skip || skipWithout("mariadbd"), timeout: 120_000 }, () => {
  it("writes the rows of Salt's, and says that a database is not there", async () => {
    const service = await startMariaDb();
    try {
      const { createConnection } = await loadLibrary<MySql>({ specifier: "mysql2/promise", install: "" });
      const admin = await createConnection({ host: "127.0.0.1", port: service.port, user: "root" });
      await admin.query("CREATE DATABASE salt CHARACTER SET utf8mb4");
      await admin.query(
        "CREATE TABLE salt.salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, `return` mediumtext NOT NULL, id varchar(255) NOT NULL, success varchar(10) NOT NULL, full_ret mediumtext NOT NULL, alter_time timestamp DEFAULT CURRENT_TIMESTAMP)",
      );
      const options = { mysql: { host: "127.0.0.1", port: service.port, user: "root", pass: "none" } };
      await compare("mysql", options, async () => {
        const [rows] = await admin.query(
          "SELECT fun, jid, `return`, id, success, full_ret FROM salt.salt_returns ORDER BY jid",
        );
        await admin.query("DELETE FROM salt.salt_returns");
        return rows.map((row) => ({ ...(row as object) }));
      });
      const absent = await passTo(["mysql"], { mysql: { ...options.mysql, db: "nothing" } });
      assert.match(absent.failures.get("mysql") ?? "", /Unknown database 'nothing'/);
      await admin.end();
    } finally {
      await service.close();
    }
  });
});

describe("returners postgres and pgjsonb", { skip: salts.skip || skipWithout("postgres"), timeout: 120_000 }, () => {
  it("write the rows of Salt's", async () => {
    const service = await startPostgreSql();
    try {
      const { Client } = (await loadLibrary<Pg>({ specifier: "pg", install: "" })).default;
      const admin = new Client({ host: "127.0.0.1", port: service.port, user: "postgres", database: "postgres" });
      await admin.connect();
      for (const [name, type] of [
        ["postgres", "text"],
        ["pgjsonb", "jsonb"],
      ] as const) {
        await admin.query(
          `CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return ${type} NOT NULL, full_ret ${type}, id varchar(255) NOT NULL, success varchar(10) NOT NULL, alter_time timestamp with time zone DEFAULT now())`,
        );
        const where = { host: "127.0.0.1", port: service.port, user: "postgres", db: "postgres" };
        await compare(name, { [`returner.${name}`]: where }, async () => {
          const { rows } = await admin.query(
            "SELECT fun, jid, return, id, success, full_ret, alter_time > now() - interval '1 hour' AS fresh FROM salt_returns ORDER BY jid",
          );
          await admin.query("DELETE FROM salt_returns");
          return rows;
        });
        await admin.query("DROP TABLE salt_returns");
      }
      const absent = await passTo(["pgjsonb"], { "returner.pgjsonb": { host: "127.0.0.1", port: 1 } });
      assert.match(absent.failures.get("pgjsonb") ?? "", /ECONNREFUSED/);
      await admin.end();
    } finally {
      await service.close();
    }
  });
});
