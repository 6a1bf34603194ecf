import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { targetExpression } from "../../../src/cli/args/targets.ts";

describe("targetExpression", () => {
  it("splits a list at commas and drops blanks, or splits it at blanks", () => {
    for (const word of ["es1,es2", "es1, es2", " es1 es2 ", "es1  es2"]) {
      assert.deepEqual(targetExpression("list", word), ["es1", "es2"]);
    }
  });
  it("keeps empty members that commas at the ends make, as Salt does", () => {
    assert.deepEqual(targetExpression("list", "es1,es2,"), ["es1", "es2", ""]);
  });
  it("leaves every other kind as it is", () => {
    assert.equal(targetExpression("glob", "es1, es2"), "es1, es2");
  });
});
