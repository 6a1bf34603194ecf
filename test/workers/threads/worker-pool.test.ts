import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { SaltworksError } from "../../../src/errors.ts";
import { workerTaskTimeoutMs } from "../../../src/limits.ts";
import { newTransactionMarks } from "../../../src/store/lmdb/transaction-marks.ts";
import { WorkerPool, type WorkerPoolOptions } from "../../../src/workers/threads/worker-pool.ts";
import { until } from "../../transport/zmtp/publish/subscribing.ts";
import type { SlotTask } from "./slot-worker.ts";

type Said = { readonly slot: number; readonly threadId: number };

const opened: WorkerPool[] = [];

function openPool(options: Partial<WorkerPoolOptions> = {}): WorkerPool {
  const pool = new WorkerPool({
    filename: new URL("slot-worker.js", import.meta.url).href,
    heap: { youngMb: 24, oldMb: 256 },
    slotCount: 3,
    batchesInFlight: 2,
    queueBytesMax: 1_000,
    workerData: {},
    onWorkerLost: () => undefined,
    ...options,
  });
  opened.push(pool);
  return pool;
}

/** Resolves when the thread has loaded: its first task does not count the start. */
async function openStarted({ workerData, ...options }: Partial<WorkerPoolOptions>): Promise<WorkerPool> {
  const startedThreads = new SharedArrayBuffer(4);
  const pool = openPool({ slotCount: 1, ...options, workerData: { ...workerData, startedThreads } });
  await until(() => Atomics.load(new Int32Array(startedThreads), 0) === 1, "the thread has loaded");
  return pool;
}

function say(pool: WorkerPool, slot: number, task: Omit<SlotTask, "slot">, bytes = 10): Promise<Said> {
  return pool.offer<Said>(slot, { bytes, build: () => ({ task, transfer: [] }) });
}

describe("WorkerPool", () => {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((pool) => pool.close()));
  });

  it("runs everything offered to a slot on that slot's thread", async () => {
    const pool = openPool();
    const said = await Promise.all([0, 1, 2, 0, 1, 2, 2, 1, 0].map((slot) => say(pool, slot, { act: "say" })));
    const threads = new Map<number, Set<number>>();
    for (const { slot, threadId } of said) threads.set(slot, (threads.get(slot) ?? new Set()).add(threadId));
    assert.deepEqual(
      [...threads.values()].map((ids) => ids.size),
      [1, 1, 1],
    );
    assert.equal(new Set([...threads.values()].map((ids) => [...ids][0])).size, 3);
  });

  it("asks every slot in a broadcast", async () => {
    const pool = openPool();
    const said = await pool.broadcast<Said>(() => ({ act: "say" }));
    assert.deepEqual(
      said.map((answer) => answer.slot),
      [0, 1, 2],
    );
  });

  it("passes on what the handler threw, without a second try", async () => {
    const pool = openPool();
    await assert.rejects(say(pool, 1, { act: "throw" }), /told to fail/);
    assert.equal(pool.counters.retried, 0);
  });

  it("takes an error of the handler for its answer though it reads like the end of a thread", async () => {
    const pool = openPool();
    await assert.rejects(say(pool, 1, { act: "throwExit" }), { name: "Error", message: /worker exited/ });
    assert.equal(pool.counters.retried, 0);
  });

  it("gives back an error of ours with its code, without a second try", async () => {
    const pool = openPool();
    const error = { name: "SaltworksError", code: "STORE_FAILED", message: "told to fail, with a code" };
    await assert.rejects(say(pool, 1, { act: "fail" }), error);
    assert.equal(pool.counters.retried, 0);
    assert.equal((await say(pool, 1, { act: "say" })).slot, 1);
  });

  it("tries a batch again on the replaced thread when the first one dies under it", async () => {
    const pool = openPool();
    const before = await say(pool, 1, { act: "say" });
    const after = await say(pool, 1, { act: "dieOnce", flag: new SharedArrayBuffer(4) });
    assert.equal(after.slot, 1);
    assert.notEqual(after.threadId, before.threadId);
    assert.equal(pool.counters.retried, 1);
    assert.equal(pool.counters.workersLost, 1);
  });

  it("gives up with WORKER_LOST when the thread dies twice, and serves the slot again", async () => {
    const pool = openPool();
    await assert.rejects(say(pool, 2, { act: "die" }), { code: "WORKER_LOST" });
    assert.equal((await say(pool, 2, { act: "say" })).slot, 2);
  });

  it("says so when a slot has lost its thread and no other can start", async () => {
    const cannotLoad = new SharedArrayBuffer(4);
    const pool = await openStarted({ workerData: { cannotLoad }, startTimeoutMs: 500 });
    await say(pool, 0, { act: "say" });
    const unserved = new Promise<Error>((resolve) => {
      pool.onUnserved = resolve;
    });
    Atomics.store(new Int32Array(cannotLoad), 0, 1);
    const lost = say(pool, 0, { act: "die" }).catch((error: Error) => error);
    assert.equal(((await unserved) as SaltworksError).code, "WORKER_LOST");
    await pool.close();
    await lost;
  });

  it("fails a task that waits longer for a thread than a task may take", async () => {
    const cannotLoad = new SharedArrayBuffer(4);
    const pool = openPool({ slotCount: 1, workerData: { cannotLoad }, taskTimeoutMs: 500 });
    await say(pool, 0, { act: "say" });
    Atomics.store(new Int32Array(cannotLoad), 0, 1);
    const startedMs = performance.now();
    await assert.rejects(say(pool, 0, { act: "die" }), { code: "TASK_TIMEOUT", message: /no worker thread took/ });
    assert.ok(performance.now() - startedMs < workerTaskTimeoutMs / 2, "the pool's own timeout applies");
  });

  it("replaces a thread that outgrows its heap, and nothing else of the process goes with it", async () => {
    const pool = openPool({ heap: { youngMb: 4, oldMb: 32 } });
    const other = await say(pool, 1, { act: "say" });
    await assert.rejects(say(pool, 0, { act: "grow" }), { code: "WORKER_LOST" });
    assert.equal(pool.counters.workersLost, 2, "the first and the one that tried it again");
    assert.equal((await say(pool, 0, { act: "say" })).slot, 0);
    assert.deepEqual(await say(pool, 1, { act: "say" }), other);
  });

  it("gives a thread that starts more time than one that has started", async () => {
    const pool = openPool({ slotCount: 1, taskTimeoutMs: 200, workerData: { loadMs: 3_000 } });
    await say(pool, 0, { act: "say" });
    assert.equal(pool.counters.timeouts + pool.counters.workersLost, 0);
  });

  it("replaces a thread that hangs before it has started when its first task is overdue", {
    timeout: 30_000,
  }, async () => {
    const loadsHung = new SharedArrayBuffer(4);
    const pool = openPool({ slotCount: 1, startTimeoutMs: 3_000, workerData: { loadsHung } });
    assert.equal((await say(pool, 0, { act: "say" })).slot, 0);
    assert.equal(Atomics.load(new Int32Array(loadsHung), 0), 1);
    assert.ok(pool.counters.timeouts >= 1);
  });

  it("replaces a thread that hangs when its task is overdue, and answers what waited behind it", async () => {
    const pool = openPool({ slotCount: 1, batchesInFlight: 1, taskTimeoutMs: 1_000 });
    const before = await say(pool, 0, { act: "say" });
    const hung = say(pool, 0, { act: "hangOnce", flag: new SharedArrayBuffer(4) });
    const behind = await say(pool, 0, { act: "say" });
    assert.notEqual(behind.threadId, before.threadId);
    assert.equal((await hung).threadId, behind.threadId);
    assert.equal(pool.counters.timeouts, 1);
  });

  it("ends no thread within a transaction of LMDB, and tells its owner after the time that a start may take", async () => {
    const transactions = newTransactionMarks();
    const times = { taskTimeoutMs: 300, startTimeoutMs: 500 };
    const pool = await openStarted({ ...times, transactions, workerData: { transactions } });
    const unserved = new Promise<SaltworksError>((resolve) => {
      pool.onUnserved = resolve;
    });
    const before = await say(pool, 0, { act: "say" });
    const flag = new SharedArrayBuffer(4);
    const held = say(pool, 0, { act: "waitInTransaction", flag });
    const { code, message } = await unserved;
    assert.deepEqual([code, message], ["WORKER_LOST", "a worker thread hangs and cannot be ended"]);
    Atomics.store(new Int32Array(flag), 0, 1);
    Atomics.notify(new Int32Array(flag), 0);
    assert.equal((await held).threadId, before.threadId);
    assert.equal(pool.counters.timeouts + pool.counters.workersLost, 0);
  });

  it("takes a pause of the whole process for no hanging thread", async () => {
    const pool = await openStarted({ taskTimeoutMs: 300, startTimeoutMs: 500 });
    const told: SaltworksError[] = [];
    pool.onUnserved = (error) => told.push(error);
    await say(pool, 0, { act: "say" });
    const asked = say(pool, 0, { act: "say" });
    // Longer than both times and a look together.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    assert.equal((await asked).slot, 0);
    assert.deepEqual(told, []);
  });

  it("refuses with QUEUE_FULL beyond the slot's bytes, and takes more when there is room again", async () => {
    const pool = openPool({ slotCount: 1, queueBytesMax: 20 });
    const flag = new SharedArrayBuffer(4);
    const held = [say(pool, 0, { act: "wait", flag }), say(pool, 0, { act: "wait", flag })];
    await assert.rejects(say(pool, 0, { act: "say" }), { code: "QUEUE_FULL" });
    assert.equal(pool.counters.refused, 1);
    // A waiter may not wait yet; it also continues if the flag is set already.
    Atomics.store(new Int32Array(flag), 0, 1);
    Atomics.notify(new Int32Array(flag), 0);
    await Promise.all(held);
    assert.equal((await say(pool, 0, { act: "say" })).slot, 0);
  });

  it("runs what is urgent before what waits, also where there is no room for more", async () => {
    const pool = openPool({ slotCount: 1, batchesInFlight: 1, queueBytesMax: 20 });
    const flag = new SharedArrayBuffer(4);
    const order: string[] = [];
    const held = say(pool, 0, { act: "wait", flag });
    const ordinary = say(pool, 0, { act: "say" }).then(() => order.push("ordinary"));
    const urgent = pool.broadcast(() => ({ act: "say" })).then(() => order.push("urgent"));
    Atomics.store(new Int32Array(flag), 0, 1);
    Atomics.notify(new Int32Array(flag), 0);
    await Promise.all([held, ordinary, urgent]);
    assert.deepEqual(order, ["urgent", "ordinary"]);
  });

  it("fails what waits when it is closed", async () => {
    const pool = openPool({ slotCount: 1, batchesInFlight: 1 });
    const flag = new SharedArrayBuffer(4);
    const first = say(pool, 0, { act: "wait", flag });
    const second = say(pool, 0, { act: "say" });
    const outcomes = Promise.allSettled([first, second]);
    await pool.close();
    assert.deepEqual(
      (await outcomes).map((outcome) => outcome.status),
      ["rejected", "rejected"],
    );
  });
});
