/** When a receiver has returns sent again, and from when on. Without a server, on a clock of its own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ReturnReceiver } from "../../../src/cluster/returns/receiver.ts";
import {
  returnPlacesSaveMs,
  returnRepairMarginMs,
  returnStreamAgeMs,
  returnStreamsCount,
} from "../../../src/limits.ts";
import { fakeStream } from "./fake-stream.ts";

/** More than the steps of one look. */
const turnsOfLook = 20;

type Asked = { readonly sinceMs: number; readonly isNew: boolean };

async function open(t: TestContext) {
  const clock = { nowMs: Date.UTC(2026, 10, 29), refusals: 0, failures: 0 };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(Date, "now", () => clock.nowMs);
  const directory = mkdtempSync(join(tmpdir(), "saltworks-repair-"));
  const stream = fakeStream();
  const asked: Asked[] = [];
  const receiver = await ReturnReceiver.open({
    ...{ clients: stream.clients, clusterId: "test", member: "one", replicas: 1 },
    placesFile: join(directory, "places"),
    logger: { info: () => undefined, warn: () => undefined },
    store: () => assert.fail("no message comes"),
    refusals: () => clock.refusals,
    repair: async (sinceMs, isNew) => {
      asked.push({ sinceMs, isNew });
      clock.failures -= 1;
      if (clock.failures >= 0) throw new Error("the disk is full");
      return 0;
    },
  });
  while (stream.starts.length < returnStreamsCount) await once(stream.opened, "start");
  t.after(async () => {
    t.mock.timers.reset();
    await receiver.close();
    rmSync(directory, { recursive: true });
  });
  /** Lets time pass up to the end of the next look. */
  const look = async () => {
    clock.nowMs += returnPlacesSaveMs;
    t.mock.timers.tick(returnPlacesSaveMs);
    for (let turn = 0; turn < turnsOfLook; turn += 1) await nextTurn();
  };
  return { clock, asked, look, stream };
}

describe("a receiver of returns", () => {
  it("has a repair that failed gone on with, and another one after it if returns were refused meanwhile", async (t) => {
    const { clock, asked, look } = await open(t);
    await look();
    assert.deepEqual(asked, []);
    clock.refusals += 1;
    clock.failures = 1;
    await look();
    await look();
    clock.refusals += 1;
    for (let count = 0; count < 4; count += 1) await look();
    assert.deepEqual(
      asked.map(({ isNew }) => isNew),
      [true, false, true],
    );
    const [first, second, third] = asked.map(({ sinceMs }) => sinceMs);
    assert.equal(first, second);
    assert.ok((third ?? 0) > (second ?? 0));
  });

  it("has returns sent again from a clock on that was set back", async (t) => {
    const { clock, asked, look } = await open(t);
    await look();
    clock.nowMs -= 3_600_000;
    const refusedMs = clock.nowMs;
    clock.refusals += 1;
    await look();
    clock.nowMs += 600_000;
    await look();
    assert.ok((asked[0]?.sinceMs ?? Number.POSITIVE_INFINITY) <= refusedMs - returnRepairMarginMs / 2);
  });

  it("has returns sent again since a stream that lost messages got its last one", async (t) => {
    const { clock, asked, look, stream } = await open(t);
    await look();
    const atMs = clock.nowMs - returnStreamAgeMs / 2;
    Object.assign(stream.state, { last_seq: -1, last_ts: new Date(atMs).toISOString() });
    await look();
    while (stream.starts.length < 2 * returnStreamsCount) await once(stream.opened, "start");
    for (let count = 0; count < 2; count += 1) await look();
    assert.equal(asked[0]?.sinceMs, atMs - returnRepairMarginMs);
    assert.equal(asked.length, 1);
  });
});
