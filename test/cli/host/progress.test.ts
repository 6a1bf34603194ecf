import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LineProgress } from "../../../src/cli/host/progress.ts";

describe("LineProgress", () => {
  it("says one line for each outermost phase when it ends, with the time that it took", () => {
    const lines: string[] = [];
    let nowMs = 0;
    const progress = new LineProgress(
      (line) => lines.push(line),
      () => nowMs,
    );
    const outer = progress.phase("sweep");
    const inner = progress.phase("warm up");
    nowMs = 900;
    inner.step(3);
    inner.end();
    nowMs = 2_340;
    outer.end();
    outer.end();
    progress.phase("search").end();
    assert.deepEqual(lines, ["sweep: 2.3 s\n", "search: 0.0 s\n"]);
  });
});
