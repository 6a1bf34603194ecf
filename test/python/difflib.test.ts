import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diffStepsMax } from "../../src/limits.ts";
import { unifiedLines } from "../../src/python/difflib.ts";
import { readGolden } from "../target/fleet.ts";

type Case = [first: string[], second: string[], contextLines: number, lines: string[]];
const { diffs } = readGolden("text_edits.json") as { diffs: Case[] };
const form = { from: "a", to: "b", lineEnd: "" };

describe("unifiedLines", () => {
  it("prints generated differences as Python's difflib does", () => {
    for (const [first, second, contextLines, lines] of diffs)
      assert.deepEqual(unifiedLines(first, second, { ...form, contextLines }), lines);
    assert.ok(diffs.filter(([, , , lines]) => lines.length > 0).length > 100);
  });

  it("shows texts beyond its bound as different from the first difference to the last", () => {
    // Few distinct lines, each just below the number of places that makes a line popular.
    const lineCount = Math.ceil(Math.sqrt(diffStepsMax * 100)) * 2;
    const first = Array.from({ length: lineCount }, (_, index) => `line ${index % 101}`);
    const second = first.map((line, index) => (index % 3 === 1 ? `${line}!` : line));
    const lines = unifiedLines(["head", ...first, "tail"], ["head", ...second, "tail"], { ...form, contextLines: 0 });
    assert.equal(lines.filter((line) => line.startsWith("@@")).length, 1);
    assert.ok(lines[2]?.startsWith("@@ -3,"), lines[2]);
  });
});
