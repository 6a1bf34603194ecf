/** Floods of strangers on the publish port: honest subscribers get every publish, requests do not wait, and memory is given back. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Connection } from "../../bench/fleet/storm/connection.ts";
import type { LocalClient } from "../../bench/local-client.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { readCounters, startOurMaster, sumOf } from "../fleet/our-master.ts";
import { honestP99, residentMb, underFlood, withoutLinger } from "./flood-run.ts";
import { HonestLoad } from "./honest-load.ts";
import { publishFloods } from "./publish-floods.ts";

const timing = { windowMs: 250, windows: 3 };
/** As in floods.test.ts, with more noise, because publishes of a megabyte are under way. With libzmq it was a second. */
const slowerMax = 3;
const noiseMs = 100;
const triesMax = 3;
/** libzmq held 310 and 430 MB. */
const keptMbMax = 96;
const subscriberCount = 20;
const publishesOfFlood = 10;
/** More bytes than the system buffers for a connection that does not read. */
const largeArgument = "x".repeat(1_000_000);
const deadlineMs = 30_000;
const testTimeoutMs = 120_000;

describe("a publish port under floods", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let load: HonestLoad;
  let restingMb = 0;
  const subscribers: { readonly connection: Connection; received: number }[] = [];

  before(
    async () => {
      master = await startOurMaster(3_000, withoutLinger);
      client = master.client();
      load = await HonestLoad.open(master.requestPort, master.pkiDirectory);
      for (let count = 0; count < subscriberCount; count += 1) {
        const connection = await Connection.open({ host: "127.0.0.1", port: master.publishPort, type: "SUB" });
        const subscriber = { connection, received: 0 };
        connection.onMessage = () => {
          subscriber.received += 1;
        };
        subscribers.push(subscriber);
      }
      while (sumOf(await readCounters(client), /^publishes\.subscribers$/) < subscriberCount) await delay(10);
      // Publishes of this size grow all threads' memory, with or without a flood.
      await publish(2 * publishesOfFlood);
      await allReceived(2 * publishesOfFlood);
      await load.run(1_000);
      restingMb = residentMb(master.processId);
    },
    { timeout: testTimeoutMs },
  );
  after(async () => {
    for (const { connection } of subscribers) connection.close();
    load?.close();
    client?.close();
    await master?.remove();
  });

  async function publish(count: number): Promise<void> {
    for (let number = 0; number < count; number += 1) await client.publish("honest-*", "test.arg", [largeArgument]);
  }

  async function allReceived(count: number): Promise<void> {
    const startMs = performance.now();
    while (subscribers.some(({ received }) => received < count)) {
      assert.ok(performance.now() - startMs < deadlineMs, `${subscribers.map(({ received }) => received)} of ${count}`);
      await delay(10);
    }
  }

  for (const name of Object.keys(publishFloods)) {
    it(`sends every publish, and requests do not wait, under ${name}`, { timeout: testTimeoutMs }, async (test) => {
      const idleMs = await honestP99(load, timing);
      const boundMs = Math.max(slowerMax * idleMs, noiseMs);
      for (let tries = 1; ; tries += 1) {
        let floodedMs = 0;
        const before = subscribers[0]?.received ?? 0;
        const sent = await underFlood("publish", name, master.publishPort, async () => {
          floodedMs = await honestP99(load, timing);
          await publish(publishesOfFlood);
          await allReceived(before + publishesOfFlood);
        });
        const heldMb = residentMb(master.processId).toFixed(0);
        const figures = `p99 ${idleMs.toFixed(1)} ms idle, ${floodedMs.toFixed(1)} ms flooded; sent ${JSON.stringify(sent)}; ${heldMb} MiB`;
        test.diagnostic(figures);
        if (floodedMs <= boundMs) break;
        assert.ok(tries < triesMax, figures);
      }
      assert.equal(load.lost, 0, "no honest request goes without its answer");
    });
  }

  it("gives back the memory, and has kept its subscribers", { timeout: testTimeoutMs }, async (test) => {
    const startMs = performance.now();
    let heldMb = residentMb(master.processId);
    for (; heldMb > restingMb + keptMbMax && performance.now() - startMs < deadlineMs; ) {
      await delay(500);
      heldMb = residentMb(master.processId);
    }
    test.diagnostic(`${restingMb.toFixed(0)} MiB before, ${heldMb.toFixed(0)} MiB after`);
    assert.ok(heldMb <= restingMb + keptMbMax, `${restingMb.toFixed(0)} MiB before, ${heldMb.toFixed(0)} MiB after`);
    const counters = await readCounters(client);
    assert.equal(sumOf(counters, /^publishes\.heldBytes$/), 0);
    assert.equal(sumOf(counters, /^publishes\.threadsLost$/), 0);
    assert.equal(sumOf(counters, /^publishes\.subscribers$/), subscriberCount);
  });
});
