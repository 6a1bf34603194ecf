/** Messages of a bench and its agents as bytes: whole in pieces of any size, and refused from their header if they are too large. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { beat, FrameReader, framesOf, messageBytesMax, pieceBytesMax } from "../../../bench/agents/frames.ts";

function readerOf(bytesMax = messageBytesMax): { reader: FrameReader; messages: unknown[] } {
  const messages: unknown[] = [];
  return { reader: new FrameReader(bytesMax, (message) => messages.push(message)), messages };
}

function header(size: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(size);
  return bytes;
}

describe("frames", () => {
  it("come whole at every byte boundary, with beats between them", () => {
    const message = { kind: "plan", lane: "é", plannedMs: Float64Array.of(0, 0.5), none: undefined, atMs: 1.8e12 };
    const { reader, messages } = readerOf();
    const bytes = Buffer.concat([beat, ...framesOf(message), beat, ...framesOf({ kind: "clock" })]);
    for (const byte of bytes) reader.push(Buffer.of(byte));
    assert.deepEqual(messages, [message, { kind: "clock" }]);
  });

  it("carry a schedule of many pieces", () => {
    const plannedMs = Float64Array.from({ length: 500_000 }, (_, index) => index / 3);
    const frames = framesOf({ plannedMs });
    assert.ok(frames.length > 6, `${frames.length}`);
    const { reader, messages } = readerOf();
    for (const frame of frames) reader.push(frame);
    assert.deepEqual(messages, [{ plannedMs }]);
  });

  it("are refused from the header of a piece or a message that is too large", () => {
    readerOf().reader.push(header(pieceBytesMax));
    assert.throws(() => readerOf().reader.push(header(pieceBytesMax + 1)), { code: "WIRE_TOO_LARGE" });
    assert.throws(() => readerOf(100).reader.push(header(101)), { code: "WIRE_TOO_LARGE" });
    const { reader } = readerOf(100);
    reader.push(Buffer.concat([header(0x8000_0000 + 60), Buffer.alloc(60)]));
    assert.throws(() => reader.push(header(41)), { code: "WIRE_TOO_LARGE" });
  });

  it("are refused if they are not MessagePack", () => {
    assert.throws(() => readerOf().reader.push(Buffer.concat([header(2), Buffer.of(0xdd, 1)])), {
      code: "WIRE_MALFORMED",
    });
  });
});
