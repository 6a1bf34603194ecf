/** The positions of folders in docs/layers.svg. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { layLayers, withoutShortcuts } from "../../scripts/layout-layers.ts";

const edge = (text: string) => ({ from: text.charAt(0), to: text.charAt(1) });

describe("the layout of layers", () => {
  it("leaves out an edge whose ends a longer way joins", () => {
    const edges = ["ab", "bc", "ac", "ad"].map(edge);
    assert.deepEqual(withoutShortcuts(edges), ["ab", "bc", "ad"].map(edge));
  });

  it("puts importers above what they import, and no box over another or over a way that passes", () => {
    const names = [..."abcdef"];
    const { rows, ways } = layLayers(names, ["ab", "ac", "bd", "cd", "ae", "ef", "df"].map(edge), () => 100);
    assert.equal(ways.length, 7);
    for (const { upper, passes, lower } of ways) {
      assert.deepEqual(
        passes.map(({ row }) => row),
        Array.from({ length: lower.row - upper.row - 1 }, (_, index) => upper.row + 1 + index),
      );
    }
    assert.deepEqual(
      rows
        .flatMap((row) => row.map(({ name }) => name))
        .filter(Boolean)
        .sort(),
      names,
    );
    for (const row of rows) {
      row.slice(1).forEach((place, index) => {
        const left = row[index];
        assert.ok(left !== undefined && place.x - left.x >= (place.width + left.width) / 2);
      });
    }
  });

  it("lays ways without crossings where there need be none", () => {
    const { ways } = layLayers([..."abcd"], ["ad", "bc"].map(edge), () => 100);
    const [first, second] = ways;
    assert.ok(first !== undefined && second !== undefined);
    assert.ok((first.upper.x - second.upper.x) * (first.lower.x - second.lower.x) > 0);
  });
});
