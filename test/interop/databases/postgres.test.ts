/** The drivers `postgres` and `pgjsonb` against a real PostgreSQL: the contract, rows as Salt writes them, and what an operator is told of a fault. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import type { JobDatabase } from "../../../src/databases/contract/database.ts";
import { jobRow, type Row, returnRow } from "../../../src/databases/contract/rows.ts";
import { newPostgresClient } from "../../../src/databases/postgres/client.ts";
import { optionsOf, type PostgresName, settingsOf } from "../../../src/databases/postgres/settings.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import type { SaltworksError } from "../../../src/errors.ts";
import { databaseLooksMax } from "../../../src/limits.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { jobDatabaseContract } from "../../contract/job-database.ts";
import type { DatabaseUnderTest } from "../../contract/job-database-context.ts";
import { assertBothRowsKept, isDownWithout, jid, published, returned } from "../../contract/job-rows.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";

const skip = postgresMissing() ?? false;
let server: PostgresServer;
before(async () => {
  if (skip === false) server = await PostgresServer.start();
});
after(() => server?.remove());

async function underContract(name: PostgresName): Promise<DatabaseUnderTest> {
  const tables = { job: "jids", return: "salt_returns" } as const;
  return {
    config: ({ port, masterId = "the_master" } = {}) =>
      server.config(name, { ...server.options(name, port), id: masterId }),
    count: (kind) => server.count(name, tables[kind]),
    clear: () => void server.sqlOf(name, "TRUNCATE jids, salt_returns"),
    server: {
      port: server.port,
      password: server.password,
      commitWord: "COMMIT",
      kill: () => server.kill(),
      run: () => server.run(),
    },
    remove: async () => undefined,
  };
}

for (const name of ["postgres", "pgjsonb"] as const)
  jobDatabaseContract(name, () => underContract(name), {
    skip,
    hasServer: true,
    keepsFirstJob: name === "postgres",
    nul: name === "postgres" ? "\0" : "\ufffd",
    refused: () => returned("x".repeat(300), 1),
  });

describe("the databases postgres and pgjsonb", { timeout: 180_000, skip }, () => {
  const opened: JobDatabase[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

  /** Empty tables, and a database that is closed after the test. */
  async function open(name: PostgresName, more: Overrides = {}): Promise<JobDatabase> {
    const database = openDatabase(server.config(name, more), name);
    opened.push(database);
    return database;
  }

  async function openEmpty(name: PostgresName): Promise<JobDatabase> {
    const database = await open(name);
    await database.createSchema();
    server.sqlOf(name, "TRUNCATE jids, salt_returns");
    return database;
  }

  const write = (database: JobDatabase, rows: readonly Row[], mayBePresent = false) =>
    database.write(rows, { mayBePresent });
  const isDown = (error: unknown) => isDownWithout(server.password, error);

  it("make Salt's tables once, with the columns and indexes of each", async () => {
    for (const [name, json] of [
      ["postgres", "text"],
      ["pgjsonb", "jsonb"],
    ] as const) {
      const database = await openEmpty(name);
      server.sqlOf(name, "DROP TABLE salt_events, salt_returns");
      assert.deepEqual(await database.createSchema(), ["salt_returns", "salt_events"]);
      assert.deepEqual(await database.createSchema(), []);
      const columns = server.sqlOf(
        name,
        "SELECT column_name, format_type(atttypid, atttypmod) FROM information_schema.columns JOIN pg_attribute ON attname = column_name AND attrelid = table_name::regclass WHERE table_name = 'salt_returns' ORDER BY ordinal_position",
      );
      assert.deepEqual(columns, [
        "fun\tcharacter varying(50)",
        "jid\tcharacter varying(255)",
        `return\t${json}`,
        "id\tcharacter varying(255)",
        "success\tcharacter varying(10)",
        `full_ret\t${json}`,
        "alter_time\ttimestamp with time zone",
      ]);
      const indexes = server.sqlOf(name, "SELECT indexname FROM pg_indexes WHERE tablename = 'salt_returns'");
      assert.equal(indexes.includes("idx_salt_returns_full_ret"), name === "pgjsonb");
    }
  });

  it("keep the master's row beside the one that the minion wrote itself, each once", async () => {
    for (const name of ["postgres", "pgjsonb"] as const) {
      const database = await openEmpty(name);
      await assertBothRowsKept(database);
      assert.deepEqual(server.sqlOf(name, "SELECT count(*) FROM salt_returns"), ["2"]);
    }
  });

  it("write the rows that a Salt master writes", async () => {
    const job = { cmd: "publish", tgt: "es1", fun: "cmd.run", arg: ["echo bad; exit 3"], jid, user: "root" };
    const answer = { cmd: "_return", id: "es1", success: false, return: "b\u00e4d", retcode: 3, jid, fun: "cmd.run" };
    const several = { id: "es2", return: { a: true }, jid, fun: ["test.ping", 'odd "one'], success: [true, false] };
    for (const name of ["postgres", "pgjsonb"] as const) {
      const database = await openEmpty(name);
      const returns = [returnRow(jid, "es1", encode(answer, "bin")), returnRow(jid, "es2", encode(several, "bin"))];
      await write(database, [jobRow(jid, encode(job, "bin")), ...returns]);
      const [load] = server.sqlOf(name, "SELECT load FROM jids");
      assert.deepEqual(JSON.parse(load ?? ""), job);
      const rows = server.sqlOf(name, "SELECT fun, jid, return, id, success, full_ret FROM salt_returns ORDER BY id");
      const [first = [], second = []] = rows.map((row) => row.split("\t"));
      assert.deepEqual(first.slice(0, 5), ["cmd.run", jid, '"b\u00e4d"', "es1", "false"]);
      assert.deepEqual(JSON.parse(first[5] ?? ""), answer);
      assert.deepEqual(second.slice(0, 2), ['{test.ping,"odd \\"one"}', jid]);
      assert.equal(second[4], "false", "one of the functions has failed");
      const fresh = "SELECT count(*) FROM salt_returns WHERE alter_time BETWEEN now() - interval '1 minute' AND now()";
      assert.deepEqual(server.sqlOf(name, fresh), ["2"]);
    }
  });

  it("pgjsonb keeps a return with what jsonb refuses", async () => {
    const database = await openEmpty("pgjsonb");
    const value = { "a\0": ["\0", Number.NaN, -Infinity, "NaN Infinity \\u0000", "\\\0\\"], NaN: Infinity };
    await write(database, [returned("odd", value)]);
    const [stored] = server.sql("SELECT return FROM salt_returns");
    assert.deepEqual(JSON.parse(stored ?? ""), {
      "a\ufffd": ["\ufffd", "NaN", "-Infinity", "NaN Infinity \\u0000", "\\\ufffd\\"],
      NaN: "Infinity",
    });
  });

  it("say what to do about missing tables, a wrong password, a missing database and missing rights", async () => {
    for (const name of ["postgres", "pgjsonb"] as const) {
      const database = await openEmpty(name);
      server.sqlOf(name, "DROP TABLE salt_returns");
      await assert.rejects(database.check(), /jobs\.create_schema/);
      await assert.rejects(write(database, [returned("a", 1)]), /salt_returns.*jobs\.create_schema/);
      await database.createSchema();
      const secret = `returner.${name}.${name === "postgres" ? "passwd" : "pass"}`;
      const wrong = await open(name, { [secret]: "a-wrong-secret" });
      await assert.rejects(wrong.check(), (error: Error) => {
        assert.match(error.message, new RegExp(`password authentication failed.*${secret}`));
        return !error.message.includes("a-wrong-secret") && isDown(error);
      });
      const nothing = await open(name, { [`returner.${name}.db`]: "nothing" });
      await assert.rejects(nothing.check(), /"nothing" does not exist.*create it/);
      server.sqlOf(name, `ALTER TABLE salt_returns OWNER TO postgres; GRANT SELECT ON salt_returns TO ${server.user}`);
      await assert.rejects(database.check(), /permission denied.*grant returner/);
      server.sqlOf(name, `ALTER TABLE salt_returns OWNER TO ${server.user}`);
      await database.check();
    }
  });

  it("name a table without its key, and a server that takes no writes", async () => {
    const database = await openEmpty("pgjsonb");
    server.sql("ALTER TABLE jids DROP CONSTRAINT jids_pkey");
    await assert.rejects(database.check(), /give the table `jids` its key/);
    server.sql("ALTER TABLE jids ADD PRIMARY KEY (jid)");
    server.sql(`ALTER ROLE ${server.user} SET default_transaction_read_only = on`);
    const standby = await open("pgjsonb");
    await assert.rejects(standby.check(), /the server is a standby; name the primary/);
    server.sql(`ALTER ROLE ${server.user} RESET default_transaction_read_only`);
    await standby.check();
  });

  it("end an earlier connection that waits for a lock, so that its rows are not written later", async () => {
    const [earlier, later] = [await openEmpty("pgjsonb"), await open("pgjsonb")];
    await write(earlier, [returned("a", 1)]);
    const locker = newPostgresClient(optionsOf(settingsOf(server.config("pgjsonb"), "pgjsonb"), false));
    locker.on("error", () => undefined);
    await locker.connect();
    await locker.query("BEGIN; LOCK TABLE salt_returns IN SHARE MODE");
    const waiting = assert.rejects(
      write(earlier, [returned("b", 1)]),
      (error: SaltworksError) => isDown(error) && error.detail.isCut === true,
    );
    while (server.sql("SELECT 1 FROM pg_locks WHERE NOT granted").length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    const successor = write(later, [returned("b", 1)], true);
    await waiting;
    await locker.query("COMMIT");
    locker.connection.stream.destroy();
    assert.deepEqual(await successor, { jobs: 0, returns: 1, present: 0 });
    assert.equal(server.count("pgjsonb", "salt_returns"), 2);
  });

  it("let old rows go as keep_jobs_seconds says, into the archive if they are to be kept", async () => {
    for (const archives of [false, true]) {
      const database = await openEmpty("pgjsonb");
      server.sql("DROP TABLE IF EXISTS jids_archive, salt_returns_archive, salt_events_archive; TRUNCATE salt_events");
      const [old, late, unanswered, named, fresh] = [
        "20200101000000000001",
        "20200101000000000002",
        "20200101000000000003",
        "by-hand",
        jidAt(Date.now(), 0),
      ];
      await write(
        database,
        [old, late, unanswered, named, "123", fresh].map((each) => published(each)),
      );
      const atMs = Date.UTC(2020, 0, 1);
      const many = Array.from({ length: 5 }, (_, index) => returned(`m${index}`, index, {}, old, atMs));
      await write(database, [
        ...many,
        returned("m0", 1, {}, late),
        returned("m0", 1, {}, fresh),
        returned("m0", 1, {}, named, atMs),
      ]);
      const [id] = server.sql(
        "INSERT INTO salt_events (tag, data, master_id, alter_time) VALUES ('old', '{}', 'm', '2020-01-01'), ('new', '{}', 'm', now()) RETURNING id",
      );
      assert.notEqual(id, undefined);
      const left = { jobs: 0, returns: 0, events: 0 };
      for (let after: string | undefined, steps = 1; ; steps += 1) {
        const step = await database.expire({ keepSeconds: 86_400, archives, rowsMax: 2, after });
        for (const kind of ["jobs", "returns", "events"] as const) left[kind] += step[kind];
        assert.ok(steps < 20 && Math.max(step.jobs, step.returns, step.events) <= 2);
        after = step.next;
        if (after === undefined) break;
      }
      assert.deepEqual(left, { jobs: 3, returns: 6, events: 1 });
      assert.deepEqual(server.sql('SELECT jid FROM jids ORDER BY jid COLLATE "C"'), ["123", late, fresh]);
      assert.deepEqual(server.sql("SELECT DISTINCT jid FROM salt_returns ORDER BY jid"), [late, fresh]);
      assert.deepEqual(server.sql("SELECT tag FROM salt_events"), ["new"]);
      if (!archives) continue;
      assert.deepEqual(server.sql('SELECT jid FROM jids_archive ORDER BY jid COLLATE "C"'), [old, unanswered, named]);
      assert.equal(server.count("pgjsonb", "salt_returns_archive"), 6);
      assert.deepEqual(server.sql("SELECT tag FROM salt_events_archive"), ["old"]);
    }
  });

  it("let old rows go in few looks at a time, past young ones, and into an archive that has their job already", async () => {
    const database = await openEmpty("pgjsonb");
    server.sql("DROP TABLE IF EXISTS jids_archive, salt_returns_archive, salt_events_archive; TRUNCATE salt_events");
    const old = "20200101000000000001";
    const young = 2 * databaseLooksMax + 100;
    server.sql(
      "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret) SELECT 'f', '20190101' || lpad(n::text, 12, '0'), '1', 'm', 'true', '{}' " +
        `FROM generate_series(1, ${young}) AS n; ` +
        "INSERT INTO salt_events (tag, data, master_id, alter_time) SELECT 't', '{}', 'm', CASE n % 2 WHEN 0 THEN now() ELSE '2020-01-01' END FROM generate_series(1, 1000) AS n",
    );
    for (let round = 1; round <= 2; round += 1) {
      const oldReturn = returned("m", 1, {}, old, Date.UTC(2020, 0, 1));
      await write(database, [published(old), oldReturn]);
      const left = { jobs: 0, returns: 0, events: 0 };
      let steps = 0;
      for (let after: string | undefined; steps === 0 || after !== undefined; steps += 1) {
        const step = await database.expire({ keepSeconds: 86_400, archives: true, rowsMax: 512, after });
        for (const kind of ["jobs", "returns", "events"] as const) left[kind] += step[kind];
        after = step.next;
        assert.ok(steps < 20);
      }
      assert.deepEqual(left, { jobs: 1, returns: 1, events: round === 1 ? 500 : 0 });
      assert.ok(steps > young / databaseLooksMax + 2, "a step looks at a part of the index");
    }
    assert.equal(server.count("pgjsonb", "jids_archive"), 1);
    assert.equal(server.count("pgjsonb", "salt_returns_archive"), 2);
    assert.equal(server.count("pgjsonb", "salt_returns"), young);
    assert.equal(server.count("pgjsonb", "salt_events"), 500);
    server.sql("TRUNCATE salt_events");
  });

  it("show no message that may quote a row", async () => {
    const database = await openEmpty("pgjsonb");
    server.sql(
      "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no %', NEW.return; END $$; " +
        "CREATE TRIGGER tell BEFORE INSERT ON salt_returns FOR EACH ROW EXECUTE FUNCTION tell()",
    );
    try {
      await assert.rejects(write(database, [returned("a", "a-secret-value")]), (error: SaltworksError) => {
        assert.match(error.message, /error P0001, whose message is not shown because it may quote a row$/);
        return isDown(error);
      });
    } finally {
      server.sql("DROP TRIGGER tell ON salt_returns; DROP FUNCTION tell");
    }
  });

  it("postgres keeps all rows, as Salt's returner does", async () => {
    const database = await openEmpty("postgres");
    await write(database, [published("20200101000000000001")]);
    const asked = { keepSeconds: 1, archives: false, rowsMax: 100, after: undefined };
    assert.deepEqual(await database.expire(asked), { jobs: 0, returns: 0, events: 0, next: undefined });
    assert.equal(server.count("postgres", "jids"), 1);
  });

  it("connect with TLS as the mode says", async () => {
    await openEmpty("pgjsonb");
    const use = async (more: Overrides) => {
      const database = await open("pgjsonb", more);
      await write(database, [published(`${jid}${opened.length}`)]);
      const answer = server.sql(
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'salt'",
      );
      await database.close();
      return Number(answer[0]) > 0;
    };
    const mode = (sslmode: string, ca?: string) => ({
      "returner.pgjsonb.sslmode": sslmode,
      ...(ca === undefined ? {} : { "returner.pgjsonb.sslrootcert": ca }),
    });
    assert.equal(await use(mode("prefer")), false);
    await assert.rejects(use(mode("require")), /does not support SSL/);
    const own = await server.secure();
    assert.equal(await use(mode("disable")), false);
    for (const each of ["prefer", "require"]) assert.equal(await use(mode(each)), true, each);
    for (const each of ["require", "verify-ca", "verify-full"]) assert.equal(await use(mode(each, own)), true, each);
    await assert.rejects(use(mode("verify-full")), /self-signed certificate/);
    await assert.rejects(use(mode("require", "/nowhere/ca.pem")), /\/nowhere\/ca\.pem cannot be read/);
  });
});
