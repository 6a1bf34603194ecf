import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { durationText, parseDuration } from "../../src/config/duration.ts";

describe("durations", () => {
  it("are read with a unit, and as seconds without", () => {
    const read = ["90s", "30m", "2h", "1d", "45", "1.5h", " 2 h "].map(parseDuration);
    assert.deepEqual(read, [90, 1_800, 7_200, 86_400, 45, 5_400, 7_200]);
  });
  it("are refused in any other form", () => {
    for (const wrong of ["", "h", "2x", "-1h", "1h30m", "soon", "1e3"])
      assert.equal(parseDuration(wrong), undefined, wrong);
  });
  it("are written in their two largest units", () => {
    const written = [0, 59, 60, 3_661, 86_400, 90_061].map(durationText);
    assert.deepEqual(written, ["0s", "59s", "1m", "1h 1m", "1d", "1d 1h"]);
  });
});
