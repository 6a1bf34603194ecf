/** A thousand minions with real handshakes and connections, served by two workers, while the main thread opens no seal. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { connectionsOf, establishedConnections } from "../../../bench/fleet/kernel-connections.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { readCounters, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const minionCount = 1_000;
const otherConnectionsMax = 4;
const upTimeoutMs = 180_000;
const jobTimeoutMs = 120_000;

describe("a fleet of a thousand minions", () => {
  let master: MasterProcess;
  let fleet: Fleet;
  let client: LocalClient;

  before(async () => {
    master = await startOurMaster(minionCount, { auto_accept: true, worker_threads: 2 });
    client = master.client();
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
    await fleet.untilUp(upTimeoutMs);
  });
  after(async () => {
    client?.close();
    await fleet?.close();
    await master?.remove();
  });

  it("comes up with one _auth, one pillar and two start events each, every reply verified", () => {
    const { up, authsSent, authsAccepted, authsInvalid, pillars, startEvents, reauths, repliesUnreadable } =
      fleet.counters;
    assert.deepEqual(
      { up, authsSent, authsAccepted, authsInvalid, pillars, startEvents, reauths, repliesUnreadable },
      {
        up: minionCount,
        authsSent: minionCount,
        authsAccepted: minionCount,
        authsInvalid: 0,
        pillars: minionCount,
        startEvents: minionCount * 2,
        reauths: 0,
        repliesUnreadable: 0,
      },
    );
  });

  it("holds two thousand connections, as the kernel counts them on the master's ports", () => {
    for (const port of [master.publishPort, master.requestPort]) {
      assert.equal(connectionsOf(fleet.processIds, port), minionCount);
      // The only other connections are this test's own, on the request port.
      assert.ok(establishedConnections(port) - minionCount <= otherConnectionsMax);
    }
  });

  it("answers test.ping of our command line to the last minion", async () => {
    const args = ["salt", "-c", master.configDirectory, "*", "test.ping", "-t", "60", "--static", "--out", "json"];
    const { exitCode, stdout, stderr } = await runCli(args, jobTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), Object.fromEntries(fleet.ids().map((id) => [id, true])));
  });

  it("has its returns opened by both workers alike, and none by the main thread", async () => {
    const opened = async () => (await readCounters(client)).workers.map((worker) => worker.get("openedReturns") ?? 0);
    const before = await opened();
    const wanted = fleet.counters.returnsAcknowledged + minionCount;
    const job = await client.publish("*", "test.ping");
    assert.equal(job.minions.length, minionCount);
    await fleet.until("all returns", (now) => now.returnsAcknowledged >= wanted, jobTimeoutMs);
    const shares = (await opened()).map((count, index) => (count - (before[index] ?? 0)) / minionCount);
    assert.equal(shares.length, 2);
    assert.equal((shares[0] ?? 0) + (shares[1] ?? 0), 1, "each return is opened once");
    for (const share of shares) assert.ok(share >= 0.35 && share <= 0.65, `a worker opened ${share} of the returns`);
    const { main } = await readCounters(client);
    const mainOpened = [...main].filter(([name]) => name.endsWith("openedSeals"));
    assert.ok(mainOpened.length > 0, "the main thread counts what it opens");
    for (const [name, count] of mainOpened) assert.equal(count, 0, name);
  });
});
