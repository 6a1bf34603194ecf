/** Strangers begin requests and leave them, or fill queues: only their addresses are charged, only strangers are paused, minions are answered. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { LocalClient } from "../../bench/local-client.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { readCounters, startOurMaster, sumOf } from "../fleet/our-master.ts";
import { runFlood, underFlood, withoutLinger } from "./flood-run.ts";
import { HonestLoad } from "./honest-load.ts";
import { smallBounds, strangerFloods } from "./stranger-floods.ts";

const timing = { windowMs: 500, windows: 3 };
const testTimeoutMs = 120_000;
const pauseTimeoutMs = 60_000;

describe("a master with small bounds under floods from addresses without minions", { timeout: testTimeoutMs }, () => {
  let master: MasterProcess;
  let client: LocalClient;
  let load: HonestLoad;

  before(async () => {
    master = await startOurMaster(3_000, { ...withoutLinger, ...smallBounds });
    client = master.client();
    load = await HonestLoad.open(master.requestPort, master.pkiDirectory);
  });
  after(async () => {
    load?.close();
    client?.close();
    await master?.remove();
  });

  for (const name of Object.keys(strangerFloods)) {
    it(`answers honest minions under ${name}`, async (test) => {
      const { idleMs, floodedMs, sent } = await runFlood(name, master.requestPort, load, timing, "strangers");
      test.diagnostic(
        `p99 ${idleMs.toFixed(1)} ms idle, ${floodedMs.toFixed(1)} ms flooded; sent ${JSON.stringify(sent)}`,
      );
      assert.equal(load.lost, 0, "no honest request goes without its answer");
    });
  }

  it("stops reading strangers while their requests fill the queue", async () => {
    const pauses = async () => sumOf(await readCounters(client), /^connections\.pausesOfStrangers$/);
    await underFlood("strangers", "whole requests in minions' names", master.requestPort, async () => {
      const deadline = performance.now() + pauseTimeoutMs;
      while ((await pauses()) === 0) assert.ok(performance.now() < deadline, "no pause");
    });
  });

  it("has charged unfinished requests to their addresses, and never stopped reading minions", async (test) => {
    const counters = await readCounters(client);
    const count = (name: string) => sumOf(counters, new RegExp(`^connections\\.${name}$`));
    const names = ["unfinishedChargedBytes", "owesUnfinished", "heldBytes", "pausesOfStrangers", "pausesOfProven"];
    test.diagnostic(names.map((name) => `${name} ${count(name)}`).join(", "));
    assert.ok(count("unfinishedChargedBytes") > smallBounds.request_max_bytes);
    assert.ok(count("owesUnfinished") > 0, "large requests of an address that owes are refused");
    assert.equal(count("pausesOfProven"), 0);
    assert.equal(sumOf(counters, /^returns\.stored$/) + sumOf(counters, /^returns\.duplicate$/), load.returns);
  });
});
