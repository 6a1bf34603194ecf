/** A master with `master_job_cache: mysql` in return storms: the database is killed, swallows everything, and the master is killed, and each row is there once. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { connectionsOf } from "../../../bench/fleet/kernel-connections.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { BlackHole } from "../../databases/black-hole.ts";
import { MariadbServer, mariadbMissing } from "../../databases/mariadb.ts";
import { readCounters, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 200;
const upTimeoutMs = 120_000;
const stormTimeoutMs = 60_000;
const copyTimeoutMs = 60_000;
const pollMs = 50;

type Status = { readonly State: string; readonly Waiting: number; readonly Reason?: string };

describe("a master whose job cache is in MariaDB", { timeout: 600_000, skip: mariadbMissing() ?? false }, () => {
  let server: MariadbServer;
  let hole: BlackHole;
  let master: MasterProcess;
  let fleet: Fleet;
  const jids: string[] = [];

  before(async () => {
    server = await MariadbServer.start();
    hole = await BlackHole.open(server.port);
    master = await startOurMaster(minionCount, {
      auto_accept: true,
      master_job_cache: "mysql",
      ...server.options(hole.port),
    });
    fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: master.requestPort,
      minionCount,
      returnBytes: [100, 4_000],
      returnDelayMs: [0, 600],
      returnTimeoutMs: [2_000, 3_000],
      returnTries: 10,
      reconnectMs: [100, 500],
      isRecordingAcks: true,
    });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    await fleet?.close();
    await master?.remove();
    hole?.close();
    await server?.remove();
  });

  async function run<Answer>(...args: readonly string[]): Promise<Answer> {
    const { exitCode, stdout, stderr } = await runCli(
      ["run", "-c", master.configDirectory, ...args, "--out", "json"],
      stormTimeoutMs,
    );
    assert.equal(exitCode, 0, stderr);
    assert.ok(!`${stdout}${stderr}`.includes(server.password));
    return JSON.parse(stdout) as Answer;
  }

  /** A counter of the database. Read by a client in this process, because a program takes its time to start. */
  async function count(name: string): Promise<number> {
    const client = master.client();
    try {
      return (await readCounters(client)).main.get(`database.${name}`) ?? 0;
    } finally {
      client.close();
    }
  }

  /** A subscription that is connected again is reported by neither side, but by the kernel. */
  async function publish(): Promise<string> {
    const isConnected = () => connectionsOf(fleet.processIds, master.publishPort) >= minionCount;
    await until("the fleet is connected", isConnected);
    const client = master.client();
    const { jid } = await client.publish("*", "cmd.run", ["df -h"]);
    client.close();
    jids.push(jid);
    return jid;
  }

  /** A fleet that no job has reached yet is settled too, so this counts the returns of all jobs. */
  async function untilReturned(): Promise<void> {
    const all = ({ returnsAcknowledged, returnsLost }: Fleet["counters"]) =>
      returnsAcknowledged + returnsLost >= jids.length * minionCount;
    await fleet.until("every return of every job is acknowledged or given up", all, stormTimeoutMs);
  }

  /** Publishes a job and acts when a part of its returns has been acknowledged. */
  async function duringStorm(act: () => Promise<void> | void): Promise<string> {
    const before = fleet.counters.returnsAcknowledged;
    const jid = await publish();
    const some = ({ returnsAcknowledged }: Fleet["counters"]) => returnsAcknowledged >= before + minionCount / 6;
    await fleet.until("some returns", some, stormTimeoutMs);
    await act();
    return jid;
  }

  async function until(what: string, isDone: () => Promise<boolean> | boolean): Promise<void> {
    const endMs = performance.now() + copyTimeoutMs;
    while (!(await isDone())) {
      assert.ok(performance.now() < endMs, `${what}\n${master.logTail()}`);
      await wait(pollMs);
    }
  }

  const rowsOf = (jid: string) => server.sql(`SELECT id FROM salt.salt_returns WHERE jid = '${jid}'`);

  /** Each acknowledged return of all jobs is there once, and nothing else. */
  async function assertWhole(): Promise<void> {
    for (const jid of jids) {
      await until(`the returns of ${jid} are copied`, () => rowsOf(jid).length >= minionCount);
      const rows = rowsOf(jid);
      assert.deepEqual([rows.length, new Set(rows).size], [minionCount, minionCount], `job ${jid}`);
      assert.equal(server.sql(`SELECT jid FROM salt.jids WHERE jid = '${jid}'`).length, 1);
    }
  }

  it("keeps jobs while the tables are missing, says so, and copies them once they are made", async () => {
    await publish();
    await untilReturned();
    await until("the database fails", async () => (await count("failures")) > 0);
    // A return is acknowledged once the batch log has it; the feed gets it after that.
    await until("every return waits", async () => (await count("waiting")) > minionCount);
    const { State, Reason, Waiting } = await run<Status>("jobs.cache_status");
    assert.equal(State, "failing");
    assert.match(Reason ?? "", /jobs\.create_schema/);
    assert.ok(Waiting > minionCount);
    const made = await run<{ "Tables-made": string[] }>("jobs.create_schema");
    assert.deepEqual(made["Tables-made"], ["jids", "salt_returns", "salt_events"]);
    await assertWhole();
    await until("all is copied", async () => (await count("waiting")) === 0);
  });

  it("answers from the database alone when asked for it", async () => {
    const [jid = ""] = jids;
    const local = await run<Record<string, unknown>>("jobs.lookup_jid", jid);
    assert.equal(Object.keys(local).length, minionCount);
    assert.deepEqual(await run("jobs.lookup_jid", jid, "ext_source=mysql"), local);
    assert.deepEqual(Object.keys(await run<object>("jobs.list_jobs", "ext_source=mysql", "search_function=cmd.*")), [
      jid,
    ]);
  });

  it("loses and doubles no row when the database is killed", async () => {
    await duringStorm(() => server.kill());
    await untilReturned();
    assert.equal(fleet.counters.returnsLost, 0);
    assert.equal((await run<Status>("jobs.cache_status")).State, "failing");
    await server.run();
    await assertWhole();
  });

  it("loses and doubles no row when the master is killed", async () => {
    await duringStorm(() => master.kill());
    await master.restart();
    await untilReturned();
    await assertWhole();
  });

  it("loses and doubles no row when both are killed while rows wait", async () => {
    await duringStorm(() => server.kill());
    await untilReturned();
    await master.kill();
    await server.run();
    await master.restart();
    await assertWhole();
  });

  it("acknowledges returns while the connection swallows everything", async () => {
    const failures = await count("failures");
    hole.swallow();
    await publish();
    await untilReturned();
    assert.equal(fleet.counters.returnsLost, 0);
    await until("the database is given up", async () => (await count("failures")) > failures);
    assert.ok((await count("waiting")) > 0);
    hole.pass();
    await assertWhole();
  });

  it("stops in time, and writes the password nowhere", async () => {
    assert.equal(await master.stop(), 0);
    assert.ok(!master.logTail().includes(server.password));
  });
});
