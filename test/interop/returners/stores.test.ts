/** Our returners for Redis and memcached beside Salt's, on the same servers: keys and values must be equal. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { loadLibrary } from "../../../src/minion/returners/contract/library.ts";
import { mustPass, passTo } from "../../minion/returners/passing.ts";
import { skipWithout, startMemcached, startRedis } from "../../services/service.ts";
import { openSaltsReturners } from "./salts-returner.ts";
import { plain, samples } from "./samples.ts";

type Client = {
  connect(): Promise<unknown>;
  keys(pattern: string): Promise<string[]>;
  type(key: string): Promise<string>;
  get(key: string): Promise<string>;
  hGetAll(key: string): Promise<object>;
  sMembers(key: string): Promise<string[]>;
  ttl(key: string): Promise<number>;
  flushAll(): Promise<unknown>;
  close(): Promise<void>;
};
type Redis = { createClient(options: object): Client };

const salts = await openSaltsReturners();

async function kept(client: Client, key: string): Promise<unknown> {
  const type = await client.type(key);
  if (type === "hash") return { ...(await client.hGetAll(key)) };
  return type === "set" ? await client.sMembers(key) : await client.get(key);
}

/** All keys with values and the hours that they are kept. */
async function contents(client: Client): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const key of (await client.keys("*")).sort()) {
    all.push([key, await kept(client, key), Math.ceil((await client.ttl(key)) / 3_600)]);
  }
  await client.flushAll();
  return all;
}

describe("returner redis", { skip: salts.skip || skipWithout("redis-server"), timeout: 120_000 }, () => {
  it("writes the keys of Salt's for as long, and says that a server is not there", async () => {
    const service = await startRedis();
    try {
      const { createClient } = await loadLibrary<Redis>({ specifier: "redis", install: "" });
      const admin = createClient({ socket: { host: "127.0.0.1", port: service.port } });
      await admin.connect();
      const options = { "redis.host": "127.0.0.1", "redis.port": service.port, keep_jobs_seconds: 7_200 };
      await salts.pass("redis", options, samples.map(plain));
      const theirs = await contents(admin);
      for (const [index, ret] of samples.entries())
        await mustPass([index % 2 ? "redis" : "redis_return"], options, ret);
      assert.equal(theirs.length, samples.length + 4);
      assert.deepEqual(await contents(admin), theirs);
      await admin.close();
    } finally {
      await service.close();
    }
    const absent = await passTo(["redis"], { "redis.host": "127.0.0.1", "redis.port": service.port });
    assert.match(absent.failures.get("redis") ?? "", /ECONNREFUSED/);
  });
});

describe("returner memcache", { skip: salts.skip || skipWithout("memcached"), timeout: 120_000 }, () => {
  it("writes the values of Salt's, which Salt's client reads as texts", async () => {
    const service = await startMemcached();
    try {
      const options = { "memcache.host": "127.0.0.1", "memcache.port": service.port };
      const keys = samples.flatMap((ret) => [`${ret.get("jid")}:es1.example`, `${ret.get("fun")}:es1.example`]);
      const take = async () => {
        const text = await exchange(
          service.port,
          `get ${[...new Set(keys), "minions", "jids"].join(" ")}\r\nflush_all\r\n`,
        );
        return text.split("\r\n");
      };
      await salts.pass("memcache", options, samples.map(plain));
      const theirs = await take();
      for (const ret of samples) await mustPass(["memcache"], options, ret);
      assert.equal(theirs.filter((line) => line.startsWith("VALUE ")).length, new Set(keys).size + 2);
      assert.deepEqual(await take(), theirs);
    } finally {
      await service.close();
    }
    const absent = await passTo(["memcache"], { "memcache.host": "127.0.0.1", "memcache.port": service.port });
    assert.match(absent.failures.get("memcache") ?? "", /ECONNREFUSED/);
  });
});

/** Sends commands in memcached's text protocol. The answer ends with that to `flush_all`. */
async function exchange(port: number, commands: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(commands);
  let text = "";
  for await (const piece of socket) {
    text += piece;
    if (text.endsWith("OK\r\n")) break;
  }
  return text;
}
