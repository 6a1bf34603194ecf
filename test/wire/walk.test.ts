import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mapEntriesMax, nestingDepthMax } from "../../src/limits.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { mapEntries, rawToBin, skipValue } from "../../src/wire/walk.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, randomValue, seedFromClock } from "./random.ts";

const seed = seedFromClock();

describe("skipValue", () => {
  it("ends where decoding ends, and is incomplete at every byte before", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 60; round += 1) {
      const bytes = encode(randomValue(random, 3), round % 2 === 0 ? "raw" : "bin");
      const padded = Buffer.concat([Buffer.of(0xc0), bytes, Buffer.of(0xc0)]);
      assert.equal(skipValue(padded, 1), 1 + bytes.length);
      for (let end = 0; end < Math.min(bytes.length, 2_000); end += 1)
        assert.equal(skipValue(bytes.subarray(0, end), 0), -1);
    }
  });

  it("refuses nesting beyond the limit and the byte that starts no value", () => {
    const bomb = (depth: number) => Buffer.concat([Buffer.alloc(depth - 1, 0x91), Buffer.of(0x90)]);
    assert.equal(skipValue(bomb(nestingDepthMax), 0), nestingDepthMax);
    assert.throws(() => skipValue(bomb(nestingDepthMax + 1), 0), { code: "WIRE_TOO_DEEP" });
    assert.throws(() => skipValue(Buffer.alloc(1_000_000, 0x91), 0), { code: "WIRE_TOO_DEEP" });
    assert.throws(() => skipValue(Buffer.from("9201c1", "hex"), 0), { code: "WIRE_MALFORMED" });
  });

  it("takes a count that the bytes cannot hold for incomplete", () => {
    assert.equal(skipValue(Buffer.from("ddffffffffc0c0", "hex"), 0), -1);
    assert.equal(skipValue(Buffer.from("dfffffffffc0c0", "hex"), 0), -1);
    assert.equal(skipValue(Buffer.from("c6ffffffff00", "hex"), 0), -1);
  });
});

describe("mapEntries", () => {
  it("gives each entry's place and its key's text", () => {
    const bytes = encode(
      new Map<string | number | Uint8Array, string>([
        ["cmd", "_return"],
        [7, "x"],
        [Uint8Array.of(0xff), "y"],
      ]),
      "raw",
    );
    const entries = mapEntries(bytes);
    assert.deepEqual(
      entries.map((entry) => entry.key),
      ["cmd", undefined, undefined],
    );
    assert.deepEqual(
      entries.map((entry) => decode(bytes.subarray(entry.valueStart, entry.valueEnd))),
      ["_return", "x", "y"],
    );
    assert.deepEqual(
      entries.map((entry) => decode(bytes.subarray(entry.keyStart, entry.keyEnd))),
      ["cmd", 7, Uint8Array.of(0xff)],
    );
    assert.throws(() => mapEntries(bytes, 2), { code: "WIRE_TOO_LARGE" });
  });

  it("takes bytes in a bin for another key than the text that they spell", () => {
    const bytes = Buffer.from("81c4036964a0c0", "hex").subarray(0, 7);
    assert.deepEqual(
      mapEntries(bytes).map((entry) => entry.key),
      [undefined],
    );
  });

  it("reads keys alike however often it has seen them", () => {
    const keys = Array.from({ length: 3_000 }, (_, index) => `key${index}`);
    const bytes = encode(Object.fromEntries(keys.map((key) => [key, null])), "raw");
    for (const _ of [1, 2])
      assert.deepEqual(
        mapEntries(bytes).map((entry) => entry.key),
        keys,
      );
    const accented = encode({ "schl\u00fcssel": 1, ["\u00fc".repeat(30)]: 2 }, "raw");
    assert.deepEqual(
      mapEntries(accented).map((entry) => entry.key),
      ["schl\u00fcssel", "\u00fc".repeat(30)],
    );
  });

  it("refuses what is not a map, what follows it, and each truncation", () => {
    const bytes = encode({ a: 1, b: ["x", { c: null }] }, "raw");
    for (let end = 0; end < bytes.length; end += 1) {
      assert.throws(() => mapEntries(bytes.subarray(0, end)), { code: "WIRE_TRUNCATED" }, `${end}`);
    }
    assert.throws(() => mapEntries(Buffer.concat([bytes, Buffer.of(0)])), { code: "WIRE_MALFORMED" });
    assert.throws(() => mapEntries(Buffer.of(0x90)), { code: "WIRE_MALFORMED" });
    assert.throws(() => mapEntries(Buffer.from("dfffffffff00", "hex")), { code: "WIRE_TRUNCATED" });
  });

  it("lists a bounded number of entries", () => {
    const mapOf = (count: number) => {
      const head = Buffer.from("df00000000", "hex");
      head.writeUInt32BE(count, 1);
      return Buffer.concat([head, Buffer.alloc(count * 2, 0xc0)]);
    };
    assert.equal(mapEntries(mapOf(mapEntriesMax)).length, mapEntriesMax);
    assert.throws(() => mapEntries(mapOf(mapEntriesMax + 1)), { code: "WIRE_TOO_LARGE" });
  });
});

describe("rawToBin", () => {
  it("gives what decoding and encoding again would give", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 300; round += 1) {
      const raw = encode(randomValue(random, 4), "raw");
      assert.deepEqual(decode(rawToBin(raw)), decode(raw), `seed ${seed} round ${round}`);
      assert.deepEqual(encode(decode(rawToBin(raw)), "bin"), encode(decode(raw), "bin"));
    }
  });

  it("gives the same bytes, uncopied, where every string is UTF-8", () => {
    const raw = encode({ text: "h\u00e9llo", long: "x".repeat(70_000), list: [1, "\u4e16".repeat(40)] }, "raw");
    assert.equal(rawToBin(raw), raw);
  });

  it("rewrites only the strings that are not UTF-8, keys and nested ones too, whatever their size", () => {
    for (const length of [1, 31, 32, 255, 256, 65_535, 65_536]) {
      const bad = Buffer.alloc(length, 0xff);
      const value = new Map<Uint8Array | string, unknown>([
        [bad, [{ deep: bad }, "fine"]],
        ["z", bad],
      ]) as never;
      const rewritten = rawToBin(encode(value, "raw"));
      assert.deepEqual(rewritten, encode(value, "bin"), `${length}`);
    }
  });

  it("answers random bytes with a value or a typed error", (test) => {
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = random.bytes(random.below(60));
      codeThrown(() => rawToBin(bytes), ["WIRE_"]);
      codeThrown(() => mapEntries(bytes), ["WIRE_"]);
      codeThrown(() => skipValue(bytes, 0), ["WIRE_"]);
    }
  });
});
