/** Returners of real Salt minions on our master, and our minion's beside them: the same job leaves the same rows and keys. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../../src/databases/registry.ts";
import { loadLibrary } from "../../../src/minion/returners/contract/library.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { type Service, skipWithout, startRedis } from "../../services/service.ts";
import type { EventWatch, SeenEvent } from "../event-watch.ts";
import { Operator } from "../operator.ts";
import { openReleases } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";
import { extensionsFolder, openSaltsReturners } from "./salts-returner.ts";

type Client = {
  connect(): Promise<unknown>;
  get(key: string): Promise<string>;
  hGetAll(key: string): Promise<Record<string, string>>;
  sMembers(key: string): Promise<string[]>;
  close(): Promise<void>;
};

const releases = await openReleases();
const salts = await openSaltsReturners();
const skip = releases.skip || salts.skip || (mariadbMissing() ?? skipWithout("redis-server"));
const ids = [...releases.all.map(({ name }) => `stock-${name}`), "ours"];
const startTimeoutMs = 120_000;
const writtenTimeoutMs = 60_000;
const pollMs = 50;

describe("stock minions' returners on our master", { skip, timeout: 400_000 }, () => {
  const bed = new TestBed();
  let database: MariadbServer;
  let redis: Service;
  let client: Client;
  let operator: Operator;
  let watch: EventWatch;

  before(async () => {
    [database, redis] = await Promise.all([MariadbServer.start(), startRedis()]);
    database.sql(`CREATE DATABASE other CHARACTER SET utf8mb4; GRANT ALL ON other.* TO '${database.user}'@'%'`);
    for (const name of ["salt", "other"]) {
      const opened = openDatabase(database.config({ "mysql.db": name }), "mysql");
      await opened.createSchema();
      await opened.close();
    }
    const { createClient } = await loadLibrary<{ createClient(options: object): Client }>({
      specifier: "redis",
      install: "",
    });
    client = createClient({ socket: { host: "127.0.0.1", port: redis.port } });
    await client.connect();
    // Only these clients: the folder has newer versions of packages that Salt brings itself.
    const clients = join(bed.folder, "clients");
    mkdirSync(clients);
    for (const name of ["pymysql", "redis"]) symlinkSync(join(salts.folder, name), join(clients, name));
    await startAll(clients);
  });
  after(async () => {
    await client?.close();
    await bed.close();
    await database?.remove();
    await redis?.close();
  });

  async function startAll(clients: string): Promise<void> {
    const options = {
      ...database.options(),
      "alt.mysql.db": "other",
      ...{ "redis.host": "127.0.0.1", "redis.port": redis.port, "redis.db": "0" },
      // A minion of 3007 runs its returners only when it has given up waiting for an acknowledgement that it has: docs/compatibility.md.
      ...{ return_retry_timer: 2, return_retry_timer_max: 2, return_retry_tries: 2 },
    };
    const master = await MasterUnderTest.create(bed, "ours", { auto_accept: true, ...database.options() });
    await master.start();
    operator = new Operator("ours", master);
    watch = await bed.watchEvents(master.sockDir);
    for (const release of releases.all) {
      process.env.PYTHONPATH = release.name === "3008" ? `${clients}:${extensionsFolder()}` : clients;
      new MinionUnderTest(master, release, `stock-${release.name}`, options);
    }
    new MinionUnderTest(master, "ours", "ours", options);
    for (const id of ids) {
      await watch.until(`start of ${id}`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
  }

  /** Runs a job on all minions. Its jid, once each has returned. */
  const run = (words: readonly string[]) => operator.jobOfAll(ids, words);

  /** The rows of a job by minion, as soon as each has one. */
  async function rowsOf(jid: string, schema: string): Promise<Map<string, readonly string[]>> {
    const columns = "id, fun, `return`, success, full_ret";
    const sql = `SELECT ${columns} FROM ${schema}.salt_returns WHERE jid = '${jid}' ORDER BY id`;
    const rows = await until(`rows of ${jid}`, () => database.sql(sql));
    return new Map(rows.map((row) => [row.split("\t")[0] ?? "", row.split("\t").slice(1)]));
  }

  async function until<Item>(
    what: string,
    look: () => readonly Item[] | Promise<readonly Item[]>,
  ): Promise<readonly Item[]> {
    const endMs = performance.now() + writtenTimeoutMs;
    for (;;) {
      const found = await look();
      if (found.length === ids.length) return found;
      assert.ok(performance.now() < endMs, `${what}: ${found.length} of ${ids.length}`);
      await delay(pollMs);
    }
  }

  bed.it("--return mysql,redis writes rows and keys of every minion", async () => {
    const jid = await run(["test.echo", "it's \u{1f9c2}", "--return", "mysql,redis", "--metadata={ticket: OPS-3}"]);
    const rows = await rowsOf(jid, "salt");
    const fields = await until("redis", async () => Object.entries(await client.hGetAll(`ret:${jid}`)));
    const members = ["fun", "fun_args", "id", "jid", "metadata", "retcode", "return", "success"];
    for (const id of ids) {
      const [fun, value, success, full = ""] = rows.get(id) ?? [];
      assert.deepEqual([fun, value, success], ["test.echo", '"it\'s \u{1f9c2}"', "1"], id);
      const { user, ...rest } = JSON.parse(full);
      assert.deepEqual(Object.keys(rest).sort(), members, id);
      assert.deepEqual([rest.id, rest.jid, rest.fun_args], [id, jid, ["it's \u{1f9c2}"]]);
      const { user: _user, ...kept } = JSON.parse(new Map(fields).get(id) ?? "");
      assert.deepEqual(kept, rest, id);
      assert.equal(await client.get(`${id}:test.echo`), jid);
    }
    assert.deepEqual((await client.sMembers("minions")).sort(), [...ids].sort());
    const found = await operator.json("run", ["jobs.lookup_jid", jid, "ext_source=mysql"]);
    assert.deepEqual(found, Object.fromEntries(ids.map((id) => [id, "it's \u{1f9c2}"])));
  });

  bed.it("--return_config and --return_kwargs choose the database", async () => {
    const byConfig = await run(["test.ping", "--return", "mysql", "--return_config", "alt"]);
    const byKwargs = await run(["test.ping", "--return", "mysql", "--return_kwargs", '{"db": "other"}']);
    for (const jid of [byConfig, byKwargs]) {
      assert.deepEqual([...(await rowsOf(jid, "other")).keys()], [...ids].sort());
      assert.deepEqual(database.sql(`SELECT id FROM salt.salt_returns WHERE jid = '${jid}'`), []);
    }
  });

  bed.it("a failure of our minion is in the return, or on the master's event bus", async () => {
    const failing = ["ours", "test.ping", "--return", "nosuch,mysql", "--return_kwargs", '{"port": 1}'];
    assert.equal((await operator.run("salt", failing)).code, 0);
    const toldBy = ({ data }: SeenEvent) => data.get("data") as ReadonlyMap<unknown, unknown>;
    const isFailure = (event: SeenEvent) =>
      event.tag === "saltworks/minion/ours/returner_failed" && toldBy(event).get("returner") === "mysql";
    const told = toldBy(await watch.until("failure of mysql", isFailure, writtenTimeoutMs));
    assert.match(String(told.get("error")), /ECONNREFUSED/);
    const jid = told.get("jid");
    const { data: returned } = await watch.until("return", ({ tag }) => tag === `salt/job/${jid}/ret/ours`, pollMs);
    const errors = returned.get("returner_errors") as ReadonlyMap<unknown, unknown>;
    assert.deepEqual([...errors], [["nosuch", "'nosuch.returner' is not available."]]);
  });

  bed.it("all of them list mysql", async () => {
    const listed = (await operator.json("salt", ["--static", "*", "sys.list_returners"])) as Record<string, string[]>;
    // Salt's function never lists redis, which works all the same.
    for (const id of ids) assert.ok(listed[id]?.includes("mysql"), id);
  });
});
