/** A worker thread that dies or hangs in a storm is replaced: no client waits for ever, no return is lost or doubled, no minion signs in again. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { descriptorsForMaster } from "../../../bench/fleet/descriptors.ts";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { MasterProcess } from "../../../bench/master-process.ts";
import { workerTaskTimeoutMs } from "../../../src/limits.ts";
import { Inspector } from "../inspector.ts";
import { cliFile, readCounters, sumOf } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 300;
const upTimeoutMs = 120_000;
const stormTimeoutMs = 60_000;
/** Returns arrive over this time, so that the thread ends while some are answered, some under way and some to come. */
const returnDelayMs = [0, 4_000] as const;
/** A stock minion's three tries, each of the longest wait: a loaded machine needs longer than tries of 5 s to start a thread. */
const returnTimeoutMs = [10_000, 10_000] as const;
const returnTries = 3;
const stormsBefore = 50;

describe("a worker thread lost in a return storm", () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let inspector: Inspector;

  before(async () => {
    master = await MasterProcess.start({
      command: [process.execPath, "--inspect=127.0.0.1:0", cliFile, "master"],
      config: { log_level: "warning", worker_threads: 2, auto_accept: true },
      descriptors: descriptorsForMaster(minionCount),
    });
    inspector = await Inspector.open(readFileSync(join(master.directory, "output"), "utf8"));
    fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: master.requestPort,
      minionCount,
      returnBytes: [100, 2_000],
      returnDelayMs,
      returnTimeoutMs,
      returnTries,
      isRecordingAcks: true,
    });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    inspector?.close();
    await fleet?.close();
    await master?.remove();
  });

  /** Starts a storm, disturbs it, and waits until every minion's return is acknowledged. @returns milliseconds that it took */
  async function storm(disturb: () => Promise<void>): Promise<{ jid: string; tookMs: number }> {
    const client = master.client();
    const acknowledged = fleet.counters.returnsAcknowledged;
    const { jid } = await client.publish("*", "cmd.run", ["true"]);
    client.close();
    const startedMs = performance.now();
    await fleet.until(
      "some returns",
      ({ returnsAcknowledged }) => returnsAcknowledged >= acknowledged + stormsBefore,
      stormTimeoutMs,
    );
    await disturb();
    await fleet.until(
      "all returns",
      ({ returnsAcknowledged, returnsLost }) => returnsAcknowledged + returnsLost >= acknowledged + minionCount,
      stormTimeoutMs,
    );
    return { jid, tookMs: performance.now() - startedMs };
  }

  async function counted(): Promise<{ lost: number; failed: number; overdue: number; connected: number }> {
    const client = master.client();
    try {
      const counters = await readCounters(client);
      const named = (name: RegExp) => sumOf(counters, name);
      return {
        lost: named(/workersLost$/),
        failed: named(/commits\.failed$/),
        overdue: named(/^pool\.timeouts$/),
        connected: named(/presence\.connected$/),
      };
    } finally {
      client.close();
    }
  }

  /** Every minion's return once, nothing lost, no minion signed in again. */
  async function assertWhole(jid: string): Promise<void> {
    const args = ["run", "-c", master.configDirectory, "jobs.lookup_jid", jid, "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, stormTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    assert.equal(Object.keys(JSON.parse(stdout) as object).length, minionCount);
    assert.equal((await fleet.acknowledged(jid)).size, minionCount);
    const { authsSent, reauths, returnsLost, repliesUnreadable } = fleet.counters;
    assert.deepEqual(
      { authsSent, reauths, returnsLost, repliesUnreadable },
      { authsSent: minionCount, reauths: 0, returnsLost: 0, repliesUnreadable: 0 },
    );
  }

  it("dies: it is replaced at once, and its minions' returns are stored by its successor", async () => {
    const { jid } = await storm(() => inspector.runIn("sw-worker-0", "process.exit(3)"));
    await assertWhole(jid);
    const { lost, failed, overdue } = await counted();
    assert.deepEqual({ lost, failed, overdue }, { lost: 1, failed: 0, overdue: 0 }, "nothing waited for a timeout");
  });

  it("hangs: it is replaced when its batch is overdue, before a minion has spent its tries", async () => {
    const { jid, tookMs } = await storm(() => inspector.runIn("sw-worker-1", "for (;;);"));
    await assertWhole(jid);
    const { lost, failed, overdue } = await counted();
    assert.deepEqual({ lost, failed }, { lost: 2, failed: 0 });
    assert.ok(overdue > 0);
    assert.ok(tookMs >= workerTaskTimeoutMs, "it was left until it was overdue");
  });

  it("leaves a master that serves everybody as before", async () => {
    const before = await counted();
    const { jid } = await storm(async () => undefined);
    await assertWhole(jid);
    const { lost, failed, overdue } = await counted();
    assert.deepEqual({ lost, failed, overdue }, { lost: 2, failed: before.failed, overdue: before.overdue });
  });

  it("cannot open its store at first: callers are told why, and it serves again once it can", async () => {
    const layout = join(master.cacheDirectory, "jobs.lmdb", "layout.json");
    const text = readFileSync(layout, "utf8");
    writeFileSync(layout, JSON.stringify({ version: 0, shards: 1 }));
    try {
      await inspector.runIn("sw-worker-0", "process.exit(3)");
      // The worker of a connection's request may be either: the one that can serve it does, and reports what the other cannot.
      for (let tries = 0; tries < 2; tries += 1) {
        const { stdout } = await runCli(["run", "-c", master.configDirectory, "saltworks.counters"], stormTimeoutMs);
        assert.match(stdout, /of a layout that this release does not know/);
      }
      await inspector.runIn("sw-worker-1", "process.exit(3)");
      const { stdout, stderr } = await runCli(
        ["run", "-c", master.configDirectory, "saltworks.counters"],
        stormTimeoutMs,
      );
      assert.match(
        `${stdout}${stderr}`,
        /cannot serve this request now: The store could not read or write\. \(STORE_FAILED\)/,
      );
    } finally {
      writeFileSync(layout, text);
    }
    const { jid } = await storm(async () => undefined);
    await assertWhole(jid);
  });

  it("leaves every minion present", async () => {
    assert.equal((await counted()).connected, minionCount);
  });
});
