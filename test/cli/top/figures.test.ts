import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { age, bytes, count, duration, microseconds, percent } from "../../../src/cli/top/figures.ts";

describe("figures of top", () => {
  it("are short and carry their unit", () => {
    assert.deepEqual([0, 3, 0.44, 12.34, 99.96, 1_234.5].map(count), ["0", "3", "0.4", "12.3", "100", "1,235"]);
    assert.deepEqual([0, 999, 1_500, 99_600, 2.5e9].map(bytes), ["0 B", "999 B", "1.5 kB", "100 kB", "2.5 GB"]);
    assert.deepEqual([null, 0, 0.000_25, 0.05, 2.5, 30, Number.POSITIVE_INFINITY].map(duration), [
      "-",
      "0 ms",
      "250 µs",
      "50 ms",
      "2.5 s",
      "30 s",
      "long",
    ]);
    assert.deepEqual([null, 0.000_003_14, 0.001_234].map(microseconds), ["-", "3.1", "1,234"]);
    assert.deepEqual([null, 0.034, 1.42, Number.NaN].map(percent), ["-", "3%", "142%", "-"]);
    assert.deepEqual([5, 3_725, 90_061].map(age), ["00:00:05", "01:02:05", "1d 01:01:01"]);
  });
});
