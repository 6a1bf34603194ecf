/** A master with `event_return` into databases and a file, in return storms: they are killed or swallow everything, and each event is there once. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import type { DatabaseName } from "../../../src/config/options/job-cache-drivers.ts";
import type { MasterConfig } from "../../../src/config/schema.ts";
import { openDatabase } from "../../../src/databases/registry.ts";
import { BlackHole } from "../../databases/black-hole.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { PostgresServer, postgresMissing } from "../../databases/postgresql.ts";
import { closeSite, readCounters, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 100;
const upTimeoutMs = 120_000;
const stormTimeoutMs = 60_000;
const pollMs = 50;

const skip = mariadbMissing() ?? postgresMissing() ?? false;
const postgresNames = ["pgjsonb", "postgres"] as const;

async function makeTables(config: MasterConfig, name: DatabaseName): Promise<void> {
  const database = openDatabase(config, name);
  await database.createSchema();
  await database.close();
}

type Shown = Readonly<Record<string, { readonly State: string; readonly Waiting: number; readonly Reason?: string }>>;

describe("events in databases", { timeout: 400_000, skip }, () => {
  let server: MariadbServer;
  let postgres: PostgresServer;
  const directory = mkdtempSync(join(tmpdir(), "sw-events-"));
  const file = join(directory, "events");

  let hole: BlackHole;
  let postgresHole: BlackHole;
  let master: MasterProcess;
  let fleet: Fleet;
  let published = 0;

  before(async () => {
    [server, postgres] = await Promise.all([MariadbServer.start(), PostgresServer.start()]);
    await makeTables(server.config(), "mysql");
    server.sql("DROP TABLE salt.salt_events");
    for (const name of postgresNames) await makeTables(postgres.config(name), name);
    [hole, postgresHole] = await Promise.all([BlackHole.open(server.port), BlackHole.open(postgres.port)]);
    master = await startOurMaster(minionCount, {
      ...{ auto_accept: true, event_return: ["mysql", ...postgresNames, "rawfile_json"] },
      ...{ event_return_blacklist: ["salt/auth"], "rawfile_json.filename": file, ...server.options(hole.port) },
      ...postgres.options("pgjsonb", postgresHole.port),
      ...postgres.options("postgres", postgresHole.port),
    });
    fleet = await openFleet({
      ...{ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount },
      ...{ returnBytes: [100, 2_000], returnDelayMs: [0, 600], reconnectMs: [100, 500], isRecordingAcks: true },
    });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    hole?.close();
    postgresHole?.close();
    await closeSite(fleet && [fleet], master);
    await Promise.all([server?.remove(), postgres?.remove()]);
    rmSync(directory, { recursive: true });
  });

  async function until(what: string, isDone: () => Promise<boolean> | boolean): Promise<void> {
    const endMs = performance.now() + stormTimeoutMs;
    while (!(await isDone())) {
      assert.ok(performance.now() < endMs, `${what}\n${master.logTail()}`);
      await wait(pollMs);
    }
  }

  async function count(name: string): Promise<number> {
    const client = master.client();
    try {
      return (await readCounters(client)).main.get(`eventReturns.${name}`) ?? 0;
    } finally {
      client.close();
    }
  }

  async function publish(): Promise<string> {
    const client = master.client();
    const { jid } = await client.publish("*", "test.ping", []);
    client.close();
    published += 1;
    return jid;
  }

  async function untilReturned(): Promise<void> {
    const isDone = ({ returnsAcknowledged }: Fleet["counters"]) => returnsAcknowledged >= published * minionCount;
    await fleet.until("all returns are acknowledged", isDone, stormTimeoutMs);
  }

  const rowsIn = {
    mysql: (jid: string) => server.sql(`SELECT tag FROM salt.salt_events ${whereOf(jid)}`),
    pgjsonb: (jid: string) => postgres.sqlOf("pgjsonb", `SELECT tag FROM salt_events ${whereOf(jid)}`),
    postgres: (jid: string) => postgres.sqlOf("postgres", `SELECT tag FROM salt_events ${whereOf(jid)}`),
  };
  const whereOf = (jid: string) => `WHERE tag LIKE 'salt/job/${jid}/%' ORDER BY id`;

  /** The job's events are rows in all databases and lines, each once, the first before the others. */
  async function assertWhole(jid: string): Promise<void> {
    const lines = () =>
      readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line.includes(`"salt/job/${jid}/`));
    const returnsOf = (rows: readonly string[]) => rows.filter((tag) => tag.includes("/ret/"));
    for (const [name, rowsOf] of Object.entries(rowsIn)) {
      await until(`${name} has the events of ${jid}`, () => returnsOf(rowsOf(jid)).length >= minionCount);
      const rows = rowsOf(jid);
      assert.equal(rows[0], `salt/job/${jid}/new`, name);
      assert.deepEqual([returnsOf(rows).length, new Set(rows).size], [minionCount, rows.length], name);
      const tags = lines().map((line) => (JSON.parse(line) as { tag: string }).tag);
      assert.deepEqual(tags, rows, name);
    }
  }

  async function run<Answer>(name: string): Promise<Answer> {
    const args = ["run", "-c", master.configDirectory, name, "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, stormTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    assert.ok(!stdout.includes(server.password) && !stdout.includes(postgres.password));
    return JSON.parse(stdout) as Answer;
  }

  const shown = async () => (await run<{ "Event-returns": Shown }>("jobs.cache_status"))["Event-returns"];

  it("wait for their table, and the operator reads how to make it", async () => {
    const jid = await publish();
    await untilReturned();
    await until("they wait", async () => (await count("mysql.waiting")) > minionCount);
    const { mysql, pgjsonb, postgres: plain } = await shown();
    assert.deepEqual([pgjsonb?.State, plain?.State], ["writing", "writing"]);
    assert.equal(mysql?.State, "failing");
    assert.match(mysql?.Reason ?? "", /jobs\.create_schema/);
    const made = await run<{ "Tables-made": string[] }>("jobs.create_schema");
    assert.deepEqual(made["Tables-made"], ["salt_events"]);
    await assertWhole(jid);
  });

  it("are rows and lines of JSON, each once", async () => {
    const jid = await publish();
    await untilReturned();
    await assertWhole(jid);
    assert.deepEqual(server.sql("SELECT tag FROM salt.salt_events WHERE tag = 'salt/auth'"), []);
    assert.ok((await count("filtered")) >= minionCount);
  });

  it("wait while the connections swallow everything, and nothing else does", async () => {
    const names = ["mysql", ...postgresNames] as const;
    const countEach = async (name: string) => await Promise.all(names.map((each) => count(`${each}.${name}`)));
    const failures = await countEach("failures");
    hole.swallow();
    postgresHole.swallow();
    const jid = await publish();
    await untilReturned();
    assert.equal(fleet.counters.returnsLost, 0);
    await until("they wait", async () => (await countEach("waiting")).every((waiting) => waiting > minionCount));
    await until("the file has them", async () => (await count("rawfile_json.waiting")) === 0);
    await until("all are given up", async () =>
      (await countEach("failures")).every((now, at) => now > (failures[at] ?? 0)),
    );
    const told = await shown();
    assert.equal(told.rawfile_json?.State, "writing");
    for (const name of names) {
      assert.equal(told[name]?.State, "failing");
      assert.match(told[name]?.Reason ?? "", new RegExp(`^${name}://.*no answer within`));
      assert.ok((told[name]?.Waiting ?? 0) > minionCount);
    }
    hole.pass();
    postgresHole.pass();
    await assertWhole(jid);
  });

  it("are there once after the databases were killed", async () => {
    const before = fleet.counters.returnsAcknowledged;
    const jid = await publish();
    await fleet.until("some returns", (counted) => counted.returnsAcknowledged > before + 10, stormTimeoutMs);
    await Promise.all([server.kill(), postgres.kill()]);
    await untilReturned();
    for (const name of ["mysql", ...postgresNames])
      await until("they wait", async () => (await count(`${name}.waiting`)) > 0);
    await Promise.all([server.run(), postgres.run()]);
    await assertWhole(jid);
    for (const name of ["mysql.dropped", "pgjsonb.dropped", "postgres.dropped", "dropped", "lost"])
      assert.equal(await count(name), 0, name);
  });

  it("are written when the master stops, with the password nowhere in its log", async () => {
    const jid = await publish();
    await untilReturned();
    assert.equal(await master.stop(), 0);
    await assertWhole(jid);
    for (const { password } of [server, postgres]) assert.ok(!master.logTail().includes(password));
  });
});
