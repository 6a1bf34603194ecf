/** JSON written from msgpack in one walk is the text of the decoded value, and damaged records are refused at each byte. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mapText } from "../../src/databases/contract/packed-json.ts";
import { nestingDepthMax } from "../../src/limits.ts";
import { dumpJson } from "../../src/python/json.ts";
import type { Item } from "../../src/python/values.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { Ext, Float, type Value, type ValueMap } from "../../src/wire/values.ts";
import { randomFrom, randomValue, seedFromClock } from "../wire/random.ts";

const json = { sortsKeys: false, isAscii: false, indent: undefined } as const;
const notUtf8 = Buffer.from([0x61, 0xff, 0xc3, 0x28, 0x22, 0x0a]);

/** The slow version: decodes, replaces what JSON cannot hold, and writes. */
function slowText(value: Value): string {
  return dumpJson(textual(value), json);
}

function textual(value: Value): Item {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Ext) return Buffer.from(value.data).toString("utf8");
  if (Array.isArray(value)) return value.map(textual);
  if (!(value instanceof Map)) return value;
  const entries = [...value].map(([key, member]): [Item, Item] => {
    const name = textual(key);
    return [name instanceof Map || Array.isArray(name) ? dumpJson(name, json) : name, textual(member)];
  });
  return new Map(entries);
}

function assertSame(value: ValueMap, flavour: "raw" | "bin"): void {
  const record = encode(value, flavour);
  const decoded = decode(record) as ValueMap;
  const { whole, part } = mapText(record, "return");
  assert.equal(whole, slowText(decoded));
  const returned = decoded.get("return");
  assert.equal(part, returned === undefined ? undefined : slowText(returned));
}

/** Texts in which each character stands at each place of a word, and after each other one. */
const placed: readonly Value[] = ['"', "\\", "\n", "\x1f", "\x7f", "é", "\u{1f9c2}", "!", "[", " "].flatMap(
  (one, _, all) =>
    Array.from({ length: 5 }, (__, before) => `${"x".repeat(before)}${all.map((other) => one + other).join("")}yz`),
);
const badUtf8 = Array.from({ length: 9 }, (_, before) =>
  Buffer.concat([Buffer.from("plain text "), Buffer.from('a"é'.repeat(before)), notUtf8]),
);

const samples: readonly Value[] = [
  ...placed,
  ...badUtf8,
  ...[
    "",
    "plain",
    'a"b\\c/d',
    "\b\f\n\r\t\0\x1f\x7f",
    "grüße",
    "\u{1f9c2}\u2028",
    "x".repeat(70_000),
    '"'.repeat(70_000),
  ],
  ...[null, true, false, 0, 9, 10, -1, -32, -33, 255, 65_536, 2 ** 40, 2n ** 63n, -(2n ** 63n)],
  ...[new Float(1), 1.5, 1e300, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, new Float(-0)],
  ...[notUtf8, Buffer.from("text"), new Ext(78, Buffer.from("20260102T03:04:05")), [], new Map(), [[1, ["a"]], []]],
];

describe("the JSON of a record", () => {
  it("is that of the decoded value for every kind of value, and of other keys than text", () => {
    const keyed = new Map<Value, Value>([
      ...[null, true, 3, -7, 1.5, new Float(2), "a\nb", "grüße", notUtf8].map((key): [Value, Value] => [key, "value"]),
      [[1, "x"], "a list"],
    ]);
    for (const value of [...samples, keyed])
      for (const flavour of ["raw", "bin"] as const)
        assertSame(
          new Map<Value, Value>([
            ["fun", "a.b"],
            ["return", value],
            ["id", "m1"],
            ["retcode", 0],
          ]),
          flavour,
        );
    assertSame(new Map(), "bin");
    assertSame(new Map([["id", "without a return"]]), "bin");
  });

  it("is that of the decoded value for random values", () => {
    const random = randomFrom(seedFromClock());
    for (let round = 0; round < 2_000; round += 1) {
      const value = new Map<Value, Value>([
        ["a", randomValue(random, 3)],
        ["return", randomValue(random, 3)],
      ]);
      try {
        assertSame(value, round % 2 === 0 ? "raw" : "bin");
      } catch (error) {
        throw new Error(`seed ${random.seed}, round ${round}`, { cause: error });
      }
    }
  });

  it("gives the values of text keys", () => {
    const record = encode(
      new Map<Value, Value>([
        ["fun", ["a", "b"]],
        ["success", true],
        [1, "one"],
      ]),
      "bin",
    );
    const { get } = mapText(record, "return");
    assert.deepEqual([get("fun"), get("success"), get("1")], [["a", "b"], true, undefined]);
  });

  it("is refused for a record that ends too early, goes on too long, is not a map, or is nested too deep", () => {
    const fields = new Map<Value, Value>(samples.map((value, index) => [`key ${index}`, value]));
    fields.delete("key 6");
    fields.delete("key 7");
    const record = encode(fields, "bin");
    for (let end = 0; end < record.length; end += 1)
      assert.throws(() => mapText(record.subarray(0, end), "return"), { code: "WIRE_TRUNCATED" });
    assert.throws(() => mapText(Buffer.concat([record, Buffer.of(0)]), "return"), { code: "WIRE_MALFORMED" });
    assert.throws(() => mapText(encode([1], "bin"), "return"), { code: "WIRE_MALFORMED" });
    assert.throws(() => mapText(Buffer.of(0x81, 0xa1, 0x61, 0xc1), "return"), { code: "WIRE_MALFORMED" });
    const deep = Buffer.concat([Buffer.of(0x81, 0xa1, 0x61), Buffer.alloc(nestingDepthMax + 1, 0x91), Buffer.of(0)]);
    assert.throws(() => mapText(deep, "return"), { code: "WIRE_TOO_DEEP" });
  });
});
