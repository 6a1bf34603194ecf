import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { itemKinds, packBatch, unpackBatch } from "../../../src/workers/batch/frames.ts";

describe("a batch on its way to a worker", () => {
  it("brings every item back with its bytes, kind and seal", () => {
    const items = [
      { kind: itemKinds.ordinary, bytes: Buffer.from("first") },
      { kind: itemKinds.opened, bytes: Buffer.alloc(0), version: 2, sealKey: "former" as const },
      { kind: itemKinds.overMinionsMax, bytes: Buffer.from([0, 255, 10]) },
    ];
    const received = unpackBatch(packBatch(items));
    assert.deepEqual(
      received.map((item) => [item.kind, item.version, item.sealKey, item.bytes.toString("hex")]),
      [
        [0, 0, "current", Buffer.from("first").toString("hex")],
        [1, 2, "former", ""],
        [2, 0, "current", "00ff0a"],
      ],
    );
  });

  it("keeps the algorithm that an older minion asked for, and whether it is one that this master knows", () => {
    const algorithms = [undefined, "OAEP-SHA1", "OAEP-SHA224", "ROT13"];
    const items = algorithms.map((encAlgorithm) => ({ kind: itemKinds.opened, bytes: Buffer.alloc(1), encAlgorithm }));
    const received = unpackBatch(packBatch(items)).map((item) => item.encAlgorithm);
    assert.deepEqual(received, [undefined, "OAEP-SHA1", "OAEP-SHA224", "unknown"]);
  });

  it("copies, so that the sender's frames survive the transfer", () => {
    const bytes = Buffer.from("keep me");
    const { buffer } = packBatch([{ kind: itemKinds.ordinary, bytes }]);
    structuredClone(buffer, { transfer: [buffer] });
    assert.equal(bytes.toString(), "keep me");
  });

  it("shares bytes in shared memory instead of copying them", () => {
    const shared = Buffer.from(new SharedArrayBuffer(8), 2, 4);
    const items = ["before", shared, "behind"].map((text) => ({ kind: itemKinds.ordinary, bytes: Buffer.from(text) }));
    const packed = packBatch(items.map((item, index) => (index === 1 ? { ...item, bytes: shared } : item)));
    const received = unpackBatch(structuredClone(packed, { transfer: [packed.buffer] }));
    shared.write("live");
    assert.deepEqual(
      received.map(({ bytes }) => bytes.toString()),
      ["before", "live", "behind"],
    );
  });

  it("refuses a table that does not fit its buffer", () => {
    const { buffer, shared } = packBatch([{ kind: itemKinds.ordinary, bytes: Buffer.from("abc") }]);
    const cut = { buffer: buffer.slice(0, buffer.byteLength - 1), shared };
    assert.throws(() => unpackBatch(cut), { code: "WIRE_MALFORMED" });
    const counted = new Uint8Array(4).fill(255);
    assert.throws(() => unpackBatch({ buffer: counted.buffer, shared }), { code: "WIRE_MALFORMED" });
  });

  it("may hold nothing", () => {
    assert.deepEqual(unpackBatch(packBatch([])), []);
  });
});
