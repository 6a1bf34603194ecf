import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ipcFrameBytesMax, ipcHeadBytesMax } from "../../src/limits.ts";
import { decodeEvent, encodeEvent, FrameReader, frameEvent, splitEvent } from "../../src/wire/event.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, seedFromClock } from "./random.ts";

const seed = seedFromClock();

function buffers(bodies: readonly Uint8Array[]): Buffer[] {
  return bodies.map((body) => Buffer.from(body));
}

describe("events", () => {
  it("are tag, two line feeds and data; the first pair of line feeds counts", () => {
    const body = encodeEvent("my/t\u00e4g", { text: "a\n\nb", bin: Buffer.of(0xff) });
    assert.equal(splitEvent(body).tag, "my/t\u00e4g");
    assert.deepEqual(
      decodeEvent(body).data,
      new Map<string, unknown>([
        ["text", "a\n\nb"],
        ["bin", Uint8Array.of(0xff)],
      ]),
    );
  });

  it("are refused without separator, with a tag that is not UTF-8, with data that is not a map", () => {
    assert.throws(() => splitEvent(Buffer.from("tag\n")), { code: "WIRE_MALFORMED" });
    assert.throws(() => splitEvent(Buffer.from("ff0a0a80", "hex")), { code: "WIRE_MALFORMED" });
    assert.throws(() => decodeEvent(Buffer.from("tag\n\n\x01", "latin1")), { code: "WIRE_MALFORMED" });
    assert.throws(() => decodeEvent(Buffer.from("tag\n\n")), { code: "WIRE_TRUNCATED" });
  });

  it("have a frame whose body is bin of the smallest form", () => {
    for (const length of [0, 1, 255, 256, 65_535, 65_536]) {
      const body = Buffer.alloc(length, 0x61);
      assert.deepEqual(frameEvent(body), encode({ head: {}, body }, "bin"), `${length}`);
    }
  });
});

describe("FrameReader", () => {
  it("finds the same bodies in any pieces of the stream", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 100; round += 1) {
      const bodies = Array.from({ length: 1 + random.below(8) }, () =>
        random.bytes(random.below(random.below(4) === 0 ? 70_000 : 300)),
      );
      const stream = Buffer.concat(bodies.map(frameEvent));
      const reader = new FrameReader();
      const found: Uint8Array[] = [];
      for (let at = 0; at < stream.length; ) {
        const size = 1 + random.below(random.below(3) === 0 ? 70_000 : 50);
        found.push(...reader.push(stream.subarray(at, at + size)));
        at += size;
      }
      assert.deepEqual(buffers(found), bodies, `seed ${seed} round ${round}`);
    }
  });

  it("gives each body as soon as its last byte has come, and not before", () => {
    const frame = frameEvent(Buffer.from("tag\n\n\x80", "latin1"));
    const reader = new FrameReader();
    for (let at = 0; at < frame.length - 1; at += 1) assert.deepEqual(reader.push(frame.subarray(at, at + 1)), []);
    assert.equal(reader.push(frame.subarray(-1)).length, 1);
  });

  it("gives bodies that stay as they are while more is pushed", () => {
    const reader = new FrameReader();
    const first = frameEvent(Buffer.alloc(100, 1));
    const second = frameEvent(Buffer.alloc(100, 2));
    const stream = Buffer.concat([first, second, first]);
    const found = [
      ...reader.push(stream.subarray(0, 150)),
      ...reader.push(stream.subarray(150, 260)),
      ...reader.push(stream.subarray(260)),
    ];
    assert.deepEqual(buffers(found), [Buffer.alloc(100, 1), Buffer.alloc(100, 2), Buffer.alloc(100, 1)]);
  });

  it("takes a body in text or raw, members in any order, and no head", () => {
    const frames = [
      { body: "tag" },
      { body: Buffer.from("tag"), head: {} },
      { head: { any: [1] }, body: "tag", more: 1 },
    ];
    for (const frame of frames)
      assert.deepEqual(buffers(new FrameReader().push(encode(frame, "bin"))), [Buffer.from("tag")]);
  });

  it("refuses a body over its maximum from its header alone", () => {
    const announced = (bytes: number) => {
      const head = Buffer.concat([Buffer.from("82a46865616480a4626f6479c6", "hex"), Buffer.alloc(4)]);
      head.writeUInt32BE(bytes, head.length - 4);
      return head;
    };
    assert.deepEqual(new FrameReader().push(announced(ipcFrameBytesMax)), []);
    assert.throws(() => new FrameReader().push(announced(ipcFrameBytesMax + 1)), { code: "WIRE_TOO_LARGE" });
    assert.equal(new FrameReader(100).push(frameEvent(Buffer.alloc(100))).length, 1);
    assert.throws(() => new FrameReader(100).push(frameEvent(Buffer.alloc(101))), { code: "WIRE_TOO_LARGE" });
    assert.throws(() => new FrameReader(20).push(encode({ body: "x".repeat(21) }, "bin")), { code: "WIRE_TOO_LARGE" });
  });

  it("does not wait for ever for a head that never ends", () => {
    const headWith = (bytes: number) =>
      Buffer.concat([Buffer.from("82a468656164c6ffffffff", "hex"), Buffer.alloc(bytes - 11)]);
    assert.deepEqual(new FrameReader().push(headWith(ipcHeadBytesMax)), []);
    assert.throws(() => new FrameReader().push(headWith(ipcHeadBytesMax + 1)), { code: "WIRE_TOO_LARGE" });
  });

  it("refuses bytes that are not a frame", () => {
    for (const hex of ["c0", "90", "80", "81a46865616480", "81a4626f647905", "de0001a4626f6479c40161"]) {
      assert.throws(() => new FrameReader().push(Buffer.from(hex, "hex")), { code: "WIRE_MALFORMED" }, hex);
    }
  });

  it("answers random bytes with bodies or a typed error", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 10_000; round += 1) {
      const frame = frameEvent(random.bytes(20));
      frame[random.below(frame.length)] = random.below(256);
      codeThrown(() => new FrameReader().push(frame), ["WIRE_"]);
      codeThrown(() => new FrameReader().push(random.bytes(random.below(60))), ["WIRE_"]);
      codeThrown(() => decodeEvent(random.bytes(random.below(40))), ["WIRE_"]);
    }
  });
});
