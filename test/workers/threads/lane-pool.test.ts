import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { LanePool, type LanePoolOptions } from "../../../src/workers/threads/lane-pool.ts";
import type { SlotTask } from "./slot-worker.ts";

const opened: LanePool[] = [];

function openLane(options: Partial<LanePoolOptions> = {}): LanePool {
  const lane = new LanePool({
    filename: new URL("./slot-worker.js", import.meta.url).href,
    threadCount: 1,
    threadsKept: 1,
    heap: { youngMb: 6, oldMb: 256 },
    concurrentTasksPerThread: 1,
    queueMax: 3,
    taskTimeoutMs: 30_000,
    workerData: {},
    onThreadLost: () => undefined,
    ...options,
  });
  opened.push(lane);
  return lane;
}

const say: SlotTask = { slot: 0, act: "say" };

function release(flag: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(flag), 0, 1);
  Atomics.notify(new Int32Array(flag), 0);
}

describe("LanePool", () => {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((lane) => lane.close()));
  });

  it("starts threads that are not kept when there is work for them", async () => {
    const lane = openLane({ threadsKept: 0, threadCount: 2 });
    const flag = new SharedArrayBuffer(4);
    const held = lane.run({ slot: 0, act: "wait", flag });
    assert.notEqual(await lane.run(say), undefined, "a second thread takes it while the first is held");
    release(flag);
    await held;
  });

  it("runs what is urgent before what waits, and never refuses it", async () => {
    const lane = openLane();
    const flag = new SharedArrayBuffer(4);
    const order: string[] = [];
    const held = lane.run({ slot: 0, act: "wait", flag });
    const ordinary = [1, 2].map((index) => lane.run(say).then(() => order.push(`ordinary ${index}`)));
    await assert.rejects(lane.run(say), { code: "QUEUE_FULL" });
    const urgent = lane.run(say, { isUrgent: true }).then(() => order.push("urgent"));
    release(flag);
    await Promise.all([held, urgent, ...ordinary]);
    assert.deepEqual(order, ["urgent", "ordinary 1", "ordinary 2"]);
    assert.equal(lane.pending, 0);
  });

  it("runs several tasks at once on one thread, so that a runner that waits for minions holds up no other", async () => {
    const lane = openLane({ concurrentTasksPerThread: 4 });
    const flag = new SharedArrayBuffer(4);
    let isHeld = true;
    const held = lane.run({ slot: 0, act: "wait", flag }).then(() => {
      isHeld = false;
    });
    const releaseLater = setTimeout(() => release(flag), 2_000);
    await lane.run(say);
    assert.ok(isHeld, "answered while the other still waits");
    clearTimeout(releaseLater);
    release(flag);
    await held;
  });

  it("replaces a thread that hangs, so that others are served", async () => {
    const lane = openLane({ taskTimeoutMs: 200 });
    await assert.rejects(lane.run({ slot: 0, act: "hang" }), { code: "TASK_TIMEOUT" });
    const again = openLane();
    assert.equal(((await again.run(say)) as { slot: number }).slot, 0);
    let served: unknown;
    for (let attempt = 0; attempt < 50 && served === undefined; attempt += 1)
      served = await lane.run(say).catch(() => undefined);
    assert.ok(served, "the lane serves again");
  });

  it("fails what waits when it is closed", async () => {
    const lane = openLane();
    const outcomes = Promise.allSettled([
      lane.run({ slot: 0, act: "wait", flag: new SharedArrayBuffer(4) }),
      lane.run(say),
    ]);
    await lane.close();
    assert.deepEqual(
      (await outcomes).map((outcome) => outcome.status),
      ["rejected", "rejected"],
    );
    await assert.rejects(lane.run(say), { code: "CHANNEL_CLOSED" });
  });
});
