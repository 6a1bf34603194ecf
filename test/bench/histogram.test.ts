/** Latencies keep three digits through recording, merging and encoding. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LatencyHistogram } from "../../bench/load/histogram.ts";

describe("LatencyHistogram", () => {
  it("gives percentiles in microseconds, within a part in a thousand", () => {
    const histogram = new LatencyHistogram();
    for (let ms = 1; ms <= 1_000; ms += 1) histogram.recordMs(ms);
    const { p50, p90, p99, max } = histogram.percentilesUs();
    for (const [found, wanted] of [
      [p50, 500_000],
      [p90, 900_000],
      [p99, 990_000],
      [max, 1_000_000],
    ] as const) {
      assert.ok(Math.abs(found / wanted - 1) < 0.002, `${found} for ${wanted}`);
    }
  });

  it("is the same after it was written down and read back", () => {
    const histogram = new LatencyHistogram();
    for (const ms of [0.004, 1.5, 70_000]) histogram.recordMs(ms);
    const back = LatencyHistogram.decode(histogram.encode());
    assert.equal(back.count, 3);
    assert.deepEqual(back.percentilesUs(), histogram.percentilesUs());
  });

  it("adds up", () => {
    const [one, other] = [new LatencyHistogram(), new LatencyHistogram()];
    one.recordMs(1);
    other.recordMs(9);
    one.add(LatencyHistogram.decode(other.encode()));
    assert.equal(one.count, 2);
    assert.ok(one.percentilesUs().max >= 9_000);
  });

  it("counts what lies beyond its range at its end, and nothing as nothing", () => {
    const histogram = new LatencyHistogram();
    assert.deepEqual(histogram.percentilesUs(), { p50: 0, p90: 0, p99: 0, p999: 0, max: 0 });
    histogram.recordMs(3_600_000);
    histogram.recordMs(-1);
    assert.equal(histogram.count, 2);
  });
});
