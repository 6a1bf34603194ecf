import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Linger } from "../../../src/master/requests/linger.ts";

const few = { holds: () => false };
const longAgo = { answeredMs: Number.NEGATIVE_INFINITY };

/** What the last of many requests at a steady rate may wait. */
function steady(linger: Linger, perSecond: number, startMs = 0): number {
  let delayMs = Number.NaN;
  for (let index = 0; index < perSecond; index += 1)
    delayMs = linger.delayMs(longAgo, startMs + (index * 1_000) / perSecond, few);
  return delayMs;
}

describe("Linger", () => {
  it("lets a lone request leave at once", () => {
    const linger = new Linger(40);
    assert.equal(linger.delayMs(longAgo, 0, few), 0);
    assert.equal(linger.delayMs(longAgo, 1_000, few), 0);
    assert.equal(steady(linger, 20, 2_000), 0, "20 a second: none is likely to come within 40 ms");
  });

  it("waits for about eight requests, and not longer than allowed", () => {
    assert.equal(steady(new Linger(40), 100), 40);
    const at500 = steady(new Linger(40), 500);
    assert.ok(at500 >= 14 && at500 <= 18, `${at500}`);
    assert.equal(steady(new Linger(40), 20_000), 0, "in a storm batches fill by themselves");
  });

  it("forgets a rate that is over", () => {
    const linger = new Linger(40);
    assert.equal(steady(linger, 100), 40);
    assert.equal(linger.delayMs(longAgo, 3_000, few), 0);
  });

  it("delays no client that asks one thing after the other", () => {
    const linger = new Linger(40);
    steady(linger, 500);
    assert.equal(linger.delayMs({ answeredMs: 990 }, 1_000, few), 0);
    assert.ok(linger.delayMs({ answeredMs: 960 }, 1_001, few) > 0, "two waits of 16 ms are over");
  });

  it("does not wait when sixteen requests have come, or 512 KiB, which cost more than their batch", () => {
    const linger = new Linger(40);
    steady(linger, 100);
    const waiting = (count: number, size: number) => ({
      holds: (frames: number, bytes: number) => count >= frames || size >= bytes,
    });
    assert.equal(linger.delayMs(longAgo, 1_001, waiting(15, 524_287)), 40);
    assert.equal(linger.delayMs(longAgo, 1_002, waiting(16, 10_000)), 0);
    assert.equal(linger.delayMs(longAgo, 1_003, waiting(1, 524_288)), 0);
  });

  it("is off at 0", () => {
    assert.equal(steady(new Linger(0), 500), 0);
  });
});
