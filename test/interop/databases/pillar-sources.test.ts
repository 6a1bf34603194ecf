/** External sources of pillar in a real MariaDB, PostgreSQL and Redis. test/pillar/golden/queries.json has what Salt makes of rows. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { type CompiledPillar, PillarCompiler } from "../../../src/pillar/compile.ts";
import { runSources } from "../../../src/pillar/external/run-sources.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";
import { RedisServer } from "../../databases/redis-server.ts";
import { settingsOf } from "../../pillar/rendering.ts";
import { skipWithout } from "../../services/service.ts";

const hostileId = `web1' OR '1'='1`;

async function compiled(options: Overrides, id = "web1", timeoutMs = 30_000): Promise<CompiledPillar> {
  const settings = settingsOf(options);
  const minion = { id, grains: new Map<Value, Value>() };
  const { outcomes } = await runSources(settings, minion, process.env, timeoutMs);
  const request = { minion, saltenv: undefined, pillarenv: undefined, override: new Map(), outcomes };
  return new PillarCompiler(settings).compile(request);
}

const errorsOf = ({ pillar }: CompiledPillar) => String(pillar.get("_errors"));
const tables = `CREATE TABLE pillar_data (minion VARCHAR(80), name VARCHAR(80), value VARCHAR(80));
INSERT INTO pillar_data VALUES ('web1', 'role', 'web'), ('web1', 'env', 'größe'), ('other', 'secret', 'x');`;
const query = "SELECT name, value FROM pillar_data WHERE minion = %s ORDER BY name";

async function givesRows(options: Overrides): Promise<void> {
  const { pillar } = await compiled(options);
  assert.deepEqual(
    pillar,
    new Map([
      [
        "fromdb",
        new Map([
          ["env", "größe"],
          ["role", "web"],
        ]),
      ],
    ]),
  );
  assert.deepEqual((await compiled(options, hostileId)).pillar, new Map([["fromdb", new Map()]]));
}

describe("the source mysql", { timeout: 180_000, skip: mariadbMissing() ?? false }, () => {
  let server: MariadbServer;
  before(async () => {
    server = await MariadbServer.start();
    server.sql(`USE salt; ${tables}`);
  });
  after(() => server?.remove());
  const source = (asked: string, more: object = {}): Overrides => {
    const { port, user, password: pass } = server;
    const mysql = { host: "127.0.0.1", port, user, pass, db: "salt", ...more };
    return { mysql, ext_pillar: [{ mysql: { fromdb: asked } }] } as Overrides;
  };

  it("gives the minion's rows, and those of no other id", () => givesRows(source(query)));

  it("gives values by their types", async () => {
    const asked =
      "SELECT %s AS id, 1 AS i, 9007199254740993 AS big, 2e0 AS f, 1.50 AS d, NULL AS n, DATE('2020-01-02') AS t";
    const row = await compiled({
      ...source(asked),
      ext_pillar: [{ mysql: { a: { query: asked, depth: 1 } } }],
    } as Overrides);
    const a = new Map<Value, Value>([
      ["i", 1],
      ["big", 9_007_199_254_740_993n],
      ["f", new Float(2)],
    ]);
    a.set("d", "1.50").set("n", null).set("t", "2020-01-02");
    assert.deepEqual(row.pillar, new Map([["a", new Map([["web1", a]])]]));
  });

  it("that refuses, fails or hangs is an error without values", async () => {
    assert.match(
      errorsOf(await compiled(source(query, { pass: "wrong" }))),
      /127\.0\.0\.1:\d+: ER_ACCESS_DENIED_ERROR/,
    );
    assert.match(errorsOf(await compiled(source("SELECT %s FROM no_table"))), /ER_NO_SUCH_TABLE/);
    const slow = await compiled(source("SELECT %s, SLEEP(600)"), "web1", 500);
    assert.match(errorsOf(slow), /ext_pillar_timeout \(0.5 seconds\)/);
  });
});

describe("the source postgres", { timeout: 180_000, skip: postgresMissing() ?? false }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
    server.sql(`${tables} GRANT SELECT ON pillar_data TO PUBLIC;`);
  });
  after(() => server?.remove());
  const source = (asked: string, more: object = {}): Overrides => {
    const options = server.options("pgjsonb");
    const [user, pass, db] = ["user", "pass", "db"].map((name) => options[`returner.pgjsonb.${name}`]);
    const postgres = { host: "127.0.0.1", port: server.port, user, pass, db, ...more };
    return { postgres, ext_pillar: [{ postgres: { fromdb: asked } }] } as Overrides;
  };

  it("gives the minion's rows, and those of no other id", () => givesRows(source(query)));

  it("gives values by their types", async () => {
    const asked = `SELECT %s::text AS id, 1 AS i, 9007199254740993 AS big, 2::float8 AS f, true AS b, NULL AS n,
      '{"x": {"__proto__": 1.0}}'::jsonb AS j`;
    const row = await compiled({
      ...source(asked),
      ext_pillar: [{ postgres: { a: { query: asked, depth: 1 } } }],
    } as Overrides);
    const a = new Map<Value, Value>([
      ["i", 1],
      ["big", 9_007_199_254_740_993n],
      ["f", new Float(2)],
      ["b", true],
    ]);
    a.set("n", null).set("j", new Map([["x", new Map([["__proto__", new Float(1)]])]]));
    assert.deepEqual(row.pillar, new Map([["a", new Map([["web1", a]])]]));
    assert.match(errorsOf(await compiled(source("SELECT %s, ARRAY[1]"))), /is an array, which is not supported/);
  });

  it("that refuses, fails or hangs is an error without values", async () => {
    assert.match(errorsOf(await compiled(source(query, { pass: "wrong" }))), /127\.0\.0\.1:\d+: 28P01/);
    assert.match(errorsOf(await compiled(source("SELECT %s FROM no_table"))), /42P01/);
    const slow = await compiled(source("SELECT %s, pg_sleep(600)::text"), "web1", 500);
    assert.match(errorsOf(slow), /ext_pillar_timeout \(0.5 seconds\)/);
  });
});

describe("the source redis", { timeout: 180_000, skip: skipWithout("redis-server", "redis-cli") }, () => {
  let server: RedisServer;
  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server?.service.close());
  const read = async (id: string, written: object) =>
    (await compiled({ ...server.options(), ext_pillar: [{ redis: written }] } as Overrides, id)).pillar;

  it("gives the value of the minion's key by its kind", async () => {
    server.command("SET", "text", "größe");
    server.command("HSET", "hash", "b", "1", "__proto__", "2", "10", "3");
    server.command("RPUSH", "list", "b", "a");
    server.command("SADD", "set", "b", "a");
    server.command("ZADD", "zset", "2", "x", "1", "y");
    server.command("XADD", "stream", "*", "a", "1");
    const byKind = { function: "key_value", pillar_key: "p" };
    const hash = new Map([
      ["b", "1"],
      ["__proto__", "2"],
      ["10", "3"],
    ]);
    assert.deepEqual(await read("text", byKind), new Map([["p", "größe"]]));
    assert.deepEqual(await read("hash", byKind), new Map([["p", hash]]));
    assert.deepEqual(await read("list", { function: "key_value" }), new Map([["redis_pillar", ["b", "a"]]]));
    assert.deepEqual(await read("set", byKind), new Map([["p", ["a", "b"]]]));
    assert.deepEqual(await read("zset", byKind), new Map([["p", ["y", "x"]]]));
    assert.deepEqual(await read("stream", byKind), new Map());
    assert.deepEqual(await read("nothing", byKind), new Map());
  });

  it("gives JSON, or an error that does not quote it", async () => {
    server.command("SET", "map", '{"a": {"b": 1.0}}');
    server.command("SET", "list", "[1]");
    server.command("SET", "broken", '{"password": "hunter2"');
    const a = new Map([["b", new Float(1)]]);
    assert.deepEqual(await read("map", { function: "key_json" }), new Map([["a", a]]));
    assert.deepEqual(
      await read("map", { function: "key_json", pillar_key: "k" }),
      new Map([["k", new Map([["a", a]])]]),
    );
    assert.deepEqual(await read("list", { function: "key_json" }), new Map([["redis_pillar", [1]]]));
    const error = "Failed to load ext_pillar redis: JSON data of the key failed to parse";
    assert.deepEqual(await read("broken", { function: "key_json" }), new Map([["_errors", [error]]]));
    const unknown = "Failed to load ext_pillar redis: the function __init__ is not available here";
    assert.deepEqual(await read("map", { function: "__init__" }), new Map([["_errors", [unknown]]]));
  });
});
