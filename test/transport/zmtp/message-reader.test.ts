import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { sharedHeadBytes } from "../../../src/limits.ts";
import { BodyBuffers } from "../../../src/transport/zmtp/bodies/body-buffers.ts";
import { SharedMemory } from "../../../src/transport/zmtp/bodies/shared-memory.ts";
import { commandFrame, type Framing, replyFrame } from "../../../src/transport/zmtp/frames.ts";
import {
  largeHeadBytes,
  MessageReader,
  type MessageReaderOptions,
  type MessageVerdict,
} from "../../../src/transport/zmtp/message-reader.ts";

function openReader(options: Partial<MessageReaderOptions> = {}) {
  const messages: string[][] = [];
  const commands: string[] = [];
  const reader = new MessageReader({
    framing: "new",
    partsMax: 4,
    messageBytesMax: 100_000,
    commandBytesMax: 100,
    bodies: new BodyBuffers(),
    largeBytes: 50_000,
    onMessage: (parts): MessageVerdict => {
      messages.push(parts.map((part) => part.toString("latin1")));
      return "go";
    },
    onCommand: (body) => {
      commands.push(body.toString("latin1"));
      return "go";
    },
    mayBeLarge: () => true,
    mayShare: () => true,
    ...options,
  });
  return { reader, messages, commands };
}

const text = (bytes: number) => "x".repeat(bytes);
const part = (body: string, isMore: boolean) =>
  Buffer.concat([Buffer.of(isMore ? 1 : 0, body.length), Buffer.from(body)]);

describe("MessageReader", () => {
  for (const framing of ["new", "old"] satisfies Framing[]) {
    it(`gives the same messages wherever the bytes are cut (${framing} framing)`, () => {
      const bodies = ["", "a", text(253), text(254), text(255), text(256), text(20_000)];
      const stream = Buffer.concat(bodies.map((body) => replyFrame(Buffer.from(body), framing)));
      const wanted = bodies.map((body) => ["", body]);
      for (const step of [1, 2, 3, 7, 11, 100, 4_096, stream.length]) {
        const { reader, messages } = openReader({ framing });
        for (let at = 0; at < stream.length; at += step) {
          // The reader may not keep a part of a chunk, because the chunk is overwritten.
          const chunk = Buffer.from(stream.subarray(at, at + step));
          assert.deepEqual(reader.push(chunk), { used: chunk.length });
          chunk.fill(0xee);
        }
        assert.deepEqual(messages, wanted, `in steps of ${step}`);
        assert.deepEqual([reader.isUnfinished, reader.heldBytes], [false, 0]);
      }
    });
  }

  it("reads messages that come in pieces into the same memory, one after the other, and after one that was given up", () => {
    const memory: unknown[] = [];
    const bodies = new BodyBuffers();
    const onMessage = (parts: readonly Buffer[]): MessageVerdict => {
      memory.push(parts.at(-1)?.buffer);
      return "go";
    };
    const stream = replyFrame(Buffer.alloc(40_000), "new");
    const push = (reader: MessageReader, bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += 10_000) reader.push(bytes.subarray(at, at + 10_000));
    };
    const first = openReader({ bodies, onMessage });
    push(first.reader, stream);
    push(first.reader, stream);
    push(first.reader, stream.subarray(0, 39_000));
    assert.equal(bodies.spareBytes, 16 * 1024 + 32 * 1024);
    first.reader.close();
    push(openReader({ bodies, onMessage }).reader, stream);
    assert.equal(memory.length, 3);
    assert.deepEqual([memory[1] === memory[0], memory[2] === memory[0]], [true, true]);
  });

  it("says where the rest of a large body belongs once its first bytes have come, and copies none that was written there", () => {
    const memory = new SharedMemory();
    const kept: (Buffer | undefined)[] = [];
    const onMessage = (parts: readonly Buffer[]): MessageVerdict => {
      kept.push(memory.keep(parts.at(-1) as Buffer));
      return "go";
    };
    const body = randomBytes(40_000);
    const stream = replyFrame(body, "new");
    const headBytes = stream.length - body.length;
    const { reader } = openReader({ memory, onMessage });
    assert.equal(reader.place(1_000), undefined);
    reader.push(stream.subarray(0, headBytes + 9_000));
    for (let at = 9_000; at < body.length; at += 30_000) {
      const place = reader.place(30_000) as Buffer;
      assert.equal(place.length, Math.min(30_000, body.length - at), "no byte of the next message is read there");
      body.copy(place, 0, at);
      reader.push(place);
    }
    assert.equal(reader.place(1_000), undefined);
    const [first] = kept;
    assert.ok(first?.buffer instanceof SharedArrayBuffer && first.equals(body));
    // The same memory serves the next body only when the request that has it is done.
    const startNext = () => {
      const next = openReader({ memory, onMessage }).reader;
      next.push(stream.subarray(0, headBytes + 9_000));
      return { next, buffer: next.place(1)?.buffer };
    };
    const beside = startNext();
    assert.notEqual(beside.buffer, first.buffer);
    memory.giveBack(first);
    beside.next.close();
    const after = [startNext().buffer, startNext().buffer];
    assert.ok(after.includes(first.buffer) && after.includes(beside.buffer as ArrayBuffer), "a discarded body's, too");
    assert.equal(memory.bytes, 2 * first.buffer.byteLength);
  });

  it("moves a body into shared memory only when enough of it has come", () => {
    const memory = new SharedMemory();
    const { reader } = openReader({ memory });
    const stream = replyFrame(Buffer.alloc(40_000, "b"), "new");
    reader.push(stream.subarray(0, 1_100));
    assert.equal(reader.place(1), undefined);
    assert.equal(memory.bytes, 0);
    reader.push(stream.subarray(1_100, stream.length - 40_000 + sharedHeadBytes));
    assert.ok(reader.place(1)?.buffer instanceof SharedArrayBuffer);
  });

  it("reads a body elsewhere if it is small, if its sender may not have memory for it, or if all is in use", () => {
    const start = (bytes: number, options: Partial<MessageReaderOptions>) => {
      const { reader, messages } = openReader(options);
      const stream = replyFrame(Buffer.alloc(bytes, "b"), "new");
      reader.push(stream.subarray(0, bytes - 1));
      const place = reader.place(1);
      reader.push(stream.subarray(bytes - 1));
      assert.deepEqual(messages, [["", "b".repeat(bytes)]]);
      return place;
    };
    const memory = new SharedMemory();
    assert.ok(start(40_000, { memory }));
    assert.equal(start(4_000, { memory }), undefined);
    assert.equal(start(40_000, { memory, mayShare: () => false }), undefined);
    while (memory.lend(40_000) !== undefined);
    assert.equal(start(40_000, { memory }), undefined);
  });

  it("keeps a part before the last although its chunk is written over, and refuses a large one by its head", () => {
    const { reader, messages } = openReader();
    const chunk = part("first", true);
    reader.push(chunk);
    chunk.fill(0xee);
    reader.push(part("last", false));
    assert.deepEqual(messages, [["first", "last"]]);
    const head = Buffer.alloc(9);
    head[0] = 3;
    head.writeUInt32BE(101, 5);
    assert.deepEqual(openReader().reader.push(head), { fault: "malformed" });
  });

  it("refuses the part that is one too many, from its head alone", () => {
    const { reader } = openReader();
    const parts = Buffer.concat(Array.from({ length: 4 }, () => part("", true)));
    assert.deepEqual(reader.push(parts), { used: 8 });
    assert.deepEqual(reader.push(Buffer.of(1, 0)), { fault: "parts" });
  });

  it("refuses a message over its bound from the head of the part that makes it so", () => {
    const { reader } = openReader({ messageBytesMax: 100 });
    reader.push(part(text(70), true));
    assert.deepEqual(reader.push(Buffer.of(0, 31)), { fault: "messageBytes" });
    const huge = Buffer.from([2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    assert.deepEqual(openReader().reader.push(huge), { fault: "messageBytes" });
  });

  it("holds only the bytes that have come, not all announced bytes", () => {
    const { reader } = openReader({ messageBytesMax: 2 ** 40 });
    const head = Buffer.alloc(9);
    head[0] = 2;
    head.writeBigUInt64BE(2n ** 39n, 1);
    reader.push(head);
    reader.push(Buffer.alloc(1_000));
    assert.ok(reader.isUnfinished);
    assert.ok(reader.heldBytes < 40_000, `${reader.heldBytes} bytes`);
    for (let index = 0; index < 100; index += 1) reader.push(Buffer.alloc(1_000));
    assert.ok(reader.heldBytes <= 2 * 101_000, `${reader.heldBytes} bytes`);
  });

  it("asks about a large part when its first bytes are there, and once", () => {
    const asked: [number, number][] = [];
    const mayBeLarge = (head: Buffer, bytes: number) => asked.push([head.length, bytes]) > 1;
    const { reader } = openReader({ mayBeLarge });
    const head = Buffer.alloc(9);
    head[0] = 2;
    head.writeUInt32BE(60_000, 5);
    assert.deepEqual(reader.push(head), { used: 9 });
    assert.deepEqual(reader.push(Buffer.alloc(largeHeadBytes - 1)), { used: largeHeadBytes - 1 });
    assert.deepEqual(asked, []);
    assert.deepEqual(reader.push(Buffer.alloc(1)), { fault: "refusedLarge" });
    assert.deepEqual(asked, [[largeHeadBytes, 60_000]]);
    const whole = openReader({ mayBeLarge: () => false });
    assert.deepEqual(whole.reader.push(Buffer.concat([head, Buffer.alloc(60_000)])), { fault: "refusedLarge" });
    assert.deepEqual(whole.messages, []);
  });

  it("stops after the message at which its owner stops it, and goes on there", () => {
    const seen: string[] = [];
    const { reader } = openReader({
      onMessage: (parts) => {
        seen.push(String(parts[0]));
        return seen.length === 2 ? "stop" : "go";
      },
    });
    const stream = Buffer.concat(["a", "b", "c"].map((body) => part(body, false)));
    assert.deepEqual(reader.push(stream), { used: 6 });
    assert.deepEqual(seen, ["a", "b"]);
    assert.deepEqual(reader.push(stream.subarray(6)), { used: 3 });
    assert.deepEqual(seen, ["a", "b", "c"]);
  });

  it("refuses flags that mean nothing, a command within a message, and a large command", () => {
    assert.deepEqual(openReader().reader.push(Buffer.of(0x10, 0)), { fault: "malformed" });
    assert.deepEqual(openReader().reader.push(Buffer.of(5, 0)), { fault: "malformed" });
    const ping = commandFrame("PING", Buffer.alloc(2));
    assert.deepEqual(openReader().reader.push(Buffer.concat([part("", true), ping])), { fault: "malformed" });
    assert.deepEqual(openReader().reader.push(commandFrame("PING", Buffer.alloc(120))), { fault: "malformed" });
    const { reader, commands } = openReader();
    assert.deepEqual(reader.push(ping), { used: ping.length });
    assert.deepEqual(commands, ["\x04PING\0\0"]);
  });

  it("neither throws nor holds more than it got, for any bytes", () => {
    const seed = randomBytes(4).readUInt32BE();
    let state = seed;
    const random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
    for (let round = 0; round < 3_000; round += 1) {
      const { reader } = openReader({ framing: round % 2 === 0 ? "new" : "old" });
      let given = 0;
      for (let chunks = 0; chunks < 20; chunks += 1) {
        const chunk = Buffer.from(
          Array.from({ length: 1 + Math.floor(random() * 30) }, () => random() * (random() < 0.7 ? 8 : 256)),
        );
        given += chunk.length;
        if ("fault" in reader.push(chunk)) break;
        assert.ok(reader.heldBytes <= 16 * 1024 + 2 * given, `seed ${seed}`);
      }
    }
  });
});
