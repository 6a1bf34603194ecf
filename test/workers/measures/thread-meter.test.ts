import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { ThreadMeter } from "../../../src/workers/measures/thread-meter.ts";

describe("ThreadMeter", () => {
  it("sees for how long a thread's event loop stood still, and that it worked", async () => {
    // Node 24 counts from the event loop's first turn.
    await wait(5);
    const meter = new ThreadMeter();
    const { loopBusySeconds: before } = meter.read();
    // Longer than the sampling interval of an idle thread.
    const blockedMs = 1_300;
    const endMs = performance.now() + blockedMs;
    while (performance.now() < endMs);
    await wait(0);
    const { loopDelay, loopBusySeconds, heapUsedBytes, heapLimitBytes } = meter.read();
    assert.ok(loopDelay.sum >= 0.2 && loopDelay.sum < 60, `${loopDelay.sum} s`);
    assert.ok(loopBusySeconds - before >= 1, `${loopBusySeconds - before} s`);
    assert.ok(heapUsedBytes > 0 && heapUsedBytes < heapLimitBytes);
    meter.close();
  });
});
