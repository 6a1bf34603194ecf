import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keptTextCharsMax, keptTextsCharsMax } from "../../../src/limits.ts";
import { KeptValues } from "../../../src/pillar/input/kept-values.ts";
import { loadYaml } from "../../../src/pillar/input/yaml.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";

describe("kept values of texts", () => {
  const made: string[] = [];
  const make = (text: string): Value => {
    made.push(text.slice(0, 4));
    return new Map<Value, Value>([["list", [text.length]]]);
  };

  it("are made once, and each caller may change its copy", () => {
    const kept = new KeptValues();
    made.length = 0;
    for (const round of [1, 2]) {
      const value = kept.get("abc", make) as ValueMap;
      assert.deepEqual(value, new Map<Value, Value>([["list", [3]]]), `round ${round}`);
      (value.get("list") as Value[]).push("more");
      value.set("other", 1);
    }
    assert.deepEqual(made, ["abc"]);
  });

  it("are bounded, each and all, and the least recently used goes first", () => {
    const kept = new KeptValues();
    made.length = 0;
    const large = "l".repeat(keptTextCharsMax + 1);
    for (const text of [large, large]) kept.get(text, make);
    assert.equal(made.length, 2, "a large text is not kept");
    const texts = Array.from({ length: keptTextsCharsMax / keptTextCharsMax }, (_, index) =>
      `${index}`.padEnd(keptTextCharsMax, "-"),
    );
    for (const text of [...texts, ...texts]) kept.get(text, make);
    assert.equal(made.length, 2 + texts.length, "all have room");
    const [first = "", second = ""] = texts;
    for (const text of [first, "new", first, second]) kept.get(text, make);
    assert.deepEqual(made.slice(2 + texts.length), ["new", second.slice(0, 4)]);
  });

  it("do not hide a fault", () => {
    for (const _ of [1, 2]) assert.throws(() => loadYaml("a: [1"), { code: "PILLAR_FAILED" });
    assert.deepEqual(loadYaml("a: [1]"), new Map([["a", [1]]]));
  });
});
