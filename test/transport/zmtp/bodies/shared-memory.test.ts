import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  largeBodiesBytesMax,
  sharedFrameBytesMax,
  sharedFrameBytesMin,
  sharedFramesBytesMax,
  spareForLargerMs,
} from "../../../../src/limits.ts";
import { SharedMemory } from "../../../../src/transport/zmtp/bodies/shared-memory.ts";

const frame = Buffer.alloc(100_000, "f");

/** Takes all of the memory in pieces of `frame`. */
function takeAll(memory: SharedMemory): Buffer[] {
  const taken: Buffer[] = [];
  for (let copy = memory.keep(frame); copy !== undefined; copy = memory.keep(frame)) taken.push(copy);
  return taken;
}

describe("SharedMemory", () => {
  it("copies a large request into memory that other threads see", () => {
    const copy = new SharedMemory().keep(frame);
    assert.ok(copy?.buffer instanceof SharedArrayBuffer);
    assert.deepEqual(Buffer.from(copy), frame);
  });

  it("leaves small and huge requests to others", () => {
    const memory = new SharedMemory();
    assert.equal(memory.keep(Buffer.alloc(sharedFrameBytesMin - 1)), undefined);
    assert.equal(memory.keep(Buffer.alloc(sharedFrameBytesMax + 1)), undefined);
    for (const bytes of [sharedFrameBytesMin, sharedFrameBytesMin + 1, 100_000, sharedFrameBytesMax])
      assert.equal(memory.keep(Buffer.alloc(bytes))?.length, bytes);
  });

  it("uses memory again once its request is done, and not before", () => {
    const memory = new SharedMemory();
    const first = memory.keep(frame) as Buffer;
    const second = memory.keep(frame) as Buffer;
    assert.notEqual(first.buffer, second.buffer);
    memory.giveBack(first);
    memory.giveBack(first);
    assert.equal(memory.keep(frame)?.buffer, first.buffer);
    assert.notEqual(memory.keep(frame)?.buffer, first.buffer, "given back twice, it is still spare only once");
  });

  it("does not use memory again that a thread may still read", () => {
    const memory = new SharedMemory();
    const hung = memory.keep(frame) as Buffer;
    memory.abandon(hung);
    memory.giveBack(hung);
    assert.equal(memory.bytes, 0);
    assert.notEqual(memory.keep(frame)?.buffer, hung.buffer);
  });

  it("ignores bytes of other memory", () => {
    const memory = new SharedMemory();
    memory.giveBack(frame);
    memory.giveBack(Buffer.from(new SharedArrayBuffer(100_000)));
    assert.equal(memory.bytes, 0);
  });

  it("takes no more than its bound, and counts what goes without", () => {
    const memory = new SharedMemory();
    const taken = takeAll(memory);
    assert.ok(memory.bytes <= sharedFramesBytesMax && memory.bytes > sharedFramesBytesMax - 200_000);
    assert.equal(memory.counters.unshared, 1);
    memory.giveBack(taken[0] as Buffer);
    assert.ok(memory.keep(frame));
  });

  it("lends a part of its memory for unfinished requests, so that whole ones get the rest", () => {
    const memory = new SharedMemory();
    const lent: Buffer[] = [];
    for (let body = memory.lend(sharedFrameBytesMax); body !== undefined; body = memory.lend(sharedFrameBytesMax))
      lent.push(body);
    assert.equal(lent.length * sharedFrameBytesMax, largeBodiesBytesMax.proven);
    const whole = memory.keep(lent[0] as Buffer) as Buffer;
    assert.equal(whole, lent[0]);
    assert.ok(memory.keep(Buffer.alloc(sharedFrameBytesMax)));
    assert.ok(memory.lend(sharedFrameBytesMax), "a whole request is not lent any more");
    assert.equal(memory.lend(sharedFrameBytesMax), undefined);
    memory.settle(lent[1] as Buffer);
    assert.ok(memory.lend(sharedFrameBytesMax), "a discarded request is not lent any more");
  });

  it("gives up smaller spare buffers for a larger one, at most once a second, and none for nothing", () => {
    let nowMs = 0;
    const memory = new SharedMemory(() => nowMs);
    const taken = takeAll(memory);
    for (const copy of taken.splice(0, 10)) memory.giveBack(copy);
    const large = Buffer.alloc(sharedFrameBytesMax, "l");
    assert.equal(memory.keep(large), undefined, "ten buffers are not enough");
    for (const copy of taken) memory.giveBack(copy);
    assert.ok(memory.keep(large)?.equals(large));
    assert.ok(memory.bytes <= sharedFramesBytesMax);
    assert.equal(memory.keep(large), undefined);
    nowMs += spareForLargerMs;
    assert.ok(memory.keep(large));
    assert.ok(memory.bytes <= sharedFramesBytesMax);
    assert.ok(memory.keep(frame), "what was not needed is still spare");
  });

  it("takes a larger buffer if no more may be made, and gives up all that is spare at rest", () => {
    const memory = new SharedMemory();
    for (const copy of takeAll(memory)) memory.giveBack(copy);
    const small = memory.keep(Buffer.alloc(sharedFrameBytesMin, "s")) as Buffer;
    assert.ok(small.equals(Buffer.alloc(sharedFrameBytesMin, "s")));
    assert.ok(memory.bytes <= sharedFramesBytesMax);
    memory.dropSpare();
    assert.equal(memory.bytes, small.buffer.byteLength);
    assert.ok(memory.keep(Buffer.alloc(sharedFrameBytesMax)));
  });
});
