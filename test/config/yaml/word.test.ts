/** How words of the command line are read, compared with Salt over test/golden/yamlify.json. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseWord } from "../../../src/config/yaml/word.ts";
import { nestingDepthMax, wordValuesMax } from "../../../src/limits.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { repositoryRoot } from "../../root.ts";

/** The word. If Salt reads another value than the text: msgpack of the value (null if Salt cannot send it) and its Python notation. */
type Case = [word: string, packed?: string | null, python?: string];

const golden: { cases: Case[] } = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/yamlify.json"), "utf8"));
const valueOfWord = (word: string): Value => parseWord(word, (value) => new Float(value));

/** NaN has many bit patterns; Python's and ours differ in the sign. */
function comparable(value: Value): Value {
  if (Array.isArray(value)) return value.map(comparable);
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [comparable(key), comparable(member)]));
  return typeof value === "number" && Number.isNaN(value) ? "not a number" : value;
}

describe("parseWord", () => {
  it("gives every recorded word the value that Salt gives it, types included", () => {
    for (const [word, packed, python] of golden.cases) {
      if (packed === null) continue;
      const expected = packed === undefined ? word : decode(Buffer.from(packed, "base64"));
      const got = encode(comparable(valueOfWord(word)), "bin").toString("hex");
      assert.equal(
        got,
        encode(comparable(expected), "bin").toString("hex"),
        `${JSON.stringify(word)} is ${python ?? "kept"}`,
      );
    }
  });
  it("tells integral floats from integers, also as keys", () => {
    assert.deepEqual(valueOfWord("[1.0, 1, {2.0: 3}]"), [new Float(1), 1, new Map([[new Float(2), 3]])]);
  });
  it("keeps integers that a double cannot hold", () => {
    assert.equal(valueOfWord("9007199254740993"), 9007199254740993n);
    assert.equal(valueOfWord("-9223372036854775808"), -9223372036854775808n);
  });
  it("keeps the word where an alias would contain itself", () => {
    assert.equal(valueOfWord("[&x [*x]]"), "[&x [*x]]");
  });
  it("keeps the word where aliases of aliases would unfold beyond the limit", () => {
    const level = (n: number) => `&a${n} [*a${n - 1}, *a${n - 1}]`;
    const doubled = (levels: number) =>
      `[&a0 [x], ${Array.from({ length: levels }, (_, n) => level(n + 1)).join(", ")}]`;
    assert.ok(Array.isArray(valueOfWord(doubled(10))));
    assert.equal(
      valueOfWord(doubled(Math.ceil(Math.log2(wordValuesMax)))),
      doubled(Math.ceil(Math.log2(wordValuesMax))),
    );
  });
  it("keeps the word where brackets nest deeper than values may", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    assert.ok(Array.isArray(valueOfWord(nested(nestingDepthMax))));
    assert.equal(valueOfWord(nested(nestingDepthMax + 1)), nested(nestingDepthMax + 1));
    assert.equal(valueOfWord(nested(100_000)), nested(100_000));
  });
  it("stops taking text for a key after 1024 characters, as libyaml does", () => {
    assert.ok(Array.isArray(valueOfWord(`[${"k".repeat(1023)}: v]`)));
    assert.equal(valueOfWord(`[${"k".repeat(1100)}: v]`), `[${"k".repeat(1100)}: v]`);
  });
  it("reads words of a megabyte in linear time", () => {
    const list = `[${"a, ".repeat(30_000)}b]`;
    assert.equal((valueOfWord(list) as Value[]).length, 30_001);
    assert.equal(valueOfWord(`[${"x".repeat(1_000_000)}`), `[${"x".repeat(1_000_000)}`);
    for (const word of ["[".repeat(1_000_000), "[a, ".repeat(250_000), "{a: ".repeat(250_000), "- ".repeat(500_000)]) {
      assert.equal(valueOfWord(word), word);
    }
  });
});
