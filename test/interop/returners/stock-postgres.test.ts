/** `--return pgjsonb` and `--return postgres` of a real Salt 3007 minion on our master, and of our minion beside it: the same rows. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../../src/databases/registry.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";
import { Operator } from "../operator.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";
import { openSaltsReturners } from "./salts-returner.ts";

const salts = await openSaltsReturners();
const skip = salts.skip || (postgresMissing() ?? false);
const names = ["pgjsonb", "postgres"] as const;
type Name = (typeof names)[number];
const ids = ["ours", "stock"];
const startTimeoutMs = 120_000;
const writtenTimeoutMs = 60_000;
const pollMs = 50;

describe("a stock minion's returners of PostgreSQL on our master", { skip, timeout: 400_000 }, () => {
  const bed = new TestBed();
  let server: PostgresServer;
  let operator: Operator;

  before(async () => {
    server = await PostgresServer.start();
    server.sql("CREATE DATABASE other OWNER salt", "postgres");
    for (const name of names) await makeTables(name);
    await makeTables("pgjsonb", { "returner.pgjsonb.db": "other" });
    const clients = join(bed.folder, "clients");
    mkdirSync(clients);
    for (const name of ["psycopg2", "psycopg2_binary.libs"]) symlinkSync(join(salts.folder, name), join(clients, name));
    process.env.PYTHONPATH = clients;
    const places = { ...server.options("pgjsonb"), ...server.options("postgres") };
    const options = {
      ...places,
      "alt.returner.pgjsonb.db": "other",
      // A minion of 3007 runs its returners only when it has given up waiting for an acknowledgement that it has: docs/compatibility.md.
      ...{ return_retry_timer: 2, return_retry_timer_max: 2, return_retry_tries: 2 },
    };
    const master = await MasterUnderTest.create(bed, "ours", { auto_accept: true, ...places });
    await master.start();
    operator = new Operator("ours", master);
    const watch = await bed.watchEvents(master.sockDir);
    new MinionUnderTest(master, salts.release ?? "ours", "stock", options);
    new MinionUnderTest(master, "ours", "ours", options);
    for (const id of ids)
      await watch.until(`start of ${id}`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
  });
  after(async () => {
    await bed.close();
    await server?.remove();
  });

  async function makeTables(name: Name, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const database = openDatabase(server.config(name, more), name);
    await database.createSchema();
    await database.close();
  }

  /** Runs a job on both minions. Its jid, once each has returned. */
  const run = (words: readonly string[]) => operator.jobOfAll(ids, words);

  /** The rows of a job, by minion, as soon as each has one. */
  async function rowsOf(jid: string, ask: (statement: string) => string[]): Promise<readonly (readonly string[])[]> {
    const sql = `SELECT id, fun, return, success, full_ret FROM salt_returns WHERE jid = '${jid}' ORDER BY id`;
    const endMs = performance.now() + writtenTimeoutMs;
    for (;;) {
      const rows = ask(sql);
      if (rows.length === ids.length) return rows.map((row) => row.split("\t"));
      assert.ok(performance.now() < endMs, `rows of ${jid}: ${rows.length}`);
      await delay(pollMs);
    }
  }

  bed.it("--return pgjsonb,postgres writes rows of both minions, with the same fields", async () => {
    const jid = await run(["test.echo", "it's \u{1f9c2}", "--return", names.join(","), "--metadata={ticket: OPS-3}"]);
    for (const name of names) {
      const rows = await rowsOf(jid, (statement) => server.sqlOf(name, statement));
      for (const [index, id] of ids.entries()) {
        const [minionId, fun, value, success, full = ""] = rows[index] ?? [];
        assert.deepEqual([minionId, fun, value, success], [id, "test.echo", '"it\'s \u{1f9c2}"', "true"], name);
        const { user: _user, ...rest } = JSON.parse(full) as Readonly<Record<string, unknown>>;
        const members = ["fun", "fun_args", "id", "jid", "metadata", "retcode", "return", "success"];
        assert.deepEqual(Object.keys(rest).sort(), members, `${name} ${id}`);
        assert.deepEqual([rest.id, rest.jid, rest.fun_args], [id, jid, ["it's \u{1f9c2}"]]);
      }
      const found = await operator.json("run", ["jobs.lookup_jid", jid, `ext_source=${name}`]);
      assert.deepEqual(found, Object.fromEntries(ids.map((id) => [id, "it's \u{1f9c2}"])));
    }
  });

  bed.it("--return_config and --return_kwargs choose the database", async () => {
    const byConfig = await run(["test.ping", "--return", "pgjsonb", "--return_config", "alt"]);
    const byKwargs = await run(["test.ping", "--return", "pgjsonb", "--return_kwargs", '{"db": "other"}']);
    for (const jid of [byConfig, byKwargs]) {
      const rows = await rowsOf(jid, (statement) => server.sql(statement, "other"));
      assert.deepEqual(
        rows.map(([id]) => id),
        ids,
      );
      assert.deepEqual(server.sql(`SELECT id FROM salt_returns WHERE jid = '${jid}'`), []);
    }
  });
});
