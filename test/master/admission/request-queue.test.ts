import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  forgedBytesOwedMax,
  forgedBytesPerSecondMax,
  hugeRequestBytes,
  largeForgedBytesOwedMax,
  largeForgedBytesPerSecondMax,
  largeHoldMsMax,
  strangerQueueBytesMax,
  strangersPauseShare,
} from "../../../src/limits.ts";
import { AddressRanks } from "../../../src/master/admission/address-ranks.ts";
import { RequestQueue, type Waiting } from "../../../src/master/admission/request-queue.ts";
import type { Standing } from "../../../src/master/admission/standing.ts";

type Named = Waiting & { readonly name: string };

const request = (name: string, standing: Standing, bytes = 10, address = "192.0.2.1"): Named => ({
  name,
  standing,
  queuedMs: 0,
  bytes: { byteLength: bytes },
  connection: { address },
});
const many = (count: number, standing: Standing, bytes = 10) =>
  Array.from({ length: count }, (_, at) => request(`${standing}${at}`, standing, bytes));
const open = (framesMax = 16, bytesMax = 1_000, queueBytesMax = 100_000) =>
  new RequestQueue<Named>(
    { framesMax, bytesMax, queueBytesMax },
    new AddressRanks({ isProxy: () => false, hasProven: () => false }),
  );
/** Whether there is a place for it, and no other gave way. */
const takes = (waiting: RequestQueue<Named>, item: Named, nowMs = 0) => waiting.offer(item, nowMs).length === 0;

const fullFor = (waiting: RequestQueue<Named>, nowMs = 0) => ({
  strangers: waiting.isFullFor("strangers", nowMs),
  proven: waiting.isFullFor("proven", nowMs),
});

describe("RequestQueue", () => {
  it("takes proven requests first, and leaves others a share of each batch", () => {
    const waiting = open();
    for (const standing of ["stranger", "named", "proven"] as const)
      for (const item of many(20, standing)) assert.ok(takes(waiting, item));
    const counted = (items: readonly Named[]) =>
      (["proven", "named", "stranger"] as const).map((one) => items.filter(({ standing }) => standing === one).length);
    const batch = waiting.take(0);
    assert.deepEqual(counted(batch), [10, 4, 2]);
    assert.deepEqual(
      batch.map(({ standing }) => standing),
      [...new Array(10).fill("proven"), ...new Array(4).fill("named"), ...new Array(2).fill("stranger")],
    );
    assert.deepEqual(counted(waiting.take(0)), [10, 4, 2]);
    assert.deepEqual(counted(waiting.take(0)), [0, 12, 2]);
    assert.equal(waiting.count, 14);
    assert.equal(waiting.bytes, 140);
  });

  it("never gives strangers more than their share of a batch, in frames or bytes, because proven requests wait for its end", () => {
    const waiting = open(16, 1_000);
    for (const item of [...many(10, "stranger"), ...many(4, "stranger", 100)]) waiting.offer(item, 0);
    const sizes = () => waiting.take(0).map(({ bytes }) => bytes.byteLength);
    assert.deepEqual(sizes(), [10, 10]);
    for (let taken = 2; taken < 10; taken += 2) assert.deepEqual(sizes(), [10, 10]);
    assert.deepEqual(sizes(), [100], "an eighth of the bytes");
    waiting.offer(request("return", "proven"), 0);
    assert.deepEqual(sizes(), [10, 100]);
  });

  it("gives a request that is larger than a batch alone", () => {
    const waiting = open();
    waiting.offer(request("huge", "proven", 5_000), 0);
    waiting.offer(request("next", "proven"), 0);
    assert.deepEqual(
      waiting.take(0).map(({ name }) => name),
      ["huge"],
    );
    assert.deepEqual(
      waiting.take(0).map(({ name }) => name),
      ["next"],
    );
    assert.equal(waiting.bytes, 0);
  });

  it("refuses strangers beyond their own bytes, and never stops reading for them", () => {
    const waiting = open(16, 1_000, 1_000);
    for (const item of many(4, "stranger", strangerQueueBytesMax / 4)) assert.ok(takes(waiting, item));
    assert.equal(takes(waiting, request("one more", "stranger")), false);
    assert.equal(waiting.counters.strangersRefused, 1);
    assert.deepEqual(fullFor(waiting), { strangers: false, proven: false });
    assert.ok(takes(waiting, request("return", "proven", 1_000)));
    assert.deepEqual(fullFor(waiting), { strangers: true, proven: true });
  });

  it("lets large unproven requests wait behind small ones for a bounded time, one batch of them at a time", () => {
    const waiting = open();
    for (const name of ["first", "second"]) waiting.offer(request(name, "large", 900), 0);
    waiting.offer(request("return", "named"), 0);
    assert.deepEqual(
      waiting.take(0).map(({ name }) => name),
      ["return"],
    );
    waiting.offer(request("return", "named"), 0);
    const [first] = waiting.take(largeHoldMsMax);
    assert.equal(first?.name, "first");
    assert.deepEqual(
      waiting.take(largeHoldMsMax).map(({ name }) => name),
      ["return"],
    );
    assert.deepEqual(waiting.take(largeHoldMsMax), []);
    assert.ok(first !== undefined);
    waiting.settle(first, false, largeHoldMsMax);
    assert.deepEqual(
      waiting.take(largeHoldMsMax).map(({ name }) => name),
      ["second"],
      "an honest one costs nothing",
    );
  });

  it("lets large requests wait after a forged one until its cost has run down", () => {
    const waiting = open(16, 1_000, 100 * forgedBytesPerSecondMax);
    const forged = request("forged", "large", 2 * largeForgedBytesPerSecondMax);
    waiting.offer(forged, 0);
    waiting.offer(request("honest", "large", 900, "192.0.2.2"), 0);
    waiting.take(0);
    assert.equal(waiting.heldMs(0), undefined, "while it is with the worker its end comes here again");
    waiting.settle(forged, true, 0);
    assert.deepEqual(waiting.take(0), []);
    assert.equal(waiting.heldMs(0), 1_000);
    assert.deepEqual(
      waiting.take(1_000).map(({ name }) => name),
      ["honest"],
    );
  });

  it("holds up neither large nor small requests for forgeries that were refused unread, but takes no huge ones", () => {
    const waiting = open(16, 1_000, 1_000);
    assert.equal(waiting.takesHuge(0), true);
    waiting.noteRefusedUnread(forgedBytesOwedMax, 0);
    assert.deepEqual([waiting.isForged(0), waiting.takesHuge(0)], [false, false]);
    for (const item of [request("token", "large", 600), request("return", "large", 300)])
      assert.ok(takes(waiting, item), "a forged one would leave it an eighth of the queue");
    assert.equal(waiting.heldMs(0), undefined);
    assert.deepEqual(
      waiting.take(0).map(({ name }) => name),
      ["token", "return"],
    );
    assert.equal(waiting.takesHuge((1_000 * forgedBytesOwedMax) / forgedBytesPerSecondMax), true);
  });

  it("owes no more than its bound after any flood", () => {
    const waiting = open();
    const forged = request("forged", "large", 100 * forgedBytesOwedMax);
    waiting.settle(forged, true, 0);
    waiting.offer(request("honest", "large", 10, "192.0.2.2"), 0);
    assert.equal(waiting.heldMs(0), (largeForgedBytesOwedMax / largeForgedBytesPerSecondMax - 1) * 1_000);
    const forgottenMs = (forgedBytesOwedMax / forgedBytesPerSecondMax - 1) * 1_000;
    assert.deepEqual([waiting.isForged(forgottenMs - 1), waiting.isForged(forgottenMs)], [true, false]);
  });

  it("neither stops reading nor fills up for unproven requests while forgeries come", () => {
    const waiting = open(16, 1_000, 1_000);
    for (const item of many(10, "named", 100)) waiting.offer(item, 0);
    const held = { strangers: true, proven: false };
    assert.deepEqual(fullFor(waiting), held, "an honest fleet on new connections is held back by TCP");
    waiting.settle(request("forged", "named", 2 * forgedBytesPerSecondMax), true, 0);
    assert.equal(waiting.isForged(0), true);
    assert.deepEqual(fullFor(waiting), { strangers: false, proven: false });
    assert.equal(takes(waiting, request("more", "named")), false);
    assert.equal(waiting.counters.unprovenRefused, 1);
    assert.equal(takes(waiting, request("return", "proven", 100)), true);
  });

  it("neither takes nor keeps huge unproven requests while forgeries come", () => {
    const waiting = open(16, 1_000, 100 * hugeRequestBytes);
    const huge = () => request("huge", "large", hugeRequestBytes + 1);
    assert.ok(takes(waiting, huge()));
    assert.ok(takes(waiting, request("small", "large", hugeRequestBytes)));
    assert.deepEqual(waiting.dropHuge(0), []);
    waiting.settle(request("forged", "large", 2 * hugeRequestBytes), true, 0);
    assert.deepEqual(
      waiting.dropHuge(0).map(({ name }) => name),
      ["huge"],
    );
    assert.equal(waiting.bytes, hugeRequestBytes);
    assert.equal(takes(waiting, huge()), false);
    assert.equal(waiting.counters.unprovenRefused, 2);
  });

  it("refuses any beyond twice its bound", () => {
    const waiting = open(16, 1_000, 1_000);
    for (const item of many(20, "proven", 100)) assert.ok(takes(waiting, item));
    assert.equal(takes(waiting, request("more", "proven")), false);
  });

  it("stops reading strangers at a share of its bound, and takes proven requests beside any number of theirs", () => {
    const waiting = open(16, 1_000, 1_000);
    for (const item of many(1, "named", 1_000 * strangersPauseShare - 1)) assert.ok(takes(waiting, item));
    assert.deepEqual(fullFor(waiting), { strangers: false, proven: false });
    for (const item of many(2, "large", 300)) assert.ok(takes(waiting, item));
    assert.deepEqual(fullFor(waiting), { strangers: true, proven: false });
    assert.equal(takes(waiting, request("more", "named")), false, "unproven ones have the bound for themselves alone");
    for (const item of many(10, "proven", 99)) assert.ok(takes(waiting, item));
    assert.deepEqual(fullFor(waiting), { strangers: true, proven: false });
    assert.ok(takes(waiting, request("return", "proven")));
    assert.deepEqual(fullFor(waiting), { strangers: true, proven: true });
  });
});
