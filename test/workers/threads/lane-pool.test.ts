import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { SaltworksError } from "../../../src/errors.ts";
import { laneStillLooksMax, threadsEndingMax } from "../../../src/limits.ts";
import { LanePool, type LanePoolOptions } from "../../../src/workers/threads/lane-pool.ts";
import { until } from "../../transport/zmtp/publish/subscribing.ts";
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
    startMs: 0,
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

/** Tasks that end only when their flags are released. */
function fill(lane: LanePool, count: number) {
  const flags = Array.from({ length: count }, () => new SharedArrayBuffer(4));
  return { flags, overdue: flags.map((flag) => lane.run({ slot: 0, act: "wait", flag })) };
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

  it("counts no time of a task while its first thread starts, but not for ever", async () => {
    const slow = { threadsKept: 0, taskTimeoutMs: 1_000, workerData: { loadMs: 3_000 } };
    const patient = openLane({ ...slow, startMs: 60_000 });
    assert.notEqual(await patient.run(say), undefined);
    assert.equal(patient.counters.timeouts, 0);
    const hasty = openLane({ ...slow, startMs: 100 });
    await assert.rejects(hasty.run(say), { code: "TASK_TIMEOUT" });
    const flag = new SharedArrayBuffer(4);
    const started = patient.run({ slot: 0, act: "wait", flag });
    await assert.rejects(started, { code: "TASK_TIMEOUT" });
    release(flag);
  });

  for (const concurrentTasksPerThread of [1, 2]) {
    it(`fails tasks whose thread cannot start, and serves the next ones, ${concurrentTasksPerThread} at a time`, async () => {
      const cannotLoad = new SharedArrayBuffer(4);
      Atomics.store(new Int32Array(cannotLoad), 0, 1);
      const lane = openLane({ threadsKept: 0, concurrentTasksPerThread, queueMax: 8, workerData: { cannotLoad } });
      const unserved = await Promise.allSettled([lane.run(say), lane.run(say), lane.run(say)]);
      for (const { status, reason } of unserved as PromiseRejectedResult[])
        assert.deepEqual(
          [status, reason.code, reason.message],
          ["rejected", "WORKER_LOST", "a thread could not start: told not to load"],
        );
      Atomics.store(new Int32Array(cannotLoad), 0, 0);
      assert.notEqual(await lane.run(say), undefined);
      await until(() => lane.pending === 0, "the end of the lane's tasks");
    });
  }

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
    const loaded = new SharedArrayBuffer(4);
    const lane = openLane({ concurrentTasksPerThread: 4, turnMs: 20, workerData: { loaded } });
    // A task would count as standing still while the thread loads.
    await until(() => Atomics.load(new Int32Array(loaded), 0) === 1, "the thread has loaded");
    const before = (await lane.run(say)) as Said;
    const flag = new SharedArrayBuffer(4);
    const held = lane.run({ slot: 0, act: "wait", flag });
    await pause(2 * laneStillLooksMax * 20);
    release(flag);
    assert.deepEqual(await held, before);
    assert.equal(lane.counters.timeouts, 0);
  });

  it("keeps a shared thread whose places overdue tasks hold, while no other task waits", async () => {
    const lane = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 4_000, turnMs: 200 });
    const before = (await lane.run(say)) as Said;
    const { flags, overdue } = fill(lane, 2);
    await Promise.all(overdue.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    await pause(300);
    for (const flag of flags) release(flag);
    await until(() => lane.pending === 0, "the end of the overdue tasks, so that they hold no place");
    assert.deepEqual(await lane.run(say), before);
    assert.equal(lane.counters.threadsLost, 0);
  });

  it("replaces a shared thread that turns when another task waits and overdue tasks hold all places", async () => {
    const lost: Error[] = [];
    const lane = openLane({
      concurrentTasksPerThread: 2,
      taskTimeoutMs: 4_000,
      onThreadLost: (error) => lost.push(error),
    });
    const before = (await lane.run(say)) as Said;
    const { overdue } = fill(lane, 2);
    await Promise.all(overdue.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    assert.equal(lost.length, 0);
    assert.notEqual(((await lane.run(say)) as Said).threadId, before.threadId);
    assert.deepEqual(
      lost.map((error) => [(error as SaltworksError).code, error.message]),
      [["WORKER_LOST", "all tasks of a lane's thread are overdue"]],
    );
    assert.deepEqual([lane.counters.threadsLost, lane.counters.timeouts], [1, 2]);
    await until(() => lane.pending === 0, "the end of the task: those of the ended thread hold no place");
  });

  it("never ends a shared thread that runs a task in time", async () => {
    const lane = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 4_000, turnMs: 200 });
    const before = (await lane.run(say)) as Said;
    await Promise.all(fill(lane, 1).overdue.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    const flag = new SharedArrayBuffer(4);
    const inTime = lane.run({ slot: 0, act: "wait", flag });
    const waiting = lane.run(say);
    await pause(300);
    release(flag);
    assert.deepEqual(await Promise.all([inTime, waiting]), [before, before]);
    assert.equal(lane.counters.threadsLost, 0);
  });

  it("gives overdue tasks that hold all places the lane's grace, in which what they make is for others", async () => {
    const lane = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 4_000, turnMs: 200, overdueGraceMs: 30_000 });
    const before = (await lane.run(say)) as Said;
    const { flags, overdue } = fill(lane, 2);
    await Promise.all(overdue.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    const waiting = lane.run(say);
    await pause(300);
    for (const flag of flags) release(flag);
    assert.deepEqual(await waiting, before);
    const short = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 4_000, turnMs: 200, overdueGraceMs: 100 });
    const held = fill(short, 2).overdue;
    await Promise.all(held.map((task) => assert.rejects(task, { code: "TASK_TIMEOUT" })));
    await short.run(say);
    assert.equal(short.counters.threadsLost, 1);
  });

  it("serves on while replaced threads hang in system calls, and keeps the last if too many do", async () => {
    const folder = mkdtempSync(join(tmpdir(), "lane-pool-"));
    const file = join(folder, "pipe");
    execFileSync("mkfifo", [file]);
    const lane = openLane({ concurrentTasksPerThread: 2, taskTimeoutMs: 4_000 });
    const open = () => assert.rejects(lane.run({ slot: 0, act: "open", file }), { code: "TASK_TIMEOUT" });
    try {
      for (let count = 1; count <= threadsEndingMax; count += 1) {
        await Promise.all([open(), open()]);
        await lane.run(say);
        assert.equal(lane.counters.threadsLost, count);
      }
      await Promise.all([open(), open()]);
      await assert.rejects(lane.run(say), { code: "TASK_TIMEOUT" });
      assert.equal(lane.counters.threadsLost, threadsEndingMax);
    } finally {
      // A writer ends the calls of all readers.
      const writer = openSync(file, constants.O_RDWR);
      await lane.run(say);
      await lane.close();
      closeSync(writer);
      rmSync(folder, { recursive: true });
    }
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
