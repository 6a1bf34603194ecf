/** Splitting a schedule over processes keeps all times, and gives each process whole rounds of its minions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LaneOutcome } from "../../bench/fleet/storm/messages.ts";
import { joinOutcomes, splitSchedule } from "../../bench/fleet/storm/outcome.ts";
import { LatencyHistogram } from "../../bench/load/histogram.ts";
import { parseMetrics, sumOf } from "../../bench/scenarios/measures/prometheus.ts";

describe("splitSchedule", () => {
  for (const counts of [[4], [2, 2], [3, 4], [2, 3, 3]]) {
    it(`over ${counts.join(" and ")} minions`, () => {
      const rounds = 3;
      const minions = counts.reduce((sum, count) => sum + count, 0);
      const plannedMs = Float64Array.from({ length: rounds * minions }, (_, index) => index);
      const parts = splitSchedule(plannedMs, counts);
      assert.deepEqual(
        parts.map((part) => part.length),
        counts.map((count) => count * rounds),
      );
      assert.deepEqual(
        parts.flatMap((part) => [...part]).sort((a, b) => a - b),
        [...plannedMs],
      );
      for (const part of parts)
        assert.deepEqual(
          [...part],
          [...part].sort((a, b) => a - b),
        );
    });
  }
});

describe("joinOutcomes", () => {
  it("judges lateness by what had a plan, however much a closed loop sent beside it", () => {
    const lane = (sent: number, late: number): LaneOutcome => ({
      ...{ planned: sent, sent, completed: sent, failed: 0, timedOut: 0, late, repeated: 0, lastReplyMs: 1_000 },
      ...{
        verified: 0,
        wrong: 0,
        empty: 0,
        sentBytes: 10 * sent,
        receivedBytes: 5 * sent,
        sealedAhead: sent,
        histogram: new LatencyHistogram().encode(),
      },
    });
    const self = { cpuShare: 0.1, cpuMs: 100, loopDelayP99Ms: 1 };
    const plans = [{ lane: "return", plannedMs: Float64Array.of(0) }, { lane: "auth" }];
    const traffic = { sentBytes: 110_000, receivedBytes: 60_000 };
    const lanes = { return: lane(1_000, 15), auth: lane(9_000, 0) };
    const { generator } = joinOutcomes(plans, [{ lanes, self, traffic }]);
    assert.deepEqual(generator.voidReasons, ["15 of 1000 operations were sent late, more than 1 %"]);
  });
});

describe("joinOutcomes of several processes", () => {
  it("adds up the bytes of connections and of each class", () => {
    const histogram = new LatencyHistogram().encode();
    const counts = { planned: 2, sent: 2, completed: 2, failed: 0, timedOut: 0, late: 0, repeated: 0, lastReplyMs: 1 };
    const checks = { verified: 0, wrong: 0, empty: 0, sealedAhead: 2, histogram };
    const outcome = {
      lanes: { return: { ...counts, ...checks, sentBytes: 900, receivedBytes: 200 } },
      self: { cpuShare: 0.1, cpuMs: 1, loopDelayP99Ms: 1 },
      traffic: { sentBytes: 1_000, receivedBytes: 300 },
    };
    const { lanes, traffic } = joinOutcomes([{ lane: "return" }], [outcome, outcome]);
    assert.deepEqual(traffic, { sentBytes: 2_000, receivedBytes: 600 });
    assert.equal(lanes.return?.operation.toMasterBytes, 1_800);
    assert.equal(lanes.return?.operation.fromMasterBytes, 400);
  });
});

describe("parseMetrics", () => {
  it("adds up samples by name and label", () => {
    const text =
      '# HELP a b\n# TYPE a counter\na{worker="0",outcome="x"} 2\na{worker="1",outcome="x"} 3\na{outcome="y"} 1\nb 7e3\n';
    const samples = parseMetrics(text);
    assert.equal(sumOf(samples, "a"), 6);
    assert.equal(sumOf(samples, "a", 'outcome="x"'), 5);
    assert.equal(sumOf(samples, "b"), 7_000);
    assert.equal(sumOf(samples, "absent"), 0);
  });
});
