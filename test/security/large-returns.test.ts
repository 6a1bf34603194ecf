/** Large returns on new connections beside a stranger's forged large requests from another address. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { LocalClient } from "../../bench/local-client.ts";
import type { MasterProcess } from "../../bench/master-process.ts";
import { readCounters, startOurMaster, sumOf } from "../fleet/our-master.ts";
import { underFlood } from "./flood-run.ts";
import { FreshReturns } from "./honest-load.ts";
import { largeFloods } from "./stranger-floods.ts";

const returnBytes = 200 * 1_024;
const returnsCount = 60;
/** Refused forgeries during the returns show that the row of large requests was full. */
const refusedMin = 20;
const fullTimeoutMs = 30_000;
/** For the refusals: on a slow machine the flood is slow, too. */
const patienceMs = 60_000;
const testTimeoutMs = 400_000;

describe("a master under forged large requests", { timeout: testTimeoutMs }, () => {
  let master: MasterProcess;
  let client: LocalClient;

  before(async () => {
    master = await startOurMaster(1_000, {});
    client = master.client();
    // Proves the connection, so that the questions for counters do not wait with strangers.
    await readCounters(client);
  });
  after(async () => {
    client?.close();
    await master?.remove();
  });

  /** `saltworks_unproven_refused_total{reason="forgeries"}`: large requests that found their row full, among others. */
  const refused = async () => sumOf(await readCounters(client), /unprovenRefused$/);

  async function untilRefused(): Promise<number> {
    const giveUpMs = performance.now() + fullTimeoutMs;
    for (;;) {
      const count = await refused();
      if (count > 0) return count;
      assert.ok(performance.now() < giveUpMs, "the flood did not fill the row of large requests");
    }
  }

  for (const name of Object.keys(largeFloods)) {
    it(`stores every large return on a new connection under ${name}`, async (test) => {
      const minion = await FreshReturns.open("honest-0", master.requestPort, master.pkiDirectory);
      const waitedMs: number[] = [];
      const startMs = performance.now();
      let refusedBesides = 0;
      const sent = await underFlood("large", name, master.requestPort, async () => {
        const refusedBefore = await untilRefused();
        const isEnough = async (count: number) =>
          count >= returnsCount && (await refused()) - refusedBefore >= refusedMin;
        for (let count = 0; !(await isEnough(count)) && performance.now() - startMs < patienceMs; count += 1) {
          const sentMs = performance.now();
          await minion.send(count, returnBytes);
          waitedMs.push(performance.now() - sentMs);
        }
        refusedBesides = (await refused()) - refusedBefore;
      });
      const bytesPerSecond = (sent.bytes / (performance.now() - startMs)) * 1_000;
      test.diagnostic(
        `${waitedMs.length} returns, the slowest after ${Math.max(...waitedMs).toFixed(0)} ms; ${(bytesPerSecond / 1_048_576).toFixed(1)} MiB/s forged, ${refusedBesides} requests of it refused`,
      );
      const counters = await readCounters(client);
      assert.equal(sumOf(counters, /^returns\.stored$/), waitedMs.length);
      assert.ok(refusedBesides >= refusedMin, `only ${refusedBesides} forgeries found a full row`);
    });
  }
});
