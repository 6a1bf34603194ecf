import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { packedEntries, pickEntries } from "../../src/wire/pick.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { randomFrom, randomValue, seedFromClock } from "./random.ts";

describe("pickEntries", () => {
  it("gives what decoding the whole would give of the wanted entries", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const keys: Value[] = ["os", "k".repeat(40), 1, -7, true, null, 1.5, "é", ""];
    for (let round = 0; round < 500; round += 1) {
      const map: ValueMap = new Map();
      for (const key of keys) if (random.below(2) === 0) map.set(key, randomValue(random, 3));
      const bytes = encode(map, random.below(2) === 0 ? "raw" : "bin");
      const wanted = new Set(keys.filter(() => random.below(3) === 0));
      const whole = decode(bytes) as ValueMap;
      const expected = new Map([...whole].filter(([key]) => wanted.has(key)));
      assert.deepEqual(pickEntries(bytes, wanted), expected, `seed ${seed}`);
    }
  });

  it("refuses a value that is not a map, and a map that ends too soon", () => {
    assert.throws(() => pickEntries(encode([1], "bin"), new Set()), { code: "WIRE_MALFORMED" });
    const bytes = encode({ os: "Debian", roles: ["web"] }, "bin");
    for (let end = 0; end < bytes.length; end += 1) {
      assert.throws(() => pickEntries(bytes.subarray(0, end), new Set(["os"])), /./, `${end} bytes`);
    }
  });
});

describe("packedEntries", () => {
  it("gives a map that packs to the same bytes, with keys of every type", () => {
    const map: ValueMap = new Map<Value, Value>([
      ["os", ["Debian"]],
      [1, "one"],
      [null, new Map([[2.5, "deep"]])],
      [Buffer.of(0xff, 0xfe), "bytes"],
    ]);
    const bytes = encode(map, "bin");
    assert.deepEqual(encode(packedEntries(bytes), "bin"), bytes);
  });
});
