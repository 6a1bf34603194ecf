import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { editDistance } from "../../src/config/edit-distance.ts";

describe("editDistance", () => {
  const cases: [string, string, number][] = [
    ["timeout", "timeout", 0],
    ["timeuot", "timeout", 1],
    ["timout", "timeout", 1],
    ["timeouts", "timeout", 1],
    ["tineout", "timeout", 1],
    ["user", "usr_", 2],
    ["", "ab", 2],
  ];
  for (const [left, right, distance] of cases) {
    it(`${left} to ${right}: ${distance}`, () => {
      assert.equal(editDistance(left, right, 5), distance);
      assert.equal(editDistance(right, left, 5), distance);
    });
  }

  it("gives up as soon as the bound is passed", () => {
    assert.equal(editDistance("abcdef", "uvwxyz", 2), 3);
    assert.equal(editDistance("a", "abcdef", 2), 3);
  });
});
