import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lentBodyBytesMax, spareBodiesBytesMax } from "../../../../src/limits.ts";
import { BodyBuffers, kept } from "../../../../src/transport/zmtp/bodies/body-buffers.ts";

const none = Buffer.alloc(0);
const kibibyte = 1024;

/** A body of `bytes` that came in pieces of `step`. Each byte depends on its offset. */
function fill(bodies: BodyBuffers, bytes: number, step: number): Buffer {
  let body: Buffer = none;
  for (let filled = 0; filled < bytes; filled += step) {
    const needed = Math.min(bytes, filled + step);
    if (needed > body.length) body = bodies.grow(body, filled, needed, bytes);
    for (let at = filled; at < needed; at += 1) body[at] = at % 251;
  }
  return body;
}

describe("kept", () => {
  it("copies what others write over: small parts and shared memory", () => {
    const large = Buffer.alloc(lentBodyBytesMax + 1);
    assert.equal(kept(large), large);
    for (const reused of [Buffer.alloc(9), Buffer.from(new SharedArrayBuffer(lentBodyBytesMax + 1))])
      assert.notEqual(kept(reused).buffer, reused.buffer);
  });
});

describe("BodyBuffers", () => {
  for (const bytes of [1, 20_000, 100_000, lentBodyBytesMax, lentBodyBytesMax + 1, 5 * lentBodyBytesMax]) {
    it(`keeps the bytes of a body of ${bytes} that comes in pieces`, () => {
      const body = fill(new BodyBuffers(), bytes, 60_000);
      for (let at = 0; at < bytes; at += 1) if (body[at] !== at % 251) assert.fail(`byte ${at}`);
    });
  }

  it("has memory for what came, not for what was announced", () => {
    const bodies = new BodyBuffers();
    const announced = 95 * lentBodyBytesMax;
    assert.equal(bodies.grow(none, 0, 60_000, announced).length, 64 * kibibyte);
    const large = bodies.grow(Buffer.alloc(lentBodyBytesMax), lentBodyBytesMax, lentBodyBytesMax + 1, announced);
    assert.equal(large.length, 2 * lentBodyBytesMax);
    assert.equal(large.buffer.byteLength, 2 * lentBodyBytesMax);
  });

  it("has no more than twice the memory that a small body needs", () => {
    for (const announced of [2, 600, 20_000, 600_000]) {
      const { length } = new BodyBuffers().grow(none, 0, 1, announced);
      assert.ok(length <= Math.max(512, 2 * announced) && length <= 16 * kibibyte, `${length} for ${announced}`);
    }
  });

  it("grows a large body where it lies", () => {
    const bodies = new BodyBuffers();
    const before = fill(bodies, 2 * lentBodyBytesMax, lentBodyBytesMax);
    const first = bodies.grow(before.subarray(0, 0), 0, 2 * lentBodyBytesMax, 9 * lentBodyBytesMax);
    const grown = bodies.grow(first, 2 * lentBodyBytesMax, 3 * lentBodyBytesMax, 9 * lentBodyBytesMax);
    assert.equal(grown.buffer, first.buffer);
    assert.equal(grown.length, 4 * lentBodyBytesMax);
  });

  it("uses small buffers again, whose messages are over", () => {
    const bodies = new BodyBuffers();
    const first = fill(bodies, 100_000, 60_000);
    bodies.give(first);
    const again = fill(bodies, 100_000, 60_000);
    assert.equal(again.buffer, first.buffer);
    const beside = fill(bodies, 100_000, 60_000);
    assert.notEqual(beside.buffer, again.buffer);
  });

  it("keeps no more than its bound for later", () => {
    const bodies = new BodyBuffers();
    for (let count = 0; count < 20; count += 1) bodies.give(Buffer.alloc(lentBodyBytesMax));
    bodies.give(Buffer.alloc(2 * lentBodyBytesMax));
    assert.equal(bodies.spareBytes, spareBodiesBytesMax);
  });

  it("has a part outlive the buffer that it came in", () => {
    const bodies = new BodyBuffers();
    const body = fill(bodies, 50_000, 50_000);
    const part = kept(body.subarray(0, 50_000));
    bodies.give(body);
    fill(bodies, 50_000, 50_000).fill(0xee);
    for (let at = 0; at < part.length; at += 1) if (part[at] !== at % 251) assert.fail(`byte ${at}`);
    const large = fill(bodies, 2 * lentBodyBytesMax, lentBodyBytesMax);
    assert.equal(kept(large), large);
  });
});
