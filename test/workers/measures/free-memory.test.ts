import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freeMemoryRestLooks } from "../../../src/limits.ts";
import { loadTrim, trimWhenIdle } from "../../../src/workers/measures/free-memory.ts";

const lookMs = 5;
const busyMsAtOnce = 1_000_000;

describe("trimWhenIdle", () => {
  it("gives memory back at its looks at rest, and again after the next burst", async () => {
    const looks: number[] = [];
    let [look, spentMs] = [0, 0];
    /** The process is busy at these looks only. */
    const busyLooks = new Set([3, 20]);
    await new Promise<void>((resolve) => {
      const idle = trimWhenIdle({
        lookMs,
        trim: () => looks.push(look),
        cpuMs: () => {
          if (busyLooks.has(look)) spentMs += busyMsAtOnce;
          look += 1;
          if (look > 40) {
            idle.close();
            clearInterval(keepAlive);
            resolve();
          }
          return spentMs;
        },
      });
      const keepAlive = setInterval(() => {}, 1_000);
    });
    const [first = 0, second = 0] = freeMemoryRestLooks;
    // `look` was raised by the time of the call.
    const after = (busyLook: number) => [busyLook + 1 + first, busyLook + 1 + second];
    assert.deepEqual(looks, [first + 1, ...after(3), ...after(20)]);
  });
});

describe("loadTrim", () => {
  it("finds the allocator's function where there is one", async () => {
    const trim = await loadTrim();
    assert.doesNotThrow(trim);
  });
});
