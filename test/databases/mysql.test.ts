/** The driver `mysql` against a real MariaDB: rows as Salt writes them, any text in them, and every way in which a server fails. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../src/config/load.ts";
import type { JobDatabase } from "../../src/databases/contract/database.ts";
import { jobRow, type Row, returnRow } from "../../src/databases/contract/rows.ts";
import { connectMysql } from "../../src/databases/mysql/client.ts";
import { openDatabase } from "../../src/databases/registry.ts";
import { hasCode } from "../../src/errors.ts";
import { exactly } from "../../src/store/jobs/facts.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";
import { BlackHole } from "./black-hole.ts";
import { MariadbServer, mariadbMissing } from "./mariadb.ts";

const jid = "20261120160907551658";
const page = { limit: 1_000, bytesMax: 100_000_000 };

function returned(
  minionId: string,
  value: Encodable,
  more: Readonly<Record<string, Encodable>> = {},
  jobId = jid,
): Row {
  const fields = {
    cmd: "_return",
    id: minionId,
    success: true,
    return: value,
    retcode: 0,
    jid: jobId,
    fun: "test.ping",
  };
  return returnRow(jobId, minionId, encode({ ...fields, ...more }, "bin"));
}

function published(jobId: string, fun: Encodable = "test.ping"): Row {
  return jobRow(
    jobId,
    encode({ cmd: "publish", tgt: "es*", fun, arg: [], tgt_type: "glob", ret: "", jid: jobId, user: "root" }, "bin"),
  );
}

describe("the database mysql", { timeout: 180_000, skip: mariadbMissing() ?? false }, () => {
  let server: MariadbServer;
  let database: JobDatabase;

  before(async () => {
    server = await MariadbServer.start();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    database = openDatabase(server.config(), "mysql");
    await database.createSchema();
    server.sql("TRUNCATE salt.jids; TRUNCATE salt.salt_returns");
  });
  afterEach(() => database.close());

  const write = (rows: readonly Row[], mayBePresent = false) => database.write(rows, { mayBePresent });
  const storedValue = async (minionId: string) => {
    const body = await database.reader.returnOf(jid, minionId);
    assert.ok(body !== undefined);
    return (plain(decode(body)) as { return: unknown }).return;
  };
  const isDown = (error: unknown) => hasCode(error, "DATABASE_FAILED") && !String(error).includes(server.password);

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

  it("holds any text: SQL, quotes, four-byte characters, control characters, bytes and 5 MB", async () => {
    const texts: Readonly<Record<string, string>> = {
      "'); DROP TABLE jids; --": "'); DROP TABLE salt_returns; --",
      'a"b\\c`d': "\\' OR 1=1 \\",
      "salt-\u{1f9c2}": "\u{1f9c2} \u0000 \u001f \u007f \u2028",
      large: "x'\\".repeat((5 * 1024 * 1024) / 3),
    };
    await write(Object.entries(texts).map(([id, text]) => returned(id, text)));
    await write([returned("bytes", Buffer.from([0x53, 0xff])), published("'; DROP TABLE jids; --")]);
    for (const [id, text] of Object.entries(texts)) assert.equal(await storedValue(id), text);
    assert.equal(await storedValue("bytes"), "S\ufffd");
    assert.ok((await database.reader.request("'; DROP TABLE jids; --")) !== undefined);
    assert.equal(await database.reader.request("' OR '1'='1"), undefined);
    assert.deepEqual((await database.reader.returns("' OR '1'='1", page)).returns, []);
  });

  it("keeps jobs of several functions, values of every kind, and ids that differ only in case", async () => {
    const value = [1, -2.5, null, { nested: { "10": true } }, 12345678901234567890n];
    await write([returned("web", value, { fun: ["test.ping", "x".repeat(60)] }), returned("WEB", 1)]);
    assert.deepEqual(await storedValue("web"), value);
    assert.equal(await storedValue("WEB"), 1);
    assert.match(
      server.sql("SELECT fun FROM salt.salt_returns WHERE BINARY id = 'web'")[0] ?? "",
      /^test\.ping,x{40}$/,
    );
  });

  it("adds rows that may be there only if they are not, and a job once", async () => {
    const rows = [published(jid), returned("a", 1), returned("b", 2)];
    await write(rows.slice(0, 2));
    assert.deepEqual(await write([...rows, returned("A", 3)], true), { jobs: 0, returns: 2, present: 2 });
    assert.equal(server.count("salt_returns"), 3);
    assert.equal(server.count("jids"), 1);
  });

  it("writes thousands of rows in one transaction, or none of them", async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => returned(`m${index}`, index));
    await write(many);
    assert.equal(server.count("salt_returns"), 2_000);
    const refused = write([returned("more", 1), returned("x".repeat(300), 1)]);
    await assert.rejects(refused, { code: "DATABASE_REFUSED" });
    assert.equal(server.count("salt_returns"), 2_000);
    await write([returned("later", 1)]);
    assert.equal(server.count("salt_returns"), 2_001);
  });

  it("refuses a row that no packet holds, and goes on", async () => {
    server.sql("SET GLOBAL max_allowed_packet = 1048576");
    try {
      await assert.rejects(write([returned("large", "x".repeat(2_000_000))]), { code: "DATABASE_REFUSED" });
      await write([returned("small", 1)]);
    } finally {
      server.sql("SET GLOBAL max_allowed_packet = 67108864");
    }
    assert.equal(await storedValue("small"), 1);
  });

  it("reads a job's returns in pages, by id in the order of bytes", async () => {
    const ids = ["B", "a", "a1", "\u{1f9c2}", "\uffee"];
    await write(ids.map((id) => returned(id, id)));
    const first = await database.reader.returns(jid, { ...page, limit: 3 });
    const rest = await database.reader.returns(jid, { ...page, after: first.returns.at(-1)?.minionId });
    assert.deepEqual([first.hasMore, rest.hasMore], [true, false]);
    assert.deepEqual(
      [...first.returns, ...rest.returns].map(({ minionId }) => minionId),
      ["B", "a", "a1", "\uffee", "\u{1f9c2}"],
    );
    const some = await database.reader.returns(jid, { ...page, of: ["a1", "none"] });
    assert.deepEqual(
      some.returns.map(({ minionId }) => minionId),
      ["a1"],
    );
  });

  it("finds jobs by function, range and page, newest first", async () => {
    const jids = Array.from({ length: 1_200 }, (_, index) => `2026112016${String(index).padStart(10, "0")}`);
    await write(jids.map((each, index) => published(each, index % 100 === 0 ? "state.apply" : "test.ping")));
    await write([published("my-own-id")]);
    const find = (query: Readonly<Record<string, unknown>>) => database.reader.find({ limit: 10_000, ...query });
    assert.equal((await find({})).length, 1_201);
    assert.equal((await find({})).at(-1), "my-own-id");
    assert.deepEqual((await find({ functions: [exactly("state.apply")] })).length, 12);
    assert.deepEqual(await find({ limit: 2, before: jids[10] }), [jids[9], jids[8]]);
    assert.deepEqual(await find({ from: jids[5], until: jids[6] }), [jids[6], jids[5]]);
  });

  it("is down while the server is killed, and takes rows again afterwards", async () => {
    await write([returned("a", 1)]);
    await server.kill();
    await assert.rejects(write([returned("b", 1)]), isDown);
    await assert.rejects(write([returned("b", 1)]), isDown);
    await server.run();
    await write([returned("b", 1)], true);
    assert.equal(server.count("salt_returns"), 2);
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
      await assert.rejects(write([returned("a", 1)]), /INSERT command denied.*grant mysql\.user the rights/);
    } finally {
      server.sql("GRANT ALL ON salt.* TO 'salt'@'%'");
    }
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

  it("gives up on a connection that swallows everything, and connects anew", { timeout: 60_000 }, async () => {
    const hole = await BlackHole.open(server.port);
    const behind = openDatabase(server.config(server.options(hole.port) as never), "mysql");
    try {
      await behind.write([returned("a", 1)], { mayBePresent: false });
      hole.swallow();
      await assert.rejects(behind.write([returned("b", 1)], { mayBePresent: false }), /no answer within 15 s/);
      hole.pass();
      // On a busy machine the first new connection may come too late, too; the shipper tries again as this does.
      const again = () => behind.write([returned("b", 1)], { mayBePresent: true });
      await again().catch(again);
      assert.equal(server.count("salt_returns"), 2);
    } finally {
      await behind.close();
      hole.close();
    }
  });
});
