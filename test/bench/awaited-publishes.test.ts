/** Returns of a workload's jobs: none is sent before its job is published, and a late publish moves its returns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AwaitedPublishes } from "../../bench/fleet/storm/awaited-publishes.ts";
import type { Connection } from "../../bench/fleet/storm/connection.ts";
import { Lane } from "../../bench/fleet/storm/lane.ts";
import { LatencyHistogram } from "../../bench/load/histogram.ts";

type Begun = readonly [request: number, lateMs: number, atMs: number];

/** Requests 0 and 1 belong to job 0, request 2 to job 1. */
const jobOf = Uint32Array.of(0, 0, 1);

function open(dueAtMs = performance.now()) {
  const begun: Begun[] = [];
  const dropped: number[] = [];
  let onBegun = (): void => {};
  const awaited = new AwaitedPublishes({
    jobOf,
    dueAtMs: () => dueAtMs,
    begin: (request, lateMs) => {
      begun.push([request, lateMs, performance.now()]);
      onBegun();
    },
    drop: (request) => dropped.push(request),
  });
  const next = () =>
    new Promise<void>((resolve) => {
      onBegun = resolve;
    });
  return { awaited, begun, dropped, dueAtMs, next, requests: () => begun.map(([request]) => request) };
}

describe("AwaitedPublishes", () => {
  it("holds what is due until its own job is published", () => {
    const { awaited, requests } = open();
    for (const request of jobOf.keys()) awaited.due(request);
    assert.deepEqual(requests(), []);
    awaited.published(0, 0);
    assert.deepEqual(requests(), [0, 1]);
    awaited.published(1, 0);
    assert.deepEqual(requests(), [0, 1, 2]);
  });

  it("begins as much later as the publish was answered, and never before that", async () => {
    for (const lateMs of [0.4, 1.7, 20.9]) {
      const { awaited, begun, dueAtMs, next } = open();
      awaited.published(0, lateMs);
      const begins = next();
      awaited.due(0);
      await begins;
      const [[request, counted, atMs] = [-1, 0, 0]] = begun;
      assert.equal(request, 0);
      assert.ok(Math.abs(counted - lateMs) < 0.001, `${counted} ms`);
      assert.ok(atMs >= dueAtMs + lateMs, `${atMs - dueAtMs} ms after it was due`);
    }
  });

  it("catches up on a late call, and counts the delay from the planned time", () => {
    const { awaited, begun } = open(performance.now() - 50);
    awaited.published(0, 40);
    awaited.due(0);
    const [[request, lateMs] = [-1, 0]] = begun;
    assert.equal(request, 0);
    assert.ok(Math.abs(lateMs - 40) < 0.001, `${lateMs} ms`);
  });

  it("moves what was held to the time when the minion hears of the job, if that is later", () => {
    const { awaited, begun } = open(performance.now() - 50);
    awaited.due(0);
    awaited.published(0, 10);
    const [[, lateMs] = [0, 0]] = begun;
    assert.ok(lateMs >= 50, `${lateMs} ms`);
  });

  it("drops the returns of a job whose publish failed, held or not yet due", () => {
    const { awaited, dropped, requests } = open();
    awaited.due(0);
    awaited.published(0, undefined);
    awaited.due(1);
    assert.deepEqual(dropped, [0, 1]);
    assert.deepEqual(requests(), []);
  });

  it("begins nothing after its end", async () => {
    const { awaited, requests } = open();
    awaited.published(0, 20);
    awaited.due(0);
    awaited.stop();
    const later = open();
    later.awaited.published(0, 20);
    const begins = later.next();
    later.awaited.due(0);
    await begins;
    assert.deepEqual(requests(), []);
  });
});

describe("Lane", () => {
  /** Answers each request at once. */
  function openLane() {
    const sent: number[] = [];
    const connection: Pick<Connection, "onMessage" | "onClose" | "send"> = {
      onMessage: () => undefined,
      onClose: () => undefined,
      send: (frame) => {
        sent.push(frame[0] ?? -1);
        queueMicrotask(() => connection.onMessage(Buffer.from(frame)));
      },
    };
    const work = {
      ...{ count: jobOf.length, sealedAhead: 0, minion: () => 0 },
      frame: (index: number) => Buffer.of(index),
      ...{ isPlausible: () => true, check: () => "right" as const },
    };
    const line = { connection: connection as Connection, reopen: () => Promise.resolve() };
    const options = { timeoutMs: 60_000, tries: 1, onProgress: () => undefined, connectsEach: false, jobOf };
    return { sent, lane: new Lane(work, [line], options) };
  }

  it("sends no return before its job is published, and counts its latency from then", async () => {
    const { sent, lane } = openLane();
    const startedMs = performance.now() - 1_000;
    const ended = lane.run(startedMs, Float64Array.of(0, 0, 0));
    assert.deepEqual(sent, []);
    lane.published(1, 0);
    assert.deepEqual(sent, [2]);
    lane.published(0, 0);
    await ended;
    const { completed, failed, late, lastReplyMs, histogram } = lane.outcome(10);
    assert.deepEqual([sent, completed, failed, late], [[2, 0, 1], 3, 0, 0]);
    assert.ok(lastReplyMs >= 1_000);
    assert.ok(LatencyHistogram.decode(histogram).atUs(100) < 1_000_000, "not from the planned time, a second before");
  });

  it("counts the returns of a job whose publish failed as failed, and ends", async () => {
    const { sent, lane } = openLane();
    const ended = lane.run(performance.now(), Float64Array.of(0, 0, 0));
    lane.published(0, undefined);
    lane.published(1, 0);
    await ended;
    const { planned, completed, failed } = lane.outcome(10);
    assert.deepEqual([sent, planned, completed, failed], [[2], 3, 1, 2]);
  });
});
