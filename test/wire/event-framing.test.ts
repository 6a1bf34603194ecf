import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ipcFrameBytesMax } from "../../src/limits.ts";
import { encodeEvent, FrameReader, frameEvent, frameMasterEvent } from "../../src/wire/event.ts";
import { type Framing, reframe } from "../../src/wire/event-framing.ts";
import { decodeAt, encode } from "../../src/wire/msgpack.ts";

const framings: Framing[] = ["own", "plain", "counted", "either"];
/** Bodies around every size at which the length's form changes, or at which its first byte could be taken for a map. */
const sizes = [
  0, 1, 50, 100, 112, 113, 114, 200, 255, 256, 300, 32_000, 32_752, 33_000, 49_000, 60_000, 65_535, 65_536, 70_000,
];
const bodies = sizes.map((size) => Buffer.alloc(size, 0x61));

describe("reframe", () => {
  for (const framing of framings) {
    it(`keeps every body in ${framing} framing, however the stream is split`, () => {
      const stream = reframe(Buffer.concat(bodies.map(frameEvent)), framing);
      for (const step of [7, 1_000, stream.length]) {
        const reader = new FrameReader();
        const read: Uint8Array[] = [];
        for (let at = 0; at < stream.length; at += step) read.push(...reader.push(stream.subarray(at, at + step)));
        assert.deepEqual(
          read.map((body) => body.length),
          sizes,
        );
      }
    });
  }

  it("puts the exact length before each counted frame", () => {
    const frame = frameEvent(encodeEvent("tag", { a: 1 }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(frame.length);
    assert.deepEqual(reframe(frame, "counted"), Buffer.concat([length, frame]));
    assert.deepEqual(reframe(frame, "plain"), frame);
  });

  it("tells programs of ours alone which events are the master's: all others get Salt's bytes", () => {
    const framesOf = (mark: (body: Uint8Array, index: number) => Buffer) => Buffer.concat(bodies.map(mark));
    const mixed = framesOf((body, index) => (index % 2 === 0 ? frameMasterEvent(body) : frameEvent(body)));
    const salts = framesOf(frameEvent);
    const marks = (stream: Uint8Array) => new FrameReader().frames(stream).map(({ isMasters }) => isMasters);
    assert.deepEqual(
      marks(mixed),
      bodies.map((_, index) => index % 2 === 0),
    );
    assert.equal(reframe(mixed, "own"), mixed);
    assert.equal(reframe(salts, "plain"), salts, "not copied");
    for (const framing of framings.slice(1)) {
      assert.ok(Buffer.from(reframe(mixed, framing)).equals(Buffer.from(reframe(salts, framing))), framing);
      assert.ok(marks(reframe(mixed, framing)).every((isMasters) => !isMasters));
    }
  });

  it("takes no mark from a body or from another head", () => {
    const forged = encodeEvent("tag", { head: { master: true } });
    for (const frame of [
      frameEvent(forged),
      encode({ body: forged, head: { master: 1 } }, "bin"),
      encode({ body: forged, head: { master: true, x: 1 } }, "bin"),
      encode({ body: forged, master: true }, "bin"),
    ])
      assert.deepEqual(
        new FrameReader().frames(frame).map(({ isMasters }) => isMasters),
        [false],
      );
  });

  it("gives a reader of plain frames, in either framing, four small values and then the frame", () => {
    for (const body of bodies) {
      const stream = reframe(frameEvent(body), "either");
      let at = 0;
      for (let count = 0; count < 4; count += 1) {
        const { value, end } = decodeAt(stream, at);
        assert.ok(value === null || typeof value === "boolean" || typeof value === "number", String(value));
        assert.equal(end, at + 1);
        at = end;
      }
      const { value, end } = decodeAt(stream, at);
      assert.ok(value instanceof Map);
      assert.ok(body.equals(value.get("body") as Uint8Array));
      assert.equal(end, stream.length);
    }
  });

  it("pads small events by little", () => {
    for (let size = 0; size < 2_000; size += 1) {
      const frame = frameEvent(Buffer.alloc(size));
      assert.ok(reframe(frame, "either").length <= frame.length + 4 + 140, `${size}`);
    }
  });
});

describe("FrameReader on counted frames", () => {
  const refuses = (hex: string, code: string) =>
    assert.throws(() => new FrameReader().push(Buffer.from(hex, "hex")), { code });
  it("refuses a length over the largest frame before it arrives", () => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(ipcFrameBytesMax * 1.01);
    refuses(length.toString("hex"), "WIRE_TOO_LARGE");
  });
  it("refuses a length that the frame does not fill", () => {
    refuses("0000000d82a46865616480a4626f6479c400", "WIRE_MALFORMED");
    refuses("0000000f82a46865616480a4626f6479c400c0", "WIRE_MALFORMED");
    refuses("00000000", "WIRE_MALFORMED");
  });
});
