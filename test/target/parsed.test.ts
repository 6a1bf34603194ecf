import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parsedTargetsMax } from "../../src/limits.ts";
import { ParsedTargets } from "../../src/target/parsed.ts";

describe("ParsedTargets", () => {
  it("returns a kept target only for the same kind, text and delimiter", () => {
    const targets = new ParsedTargets();
    const first = targets.parse("grain", "a:b/c", ":");
    assert.equal(targets.parse("grain", "a:b/c", ":"), first);
    assert.notEqual(targets.parse("grain", "a:b/c", "/"), first);
    assert.notEqual(targets.parse("pillar", "a:b/c", ":"), first);
  });

  it("removes the target that was asked for longest ago", () => {
    const targets = new ParsedTargets();
    const kept = targets.parse("glob", "kept", ":");
    const first = targets.parse("glob", "first", ":");
    for (let at = 0; at < parsedTargetsMax - 1; at += 1) {
      targets.parse("glob", `web${at}`, ":");
      assert.equal(targets.parse("glob", "kept", ":"), kept);
    }
    assert.notEqual(targets.parse("glob", "first", ":"), first);
  });

  it("refuses an invalid expression on each call", () => {
    const targets = new ParsedTargets();
    for (let time = 0; time < 2; time += 1)
      assert.throws(() => targets.parse("pcre", "(", ":"), { code: "TARGET_INVALID" });
  });
});
