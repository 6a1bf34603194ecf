/** A killed master still has all that it acknowledged, and its minions continue without authenticating again. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { connectionsOf } from "../../../bench/fleet/kernel-connections.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 500;
const killCount = 10;
const upTimeoutMs = 180_000;
const connectTimeoutMs = 60_000;
/** Each look reads the kernel's table three times, and the sockets of all minions: more often, it would take a core from the master that starts. */
const connectPollMs = 500;
const stormTimeoutMs = 60_000;
/** Returns arrive over this time, so that a kill after some hundred finds the others under way. */
const returnDelayMs = [0, 2_000] as const;
/** Acknowledged returns at the first kill. Each kill comes later by this number, the last in the middle of the storm. */
const returnsBetweenKills = 25;

describe("kill -9 in the middle of a return storm", () => {
  let master: MasterProcess;
  let fleet: Fleet;

  before(async () => {
    master = await startOurMaster(minionCount, { auto_accept: true });
    fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: master.requestPort,
      minionCount,
      returnBytes: [100, 4_000],
      returnDelayMs,
      returnTimeoutMs: [2_000, 3_000],
      // Two kills may lie within a minion's tries, and a restart takes long on a busy machine.
      returnTries: 40,
      reconnectMs: [100, 500],
      isRecordingAcks: true,
    });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    await fleet?.close();
    await master?.remove();
  });

  /** Neither side reports when a subscription is connected again, but the kernel does. */
  async function untilConnected(): Promise<void> {
    const deadlineMs = performance.now() + connectTimeoutMs;
    while (connectionsOf(fleet.processIds, master.publishPort) < minionCount) {
      assert.ok(performance.now() < deadlineMs, "the fleet did not connect again");
      await wait(connectPollMs);
    }
  }

  /** Minions repeat returns that were not acknowledged. The next storm begins when all returns of the last one have arrived. */
  function untilSettled(): Promise<unknown> {
    return fleet.untilSettled(stormTimeoutMs);
  }

  /** @returns the job, and the number of its returns that were acknowledged when the master died */
  async function stormAndKill(threshold: number): Promise<{ jid: string; acknowledgedAtKill: number }> {
    await untilConnected();
    await untilSettled();
    const client = master.client();
    const before = fleet.counters.returnsAcknowledged;
    const { jid } = await client.publish("*", "cmd.run", ["true"]);
    client.close();
    await fleet.until(
      `${threshold} returns`,
      ({ returnsAcknowledged }) => returnsAcknowledged >= before + threshold,
      stormTimeoutMs,
    );
    await master.kill();
    const acknowledgedAtKill = (await fleet.acknowledged(jid)).size;
    await master.restart();
    return { jid, acknowledgedAtKill };
  }

  async function storedIds(jid: string): Promise<Set<string>> {
    const args = ["run", "-c", master.configDirectory, "jobs.lookup_jid", jid, "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, stormTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    return new Set(Object.keys(JSON.parse(stdout) as Record<string, unknown>));
  }

  it("loses no acknowledged return, ten times over", async (context) => {
    const jids: string[] = [];
    for (let kill = 0; kill < killCount; kill += 1) {
      const { jid, acknowledgedAtKill } = await stormAndKill((kill + 1) * returnsBetweenKills);
      jids.push(jid);
      assert.ok(acknowledgedAtKill > 0 && acknowledgedAtKill < minionCount, "the kill came beside the storm");
      context.diagnostic(`kill ${kill + 1}: ${acknowledgedAtKill} of ${minionCount} returns were acknowledged`);
    }
    for (const jid of jids) {
      const acknowledged = await fleet.acknowledged(jid);
      const stored = await storedIds(jid);
      const lost = [...acknowledged].filter((id) => !stored.has(id));
      assert.deepEqual(lost, [], `job ${jid}: ${acknowledged.size} acknowledged, ${stored.size} stored`);
    }
  });

  it("costs no minion another _auth", () => {
    const { authsSent, reauths, repliesUnreadable, publishesUnreadable, publishesReplayed } = fleet.counters;
    assert.deepEqual(
      { authsSent, reauths, repliesUnreadable, publishesUnreadable, publishesReplayed },
      { authsSent: minionCount, reauths: 0, repliesUnreadable: 0, publishesUnreadable: 0, publishesReplayed: 0 },
    );
  });

  it("has the returns of the storms that were cut off too, once the minions have sent them again", async () => {
    await untilSettled();
    assert.equal(fleet.counters.returnsLost, 0);
  });
});
