/** The driver `redis` against a real Redis: the contract, keys and expiry as Salt's, and what an operator is told of a fault. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import type { JobDatabase } from "../../../src/databases/contract/database.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { hasCode } from "../../../src/errors.ts";
import { jobDatabaseContract } from "../../contract/job-database.ts";
import type { DatabaseUnderTest } from "../../contract/job-database-context.ts";
import { jid, published, returned, writerOf } from "../../contract/job-rows.ts";
import { RedisServer } from "../../databases/redis-server.ts";
import { skipWithout } from "../../services/service.ts";

const skip = skipWithout("redis-server", "redis-cli");
let server: RedisServer;
before(async () => {
  if (skip === false) server = await RedisServer.start();
});
after(() => server?.service.close());

/** Counted on the server, because a key may hold the end of a line. */
const counts = {
  job: "return #redis.call('KEYS', 'load:*')",
  return:
    "local n = 0 for _, key in ipairs(redis.call('KEYS', 'ret:*')) do n = n + redis.call('HLEN', key) end return n",
};

async function underContract(): Promise<DatabaseUnderTest> {
  return {
    config: ({ port, masterId: id = "the_master" } = {}) => server.config({ ...server.options(port), id }),
    count: (kind) => Number(server.command("EVAL", counts[kind], "0")[0]),
    clear: () => void server.command("FLUSHALL"),
    server: {
      port: server.service.port,
      password: server.password,
      commitWord: "EXEC\r\n",
      kill: () => server.service.kill(),
      run: () => server.run(),
    },
    remove: async () => undefined,
  };
}

jobDatabaseContract("redis", underContract, {
  skip,
  hasServer: true,
  keepsFirstJob: false,
  nul: "\0",
  refused: undefined,
});

describe("the database redis", { timeout: 180_000, skip }, () => {
  let database: JobDatabase;

  beforeEach(() => {
    server.command("FLUSHALL");
    database = openDatabase(server.config({ keep_jobs_seconds: 7_200 }), "redis");
  });
  afterEach(() => database.close());

  const write = writerOf(() => database);
  const secondsOf = (key: string) => Number(server.command("TTL", key)[0]);

  it("writes Salt's keys, which leave after keep_jobs_seconds", async () => {
    await write([published(jid), returned("es1", true), returned("es2", true), returned("es1", 1, {}, `${jid}_2`)]);
    assert.deepEqual(server.keys("*"), [
      "es1:test.ping",
      "es2:test.ping",
      `load:${jid}`,
      "minions",
      `ret:${jid}`,
      `ret:${jid}_2`,
    ]);
    assert.deepEqual(server.command("GET", "es1:test.ping"), [`${jid}_2`]);
    assert.deepEqual(server.command("SMEMBERS", "minions").sort(), ["es1", "es2"]);
    assert.match(
      server.command("HGET", `ret:${jid}`, "es1")[0] ?? "",
      /^\{"cmd": "_return", "id": "es1", "success": true, /,
    );
    for (const key of ["es1:test.ping", `load:${jid}`, `ret:${jid}`])
      assert.ok(secondsOf(key) > 7_100 && secondsOf(key) <= 7_200, key);
    assert.equal(secondsOf("minions"), -1);
  });

  it("writes keys that stay if keep_jobs_seconds is 0", async () => {
    const endless = openDatabase(server.config({ keep_jobs_seconds: 0 }), "redis");
    await endless.write([published(jid), returned("es1", true)], { mayBePresent: false });
    await endless.close();
    for (const key of ["es1:test.ping", `load:${jid}`, `ret:${jid}`]) assert.equal(secondsOf(key), -1, key);
  });

  it("lets no minion overwrite a job by its name and its function's", async () => {
    await write([published(jid), returned("es1", true)]);
    await write(["load", "ret"].map((name) => returned(name, 1, { fun: jid }, `${jid}_2`)));
    assert.match(server.command("GET", `load:${jid}`)[0] ?? "", /"cmd": "publish"/);
    assert.deepEqual(server.command("HKEYS", `ret:${jid}`), ["es1"]);
    assert.deepEqual(server.command("HKEYS", `ret:${jid}_2`).sort(), ["load", "ret"]);
  });

  it("refuses only the row whose key another program uses for something else", async () => {
    server.command("SET", `ret:${jid}`, "something else");
    await assert.rejects(write([returned("es1", 1)]), { code: "DATABASE_REFUSED", message: /WRONGTYPE/ });
    await write([returned("es1", 1, {}, `${jid}_2`)]);
    assert.deepEqual(server.command("GET", `ret:${jid}`), ["something else"]);
  });

  it("uses the socket and the number of the database", async () => {
    const path = { "redis.unix_socket_path": server.socket, "redis.host": "nowhere.invalid", "redis.db": 3 };
    const other = openDatabase(server.config(path), "redis");
    await other.write([published(jid)], { mayBePresent: false });
    assert.equal(other.place, `redis:${server.socket}/3`);
    await other.close();
    assert.deepEqual(server.command("-n", "3", "KEYS", "*"), [`load:${jid}`]);
    assert.deepEqual(server.keys("*"), []);
  });

  it("says why it is down and what to do, without the password", async () => {
    const wrong = { "redis.password": "a-wrong-secret" };
    const cases: readonly (readonly [Overrides, RegExp])[] = [
      [wrong, /WRONGPASS.*look at redis\.password$/],
      [{ "redis.password": "" }, /NOAUTH.*set redis\.password$/],
      [{ "redis.db": 99 }, /look at redis\.db$/],
      [{ "redis.port": 1 }, /ECONNREFUSED/],
      [{ "redis.unix_socket_path": "/nonexistent/socket" }, /ENOENT/],
    ];
    for (const [more, message] of cases) {
      const asked = openDatabase(server.config(more), "redis");
      await assert.rejects(asked.check(), (error: Error) => {
        assert.match(error.message, message);
        return (
          hasCode(error, "DATABASE_FAILED") && !/a-wrong-secret|s3cret/.test(JSON.stringify([error.message, error]))
        );
      });
      await asked.close();
    }
  });

  it("takes no rows while the memory is full, and all of them afterwards", async () => {
    server.command("CONFIG", "SET", "maxmemory", "1");
    try {
      await assert.rejects(write([returned("es1", 1)]), /OOM.*maxmemory is reached$/);
    } finally {
      server.command("CONFIG", "SET", "maxmemory", "0");
    }
    assert.deepEqual(await write([returned("es1", 1)], true), { jobs: 0, returns: 1, present: 0 });
  });
});
