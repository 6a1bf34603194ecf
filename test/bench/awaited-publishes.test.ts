/** Returns of a workload's jobs: none is sent before its job is published, and a late publish moves its returns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AwaitedPublishes } from "../../bench/fleet/storm/awaited-publishes.ts";

describe("AwaitedPublishes", () => {
  /** Requests 0 and 1 belong to job 0, request 2 to job 1. */
  const jobOf = Uint32Array.of(0, 0, 1);

  function open() {
    const begun: (readonly [request: number, lateMs: number])[] = [];
    let onBegun = (): void => {};
    const awaited = new AwaitedPublishes(jobOf, (request, lateMs) => {
      begun.push([request, lateMs]);
      onBegun();
    });
    const next = () => new Promise<void>((resolve) => (onBegun = resolve));
    return { awaited, begun, next };
  }

  it("holds what is due until its own job is published", () => {
    const { awaited, begun } = open();
    for (const request of jobOf.keys()) awaited.due(request);
    assert.deepEqual(begun, []);
    awaited.published(0, 0);
    assert.deepEqual(begun, [
      [0, 0],
      [1, 0],
    ]);
    awaited.published(1, 0);
    assert.deepEqual(begun.at(-1), [2, 0]);
  });

  it("begins as much later as the publish was answered, also for what is due after it", async () => {
    const { awaited, begun, next } = open();
    const lateMs = 60;
    awaited.published(0, lateMs);
    const dueMs = performance.now();
    awaited.due(0);
    assert.deepEqual(begun, []);
    await next();
    assert.deepEqual(begun, [[0, lateMs]]);
    // Timers count whole milliseconds.
    assert.ok(performance.now() - dueMs >= lateMs - 1);
  });

  it("counts the delay of a held one from the time when it was due", async () => {
    const { awaited, begun, next } = open();
    awaited.due(2);
    const untilMs = performance.now() + 12;
    while (performance.now() < untilMs);
    awaited.published(1, 10);
    assert.deepEqual(begun, [[2, 10]], "12 ms have passed");
    awaited.due(1);
    const begins = next();
    awaited.published(0, 5);
    await begins;
    assert.deepEqual(begun.at(-1), [1, 5]);
  });

  it("begins nothing after its end", async () => {
    const { awaited, begun } = open();
    awaited.published(0, 20);
    awaited.due(0);
    awaited.stop();
    const later = open();
    later.awaited.published(0, 20);
    later.awaited.due(0);
    await later.next();
    assert.deepEqual(begun, []);
  });
});
