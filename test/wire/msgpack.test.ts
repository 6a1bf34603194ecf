import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ExtData, decode as referenceDecode, encode as referenceEncode } from "@msgpack/msgpack";
import { decodedValuesMax, nestingDepthMax, numericKeysMax } from "../../src/limits.ts";
import { DecodeBudget } from "../../src/wire/decoder.ts";
import { decode, decodeAt, encode, type Flavour } from "../../src/wire/msgpack.ts";
import { type Encodable, Ext, Float, Packed, type Value } from "../../src/wire/values.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, randomValue, seedFromClock } from "./random.ts";

const flavours: readonly Flavour[] = ["raw", "bin"];
const seed = seedFromClock();

/** Our value in the reference's types, for comparison. The reference has no Map and no Float. */
function comparable(value: Value): unknown {
  if (value instanceof Float) return value.value;
  if (value instanceof Ext) return new ExtData(value.type, value.data);
  if (Array.isArray(value)) return value.map(comparable);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [String(key), comparable(item)]));
  return value;
}

function nested(depth: number, inner: number): Buffer {
  return Buffer.concat([Buffer.alloc(depth, 0x91), Buffer.of(inner)]);
}

describe("msgpack", () => {
  it("reads back what it wrote, in either flavour", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 500; round += 1) {
      const value = randomValue(random, 4);
      for (const flavour of flavours)
        assert.deepEqual(decode(encode(value, flavour)), value, `seed ${seed} round ${round}`);
    }
  });

  it("agrees with the slow reference on the new flavour, both ways", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 300; round += 1) {
      const value = randomValue(random, 3);
      const bytes = encode(value, "bin");
      const byReference = referenceDecode(bytes, { useBigInt64: false, rawStrings: false });
      const viaReference = decode(
        referenceEncode(comparable(value), { useBigInt64: true, forceIntegerToFloat: false }),
      );
      assert.deepEqual(normal(byReference), normal(comparable(value)), `seed ${seed} round ${round}`);
      assert.deepEqual(normal(comparable(viaReference)), normal(comparable(value)), `seed ${seed} round ${round}`);
    }
  });

  it("agrees with the slow reference on which bytes each raw string holds", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 300; round += 1) {
      const bytes = encode([random.bytes(random.below(70_000 / (round + 1))), "t\u00e9xt"], "raw");
      const ours = decode(bytes, "bytes");
      assert.deepEqual(
        ours,
        referenceDecode(new Uint8Array(bytes), { rawStrings: true }),
        `seed ${seed} round ${round}`,
      );
    }
  });

  it("keeps what JavaScript would blur: int and float, text and bytes, key types and their order", () => {
    const value = new Map<Value, Value>([
      [1, "int key"],
      ["1", "text key"],
      [null, new Float(1)],
      ["one", 1],
      ["bytes", Uint8Array.of(0x61)],
    ]);
    const read = decode(encode(value, "bin"));
    assert.deepEqual(read, value);
    assert.ok(read instanceof Map);
    assert.deepEqual([...read.keys()], [1, "1", null, "one", "bytes"]);
    assert.deepEqual(encode(new Float(1), "raw"), Buffer.from("cb3ff0000000000000", "hex"));
    assert.deepEqual(encode(1, "raw"), Buffer.of(1));
  });

  it("keeps the bytes of a string in which one byte is not UTF-8, and a byte order mark", () => {
    assert.deepEqual(decode(Buffer.from("a3ff6162", "hex")), Uint8Array.of(0xff, 0x61, 0x62));
    const mark = Buffer.from("a4efbbbf61", "hex");
    assert.equal(decode(mark), "\ufeffa");
    assert.deepEqual(encode(decode(mark), "raw"), mark);
  });

  it("gives every string but map keys as bytes when asked to", () => {
    const read = decode(encode({ key: "text", list: ["a"] }, "raw"), "bytes");
    const expected = new Map<Value, Value>([
      ["key", new Uint8Array(Buffer.from("text"))],
      ["list", [new Uint8Array(Buffer.from("a"))]],
    ]);
    assert.deepEqual(read, expected);
  });

  it("leaves undefined members out and writes nil for them in a list", () => {
    const value: Encodable = { kept: 1, gone: undefined, list: [undefined, 2] };
    assert.deepEqual(encode(value, "raw"), encode({ kept: 1, list: [null, 2] }, "raw"));
    assert.deepEqual(encode(new Map([["gone", undefined]]), "raw"), Buffer.of(0x80));
  });

  it("writes integral numbers as ints up to 64 bits, beyond as floats, and wider bigints as decimal text", () => {
    assert.deepEqual(encode(2 ** 63, "raw"), Buffer.from("cf8000000000000000", "hex"));
    assert.deepEqual(encode(2 ** 64, "raw"), Buffer.from("cb43f0000000000000", "hex"));
    assert.deepEqual(encode(-(2 ** 63), "raw"), Buffer.from("d38000000000000000", "hex"));
    assert.deepEqual(encode(2n ** 64n, "raw"), encode("18446744073709551616", "raw"));
    assert.deepEqual(encode(5n, "raw"), Buffer.of(5));
    assert.deepEqual(decode(encode(Number.NaN, "raw")), Number.NaN);
  });

  it("waits for no byte: each truncation is an error, at every byte", () => {
    const value = randomValue(randomFrom(7), 4);
    for (const flavour of flavours) {
      const bytes = encode([value, { a: [1, "x".repeat(40), new Ext(1, Uint8Array.of(1))], f: 1.5 }], flavour);
      for (let end = 0; end < bytes.length; end += 1) {
        assert.throws(() => decode(bytes.subarray(0, end)), { code: "WIRE_TRUNCATED" }, `${flavour} ${end}`);
      }
    }
  });

  it("refuses bytes after the value, and the byte that starts none", () => {
    assert.throws(() => decode(Buffer.of(0xc0, 0xc0)), { code: "WIRE_MALFORMED" });
    assert.throws(() => decode(Buffer.of(0xc1)), { code: "WIRE_MALFORMED" });
    assert.deepEqual(decodeAt(Buffer.of(0xc0, 0x05, 0xc3), 1), { value: 5, end: 2 });
  });

  it("takes nesting up to the limit and refuses one more, reading and writing", () => {
    const deepest = nested(nestingDepthMax - 1, 0x90);
    assert.deepEqual(encode(decode(deepest), "raw"), deepest);
    assert.throws(() => decode(nested(nestingDepthMax, 0x90)), { code: "WIRE_TOO_DEEP" });
    assert.throws(() => decode(nested(1_000_000, 0xc0)), { code: "WIRE_TOO_DEEP" });
    assert.throws(() => encode([decode(deepest)], "raw"), { code: "WIRE_TOO_DEEP" });
    const itself: Encodable[] = [];
    itself.push(itself);
    assert.throws(() => encode(itself, "bin"), { code: "WIRE_TOO_DEEP" });
    assert.deepEqual(encode([1], "raw"), Buffer.from("9101", "hex"), "the writer is fit for use afterwards");
  });

  it("refuses sizes that cannot be true before it allocates for them", () => {
    const before = process.memoryUsage().rss;
    for (const code of ["c6", "c9", "db", "dd", "df"]) {
      assert.throws(() => decode(Buffer.from(`${code}ffffffff00`, "hex")), { code: "WIRE_TRUNCATED" }, code);
    }
    assert.ok(process.memoryUsage().rss - before < 256 * 1024 * 1024);
  });

  it("builds a bounded number of values, and takes a bounded number of keys that are numbers", () => {
    const listOf = (count: number) => {
      const head = Buffer.from("dd00000000", "hex");
      head.writeUInt32BE(count, 1);
      return Buffer.concat([head, Buffer.alloc(count, 0xc0)]);
    };
    const fitting = decode(listOf(decodedValuesMax - 1));
    assert.equal((fitting as Value[]).length, decodedValuesMax - 1);
    assert.throws(() => decode(listOf(decodedValuesMax)), { code: "WIRE_TOO_LARGE" });
    const numbered = (count: number) =>
      encode(new Map(Array.from({ length: count }, (_, index) => [index, null])), "raw");
    assert.equal((decode(numbered(numericKeysMax)) as Map<Value, Value>).size, numericKeysMax);
    assert.throws(() => decode(numbered(numericKeysMax + 1)), { code: "WIRE_TOO_LARGE" });
  });

  it("shares a budget between decodings, and stays used up", () => {
    const budget = new DecodeBudget({ values: 6, collections: 2, numericKeys: 1 });
    decode(encode(new Map([[1, 2]]), "raw"), "text", budget);
    assert.equal(budget.isUsedUp, false);
    assert.throws(() => decode(encode(new Map([[1, 2]]), "raw"), "text", budget), /keys that are numbers: at most 1/);
    assert.equal(budget.isUsedUp, true);
    const collections = new DecodeBudget({ values: 6, collections: 2, numericKeys: 1 });
    assert.throws(() => decode(encode([[], []], "raw"), "text", collections), /lists and maps: at most 2/);
    const values = new DecodeBudget({ values: 2, collections: 2, numericKeys: 1 });
    decode(encode([1], "raw"), "text", values);
    assert.throws(() => decode(encode(1, "raw"), "text", values), /too many values: at most 2/);
  });

  it("answers random bytes with a value or a typed error", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = random.bytes(random.below(60));
      codeThrown(() => decode(bytes), ["WIRE_"]);
      const valid = encode(randomValue(random, 2), "raw");
      if (valid.length > 0) valid[random.below(valid.length)] = random.below(256);
      codeThrown(() => decode(valid, "bytes"), ["WIRE_"]);
    }
  });

  it("gives results that own their memory, of any size, with little of it unused", () => {
    for (const size of [0, 10, 5_000, 1_100_000, 3_000_000]) {
      const bytes = encode([Buffer.alloc(size, 1), "end"], "bin");
      const copy = Buffer.from(bytes);
      const other = encode([Buffer.alloc(size, 2), "end"], "bin");
      assert.notEqual(other.buffer, bytes.buffer, `${size}`);
      assert.ok(bytes.equals(copy), `${size}: written to by the next`);
      assert.ok(bytes.buffer.byteLength * 0.75 <= bytes.length, `${size}: ${bytes.buffer.byteLength} bytes held`);
    }
  });

  it("copies what is packed already, whole or in pieces, also in shared memory", () => {
    const whole = encode(["a", "b".repeat(40), 3], "raw");
    const shared = new Uint8Array(new SharedArrayBuffer(whole.length - 5));
    shared.set(whole.subarray(5));
    for (const packed of [new Packed(whole), new Packed(whole.subarray(0, 5), shared)])
      assert.deepEqual(
        decode(encode({ list: packed, after: 1 }, "raw")),
        new Map<string, Value>([
          ["list", ["a", "b".repeat(40), 3]],
          ["after", 1],
        ]),
      );
  });
});

/** The reference returns 64-bit ints as numbers or bigints; equal amounts count as equal. */
function normal(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof ExtData)
    return { type: value.type, data: Buffer.from(value.data as Uint8Array).toString("hex") };
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normal(item)]));
}
