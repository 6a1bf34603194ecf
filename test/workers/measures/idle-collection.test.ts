import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectWhenIdle } from "../../../src/workers/measures/idle-collection.ts";

const lookMs = 40;

/** Blocks the event loop. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("collectWhenIdle", () => {
  it("collects once after a burst, and again only when there was another or garbage is announced", async () => {
    const counted = { times: 0, next: () => {} };
    const collected = () => new Promise<void>((resolve) => (counted.next = resolve));
    const idle = collectWhenIdle(() => {
      counted.times += 1;
      counted.next();
    }, lookMs);
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      const first = collected();
      work(3 * lookMs);
      await first;
      const second = collected();
      idle.want();
      await second;
      assert.equal(counted.times, 2);
    } finally {
      clearInterval(keepAlive);
      idle.close();
    }
  });

  it("has V8 collect for real by default", async () => {
    const keepAlive = setInterval(() => {}, 1_000);
    const gone = new Promise<string>((resolve) => {
      const registry = new FinalizationRegistry<string>(resolve);
      registry.register({ large: new Array(1_000).fill(0) }, "collected");
      // The registry itself must not be collected before the watched object.
      keepAlive.ref();
      Object.assign(keepAlive, { registry });
    });
    const idle = collectWhenIdle(undefined, lookMs);
    try {
      idle.want();
      assert.equal(await gone, "collected");
    } finally {
      clearInterval(keepAlive);
      idle.close();
    }
  });
});
