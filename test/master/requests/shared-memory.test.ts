import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharedFrameBytesMax, sharedFrameBytesMin, sharedFramesBytesMax } from "../../../src/limits.ts";
import { SharedMemory } from "../../../src/master/requests/shared-memory.ts";

const frame = Buffer.alloc(100_000, "f");

/** Takes all of the memory in pieces of `frame`. */
function takeAll(memory: SharedMemory): Buffer[] {
  const taken: Buffer[] = [];
  for (let copy = memory.copyOf(frame); copy !== undefined; copy = memory.copyOf(frame)) taken.push(copy);
  return taken;
}

describe("SharedMemory", () => {
  it("copies a large request into memory that other threads see", () => {
    const copy = new SharedMemory().copyOf(frame);
    assert.ok(copy?.buffer instanceof SharedArrayBuffer);
    assert.deepEqual(Buffer.from(copy), frame);
  });

  it("leaves small and huge requests to others", () => {
    const memory = new SharedMemory();
    assert.equal(memory.copyOf(Buffer.alloc(sharedFrameBytesMin - 1)), undefined);
    assert.equal(memory.copyOf(Buffer.alloc(sharedFrameBytesMax + 1)), undefined);
    for (const bytes of [sharedFrameBytesMin, sharedFrameBytesMin + 1, 100_000, sharedFrameBytesMax])
      assert.equal(memory.copyOf(Buffer.alloc(bytes))?.length, bytes);
  });

  it("uses memory again once its request is done, and not before", () => {
    const memory = new SharedMemory();
    const first = memory.copyOf(frame) as Buffer;
    const second = memory.copyOf(frame) as Buffer;
    assert.notEqual(first.buffer, second.buffer);
    memory.giveBack(first);
    memory.giveBack(first);
    assert.equal(memory.copyOf(frame)?.buffer, first.buffer);
    assert.notEqual(memory.copyOf(frame)?.buffer, first.buffer, "given back twice, it is still spare only once");
  });

  it("does not use memory again that a thread may still read", () => {
    const memory = new SharedMemory();
    const hung = memory.copyOf(frame) as Buffer;
    memory.abandon(hung);
    memory.giveBack(hung);
    assert.equal(memory.bytes, 0);
    assert.notEqual(memory.copyOf(frame)?.buffer, hung.buffer);
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
    assert.ok(memory.copyOf(frame));
  });

  it("takes a larger buffer if no more may be made, and gives up all that is spare at rest", () => {
    const memory = new SharedMemory();
    for (const copy of takeAll(memory)) memory.giveBack(copy);
    const small = memory.copyOf(Buffer.alloc(sharedFrameBytesMin, "s")) as Buffer;
    assert.ok(small.equals(Buffer.alloc(sharedFrameBytesMin, "s")));
    assert.ok(memory.bytes <= sharedFramesBytesMax);
    assert.equal(
      memory.copyOf(Buffer.alloc(sharedFrameBytesMax)),
      undefined,
      "smaller buffers do not make a large one",
    );
    memory.dropSpare();
    assert.equal(memory.bytes, small.buffer.byteLength);
    assert.ok(memory.copyOf(Buffer.alloc(sharedFrameBytesMax)));
  });
});
