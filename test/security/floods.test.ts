/** Floods of strangers beside honest minions, in a short form; `npm run test:soak` runs them for a given time. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { LocalClient } from "../../bench/local-client.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { readCounters, startOurMaster, sumOf } from "../fleet/our-master.ts";
import { residentMb, runFlood, withoutLinger } from "./flood-run.ts";
import { floods } from "./floods.ts";
import { HonestLoad } from "./honest-load.ts";

const timing = { windowMs: 250, windows: 3 };
/** The permitted ratio of honest minions' latency with and without a flood. */
const slowerMax = 3;
/** Milliseconds below which a difference is the scheduler's, because generator, load and master share two cores. Each flood once cost seconds. */
const noiseMs = 100;
/** Tries of each flood, because a shared machine may stall. */
const triesMax = 3;
/** MiB that a flood may leave behind in grown heaps; floods once left gigabytes. */
const keptMbMax = 96;
const memoryDeadlineMs = 30_000;
const testTimeoutMs = 120_000;

describe("a master under floods", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let load: HonestLoad;
  let restingMb = 0;

  before(async () => {
    master = await startOurMaster(3_000, withoutLinger);
    client = master.client();
    load = await HonestLoad.open(master.requestPort, master.pkiDirectory);
    await load.run(1_000);
    restingMb = residentMb(master.processId);
  });
  after(async () => {
    load?.close();
    client?.close();
    await master?.remove();
  });

  for (const name of Object.keys(floods)) {
    it(`answers honest minions in time under ${name}`, { timeout: testTimeoutMs }, async (test) => {
      let result = await runFlood(name, master.requestPort, load, timing);
      const boundMs = () => Math.max(slowerMax * result.idleMs, noiseMs);
      for (let tries = 1; tries < triesMax && result.floodedMs > boundMs(); tries += 1)
        result = await runFlood(name, master.requestPort, load, timing);
      const { idleMs, floodedMs, sent } = result;
      const figures = `p99 ${idleMs.toFixed(1)} ms idle, ${floodedMs.toFixed(1)} ms flooded; sent ${JSON.stringify(sent)}; ${residentMb(master.processId).toFixed(0)} MiB`;
      test.diagnostic(figures);
      assert.ok(floodedMs <= boundMs(), figures);
      assert.equal(load.lost, 0, "no honest request goes without its answer");
    });
  }

  it("gives back the memory", { timeout: testTimeoutMs }, async (test) => {
    const deadlineMs = performance.now() + memoryDeadlineMs;
    let heldMb = residentMb(master.processId);
    for (; heldMb > restingMb + keptMbMax && performance.now() < deadlineMs; heldMb = residentMb(master.processId))
      await delay(500);
    test.diagnostic(`${restingMb.toFixed(0)} MiB before, ${heldMb.toFixed(0)} MiB after`);
    assert.ok(heldMb <= restingMb + keptMbMax, `${restingMb.toFixed(0)} MiB before, ${heldMb.toFixed(0)} MiB after`);
  });

  it("lives, has counted what it refused, and has stored every honest return", { timeout: testTimeoutMs }, async () => {
    const counters = await readCounters(client);
    for (const name of ["refused.unreadable|refused.notMap|refused.invalidId", "refused.algorithm"])
      assert.ok(sumOf(counters, new RegExp(`^(?:${name})$`)) > 0, name);
    assert.equal(sumOf(counters, /^refused\.fault$/), 0);
    assert.equal(sumOf(counters, /^returns\.stored$/) + sumOf(counters, /^returns\.duplicate$/), load.returns);
  });
});
