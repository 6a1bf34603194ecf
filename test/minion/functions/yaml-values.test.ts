import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configToValue } from "../../../src/minion/functions/yaml-values.ts";
import { wordValue } from "../../../src/python/word.ts";
import { Float, type Value } from "../../../src/wire/values.ts";

describe("yaml values", () => {
  it("reads words as Salt does, and keeps integral floats apart from integers", () => {
    assert.deepEqual(["1", "1.0", "yes", "010", "[1, a]", "#x", "a: 1"].map(wordValue), [
      1,
      new Float(1),
      true,
      10,
      [1, "a"],
      "#x",
      "a: 1",
    ]);
  });

  it("makes maps of configuration's objects", () => {
    const value = configToValue({ a: [1, { b: null }], c: "x" });
    assert.deepEqual(
      value,
      new Map<Value, Value>([
        ["a", [1, new Map([["b", null]])]],
        ["c", "x"],
      ]),
    );
  });
});
