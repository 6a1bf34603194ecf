/** The driver `mysql` against a real MariaDB: rows as Salt writes them, and what an operator is told of a fault. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../src/config/load.ts";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { jobRow, type Row, returnRow } from "../../src/databases/contract/rows.ts";
import { connectMysql } from "../../src/databases/mysql/client.ts";
import { openDatabase } from "../../src/databases/registry.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { assertBothRowsKept, isDownWithout, jid, returned } from "../contract/job-rows.ts";
import { MariadbServer, mariadbMissing } from "./mariadb.ts";

const skip = mariadbMissing() ?? false;
let server: MariadbServer;
before(async () => {
  if (skip === false) server = await MariadbServer.start();
});
after(() => server?.remove());

describe("the database mysql", { timeout: 180_000, skip }, () => {
  let database: JobDatabase;

  beforeEach(async () => {
    database = openDatabase(server.config(), "mysql");
    await database.createSchema();
    server.sql("TRUNCATE salt.jids; TRUNCATE salt.salt_returns");
  });
  afterEach(() => database.close());

  const write = (rows: readonly Row[], mayBePresent = false) => database.write(rows, { mayBePresent });
  const isDown = (error: unknown) => isDownWithout(server.password, error);

  it("makes Salt's tables once", async () => {
    server.sql("DROP TABLE salt.jids; DROP TABLE salt.salt_events");
    assert.deepEqual(await database.createSchema(), ["jids", "salt_events"]);
    assert.deepEqual(await database.createSchema(), []);
    assert.deepEqual(
      server.sql("SHOW COLUMNS FROM salt.salt_returns").map((line) => line.split("\t").slice(0, 2)),
      [
        ["fun", "varchar(50)"],
        ["jid", "varchar(255)"],
        ["return", "mediumtext"],
        ["id", "varchar(255)"],
        ["success", "varchar(10)"],
        ["full_ret", "mediumtext"],
        ["alter_time", "timestamp"],
      ],
    );
  });

  it("writes the rows that a Salt master writes, in the same JSON", async () => {
    // Rows that a master of Salt 3007 wrote. test/interop/job-database.test.ts compares with a running one.
    const job = {
      ...{ cmd: "publish", tgt: "es1", fun: "cmd.run", arg: ["echo bad; exit 3"], tgt_type: "glob", ret: "", jid },
      ...{
        kwargs: { show_timeout: true, show_jid: false, delimiter: ":", metadata: { ticket: "OPS-3" } },
        user: "root",
      },
    };
    const answer = {
      ...{ cmd: "_return", id: "es1", success: false, return: "bad", retcode: 3, jid, fun: "cmd.run" },
      ...{ fun_args: ["echo bad; exit 3"], user: "root", metadata: { ticket: "OPS-3" } },
      ...{ _stamp: "2026-11-20T16:09:08.845316", ts: 1795190948 },
    };
    await write([jobRow(jid, encode(job, "bin")), returnRow(jid, "es1", encode(answer, "bin"))]);
    assert.deepEqual(server.sql("SELECT jid, `load` FROM salt.jids"), [
      `${jid}\t{"cmd": "publish", "tgt": "es1", "fun": "cmd.run", "arg": ["echo bad; exit 3"], "tgt_type": "glob", "ret": "", "jid": "${jid}", "kwargs": {"show_timeout": true, "show_jid": false, "delimiter": ":", "metadata": {"ticket": "OPS-3"}}, "user": "root"}`,
    ]);
    assert.deepEqual(server.sql("SELECT fun, jid, `return`, id, success, full_ret FROM salt.salt_returns"), [
      `cmd.run\t${jid}\t"bad"\tes1\t0\t{"cmd": "_return", "id": "es1", "success": false, "return": "bad", "retcode": 3, "jid": "${jid}", "fun": "cmd.run", "fun_args": ["echo bad; exit 3"], "user": "root", "metadata": {"ticket": "OPS-3"}, "_stamp": "2026-11-20T16:09:08.845316", "ts": 1795190948}`,
    ]);
  });

  it("writes one success for a job of several functions", async () => {
    const rows = [{ "test.ping": true, "test.false": false }, { "test.ping": true }, [true, false], [true]];
    await write(rows.map((success, at) => returned(`es${at}`, {}, { success })));
    assert.deepEqual(server.sql("SELECT success FROM salt.salt_returns ORDER BY id"), ["0", "1", "0", "1"]);
  });

  it("keeps the master's row beside the one that the minion wrote itself, each once", async () => {
    await assertBothRowsKept(database);
    assert.equal(server.count("salt_returns"), 2);
  });

  it("refuses a row that no packet holds, and goes on", async () => {
    server.sql("SET GLOBAL max_allowed_packet = 1048576");
    try {
      await assert.rejects(write([returned("large", "x".repeat(2_000_000))]), { code: "DATABASE_REFUSED" });
      await write([returned("small", 1)]);
    } finally {
      server.sql("SET GLOBAL max_allowed_packet = 67108864");
    }
    assert.equal(server.count("salt_returns"), 1);
  });

  it("takes a larger row as soon as the server does, without a new start", async () => {
    server.sql("SET GLOBAL max_allowed_packet = 1048576");
    const open = openDatabase(server.config(), "mysql");
    const writeLarge = () => open.write([returned("large", "x".repeat(2_000_000))], { mayBePresent: false });
    try {
      await assert.rejects(writeLarge(), { code: "DATABASE_REFUSED" });
    } finally {
      server.sql("SET GLOBAL max_allowed_packet = 67108864");
    }
    await writeLarge();
    assert.equal(server.count("salt_returns"), 1);
    await open.close();
  });

  it("says what to do about a missing table and a wrong password, without the password", async () => {
    server.sql("DROP TABLE salt.salt_returns");
    await assert.rejects(write([returned("a", 1)]), /jobs\.create_schema/);
    await database.createSchema();
    const wrong = openDatabase(server.config({ "mysql.pass": "a-wrong-secret" }), "mysql");
    await assert.rejects(wrong.write([returned("a", 1)], { mayBePresent: false }), (error: Error) => {
      assert.match(error.message, /Access denied.*mysql\.pass/);
      return !error.message.includes("a-wrong-secret") && isDown(error);
    });
    await wrong.close();
  });

  it("is asked before the first job, and names a missing table, a missing database and missing rights", async () => {
    const checked = async (more: Overrides = {}) => {
      const asked = openDatabase(server.config(more), "mysql");
      await asked.check().finally(() => asked.close());
    };
    await checked();
    server.sql("DROP TABLE salt.salt_returns");
    await assert.rejects(checked(), /jobs\.create_schema/);
    await assert.rejects(checked({ "mysql.db": "nothing" }), /'nothing'.*grant mysql\.user the rights/);
    await database.createSchema();
    server.sql("REVOKE ALL ON salt.* FROM 'salt'@'%'; GRANT SELECT ON salt.* TO 'salt'@'%'");
    try {
      await assert.rejects(checked(), /INSERT.* command denied.*grant mysql\.user the rights/);
    } finally {
      server.sql("GRANT ALL ON salt.* TO 'salt'@'%'");
    }
  });

  it("writes as soon as its user has the rights, without a new start", async () => {
    server.sql("REVOKE ALL ON salt.* FROM 'salt'@'%'; GRANT SELECT ON salt.* TO 'salt'@'%'");
    const open = openDatabase(server.config(), "mysql");
    const writeOne = () => open.write([returned("a", 1)], { mayBePresent: true });
    try {
      await assert.rejects(writeOne(), /INSERT.* command denied/);
    } finally {
      server.sql("GRANT ALL ON salt.* TO 'salt'@'%'");
    }
    await writeOne();
    assert.equal(server.count("salt_returns"), 1);
    await open.close();
  });

  it("names a server that is read-only, and writes when it no longer is", async () => {
    server.sql("SET GLOBAL read_only = 1");
    try {
      await assert.rejects(database.check(), /read-only; name the primary/);
    } finally {
      server.sql("SET GLOBAL read_only = 0");
    }
    await database.check();
  });

  it("ends an earlier connection that waits for a lock, so that its rows are not written later", async () => {
    const [earlier, locker] = [openDatabase(server.config(), "mysql"), await connectMysql(server.clientOptions())];
    await earlier.write([returned("a", 1)], { mayBePresent: false });
    await locker.query("LOCK TABLES salt_returns WRITE");
    const waiting = assert.rejects(earlier.write([returned("b", 1)], { mayBePresent: false }), isDown);
    const isWaiting = "SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'";
    while (server.sql(isWaiting).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const successor = write([returned("b", 1)], true);
    await waiting;
    await locker.end();
    assert.deepEqual(await successor, { jobs: 0, returns: 1, present: 0 });
    assert.equal(server.count("salt_returns"), 2);
    await earlier.close();
  });
});
