import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { SaltworksError } from "../../../src/errors.ts";
import { laneStillLooksMax } from "../../../src/limits.ts";
import { LanePool, type LanePoolOptions } from "../../../src/workers/threads/lane-pool.ts";
import type { SlotTask } from "./slot-worker.ts";

type Said = { readonly threadId: number };

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

  it("ends a thread that hangs under tasks that share it, long before they are overdue", async () => {
    const lost: Error[] = [];
    const lane = openLane({ concurrentTasksPerThread: 4, turnMs: 500, onThreadLost: (error) => lost.push(error) });
    const before = (await lane.run(say)) as Said;
    const hung = lane.run({ slot: 0, act: "hang" });
    const beside = lane.run(say);
    const ended = { code: "TASK_TIMEOUT", message: /hangs/ };
    await Promise.all([assert.rejects(hung, ended), assert.rejects(beside, ended)]);
    assert.notEqual(((await lane.run(say)) as Said).threadId, before.threadId);
    assert.deepEqual(
      lost.map((error) => (error as SaltworksError).code),
      ["WORKER_LOST"],
    );
    assert.equal(lane.counters.timeouts, 2);
  });

  it("keeps a thread that turns, however long its tasks wait", async () => {
    const lane = openLane({ concurrentTasksPerThread: 4, turnMs: 20 });
    const before = (await lane.run(say)) as Said;
    const flag = new SharedArrayBuffer(4);
    const held = lane.run({ slot: 0, act: "wait", flag });
    await pause(2 * laneStillLooksMax * 20);
    release(flag);
    assert.deepEqual(await held, before);
    assert.equal(lane.counters.timeouts, 0);
  });

  it("keeps a shared thread that turns though overdue tasks hold all of its places: what they make is for others", async () => {
    const lane = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 500 });
    const before = (await lane.run(say)) as Said;
    const flags = [new SharedArrayBuffer(4), new SharedArrayBuffer(4)];
    const overdue = flags.map((flag) => lane.run({ slot: 0, act: "wait", flag }));
    await Promise.all(overdue.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    for (const flag of flags) release(flag);
    assert.deepEqual(await lane.run(say), before);
    await pause(0);
    assert.equal(lane.pending, 0, "ended tasks hold no place");
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
