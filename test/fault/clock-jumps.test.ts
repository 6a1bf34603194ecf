/**
 * The wall clock is set under a running master, a day and a year forward and back: job ids stay unique, jobs keep their timing, no minion counts as
 * lost, no worker as hung, and today's jobs are kept. A preloaded library sets the clock (clock-offset.c).
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import { type Fleet, openFleet } from "../../bench/fleet/fleet.ts";
import type { LocalClient } from "../../bench/local-client.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import { cliFile, readCounters, sumOf } from "../fleet/our-master.ts";
import { runCli } from "../fleet/run-cli.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { SettableClock } from "./clock.ts";
import { compilerSkip } from "./preload.ts";

const minionCount = 5;
const waitMs = 60_000;
const pollMs = 200;
const day = 86_400;

describe("a master whose clock is set", { skip: compilerSkip() }, () => {
  const jids: string[] = [];
  let master: MasterProcess;
  let fleet: Fleet;
  let client: LocalClient;
  let clock: SettableClock;

  before(async () => {
    clock = new SettableClock(temporary());
    master = await MasterProcess.start({
      command: [process.execPath, cliFile, "master"],
      config: { log_level: "warning", worker_threads: 2, auto_accept: true, loop_interval: 1 },
      descriptors: descriptorsForMaster(minionCount),
      env: clock.env,
    });
    client = master.client();
    const { requestPort } = master;
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort, minionCount, isRecordingAcks: true });
    await fleet.untilUp(waitMs);
    await runJob();
  });
  after(async () => {
    client?.close();
    await fleet?.close();
    await master?.remove();
    clock?.close();
  });
  // Removed after the master has ended: suites' last steps run in the order in which they stand.
  const temporary = temporaryDirectories();

  async function runJob(): Promise<void> {
    const before = fleet.counters.returnsAcknowledged;
    const { jid, minions } = await client.publish("*", "cmd.run", ["true"]);
    assert.equal(minions.length, minionCount);
    jids.push(jid);
    await fleet.until("all returned", (now) => now.returnsAcknowledged >= before + minionCount, waitMs);
  }

  /** After this time two rounds of maintenance are over. */
  async function untilMaintained(): Promise<void> {
    const seen = (await readCounters(client)).main.get("jobs.maintained") ?? 0;
    const deadlineMs = performance.now() + waitMs;
    while (((await readCounters(client)).main.get("jobs.maintained") ?? 0) < seen + 2) {
      assert.ok(performance.now() < deadlineMs, "no maintenance");
      await delay(pollMs);
    }
  }

  for (const [name, seconds] of [
    ["a day forward", day],
    ["a day back", -day],
    ["a year forward", 365 * day],
    ["a year back", -365 * day],
  ] as const) {
    it(`goes on: ${name}`, async () => {
      clock.set(seconds);
      await untilMaintained();
      await runJob();
      await runJob();
      assert.equal(new Set(jids).size, jids.length);
      const [former = "", latest = ""] = jids.slice(-2);
      assert.ok(latest > former, "ids ascend by the clock as it is set");
      const startedMs = performance.now();
      const ping = await runCli(["salt", "-c", master.configDirectory, "*", "test.ping", "--out=json"], waitMs);
      assert.equal(ping.exitCode, 0, ping.stderr);
      assert.equal(ping.stdout.match(/sim-\d/g)?.length, minionCount);
      assert.ok(performance.now() - startedMs < waitMs);
      const present = await runCli(["run", "-c", master.configDirectory, "manage.present", "--out=json"], waitMs);
      assert.equal(present.stdout.match(/sim-\d/g)?.length, minionCount, "no minion is lost");
      // Jobs that were named while the clock was behind look old when it is right again, and are removed.
      for (const jid of jids.filter((each) => each >= (jids[0] ?? "") || each === latest)) {
        const found = await client.wheel("saltworks.returns", { jid, ids: fleet.ids() });
        assert.equal(found instanceof Map ? found.size : found, minionCount, `job ${jid} stays`);
      }
      const counters = await readCounters(client);
      assert.equal(counters.main.get("pool.timeouts"), 0);
      assert.equal(sumOf(counters, /^pool\.workersLost$/), 0);
      clock.set(0);
      await untilMaintained();
      await runJob();
    });
  }

  it("has told of it, and its minions did not authenticate again for it", () => {
    assert.match(master.logTail(), /the clock was set forward by \d+ s: jobs are not removed for their age/);
    assert.match(master.logTail(), /the clock was set back by \d+ s/);
    assert.equal(fleet.counters.returnsLost, 0);
  });
});
