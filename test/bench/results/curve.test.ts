/** The knee of a sweep over a rate: the last rate before latency leaves its floor. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultText } from "../../../bench/commands/result-text.ts";
import { sweptResult } from "../../../bench/commands/sweep.ts";
import { reportHtml } from "../../../bench/report/page.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import { faultInResult } from "../../../bench/results/shape.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

type Measured = {
  readonly p99Ms: number;
  readonly perSecond?: number;
  readonly isVoid?: boolean;
  readonly samples?: number;
};

/** A result of one rate, as `return-storm` writes it. */
function at(rate: number, { p99Ms, perSecond = rate, isVoid = false, samples = 2_000 }: Measured): RunResult {
  const percentilesUs = { p50: 1_000, p90: 2_000, p99: p99Ms * 1_000, p999: 90_000, max: 95_000 };
  const operation = { ...sampleOperation(4), percentilesUs, perSecond, completed: samples, planned: samples };
  const point = samplePoint({
    label: `${rate} returns/s`,
    parameters: { rate, arrivals: "constant" },
    operations: { return: operation },
  });
  return sampleResult({ points: [{ ...point, generator: { ...point.generator, isVoid } }] });
}

function swept(measured: Readonly<Record<string, Measured>>, key = "rate"): RunResult {
  const rates = Object.keys(measured);
  return sweptResult(
    { key, values: rates },
    Object.entries(measured).map(([rate, one]) => at(Number(rate), one)),
  );
}

function kneeOf(measured: Readonly<Record<string, Measured>>) {
  return swept(measured).curve?.lines[0]?.knee;
}

describe("the curve of a sweep over a rate", () => {
  it("has one line over all rates, in the result's schema", () => {
    const result = swept({ 500: { p99Ms: 10 }, 1000: { p99Ms: 12 }, 2000: { p99Ms: 80 } });
    assert.equal(faultInResult(result), undefined);
    const [line, ...others] = result.curve?.lines ?? [];
    assert.deepEqual(others, []);
    assert.equal(line?.label, "returns/s");
    assert.deepEqual(
      line?.rates.map(({ rate, p99Us }) => [rate, p99Us]),
      [
        [500, 10_000],
        [1_000, 12_000],
        [2_000, 80_000],
      ],
    );
  });

  it("puts the knee at the last rate whose p99 is within twice the lowest", () => {
    const knee = kneeOf({ 500: { p99Ms: 10 }, 1000: { p99Ms: 19 }, 2000: { p99Ms: 21 }, 4000: { p99Ms: 15 } });
    assert.deepEqual(knee, { rate: 1_000, p99Us: 19_000, floorUs: 10_000, isLast: false });
  });

  it("does not take the slower answers of a light load for a bend", () => {
    assert.equal(
      kneeOf({ 50: { p99Ms: 45 }, 500: { p99Ms: 12 }, 1000: { p99Ms: 14 }, 2000: { p99Ms: 60 } })?.rate,
      1_000,
    );
  });

  it("counts void rates and rates that were not reached as beyond the knee", () => {
    const reached = { 500: { p99Ms: 10 }, 1000: { p99Ms: 11 } };
    assert.equal(kneeOf({ ...reached, 2000: { p99Ms: 12, isVoid: true } })?.rate, 1_000);
    assert.equal(kneeOf({ ...reached, 2000: { p99Ms: 12, perSecond: 1_950 } })?.rate, 1_000);
    assert.deepEqual(kneeOf({ ...reached, 2000: { p99Ms: 12, perSecond: 1_970 } })?.isLast, true);
  });

  it("has none where fewer than three rates can be judged, and does not use percentiles of too few samples", () => {
    assert.equal(kneeOf({ 500: { p99Ms: 10 }, 1000: { p99Ms: 11 } }), undefined);
    const few = { p99Ms: 1, samples: 99 };
    assert.equal(kneeOf({ 10: few, 500: { p99Ms: 10 }, 1000: { p99Ms: 11 } }), undefined);
    const rates = swept({ 10: few, 500: { p99Ms: 10 } }).curve?.lines[0]?.rates ?? [];
    assert.deepEqual(
      rates.map(({ p99Us }) => p99Us),
      [undefined, 10_000],
    );
  });

  it("is not made for a sweep over something else", () => {
    assert.equal(swept({ 10: { p99Ms: 1 }, 20: { p99Ms: 1 } }, "minions").curve, undefined);
  });

  it("stands in text and report as a table with the knee in words, and as a plot", () => {
    const result = swept({ 500: { p99Ms: 10 }, 1000: { p99Ms: 12 }, 2000: { p99Ms: 80 } });
    const text = resultText(result);
    assert.match(text, /^rate +answered\/s +p50 ms +p99 ms +p99\.9 ms +CPU µs\/op/m);
    assert.match(text, /^1,000 +1,000 +1 +12 +≈ 90 +65 +knee$/m);
    assert.match(text, /^2,000 .* beyond the knee$/m);
    assert.match(text, /^Knee of return: rate=1,000, with a p99 of 12 ms\./m);
    const html = reportHtml(result);
    assert.match(html, /id="curve".*Knee of return: rate=1,000/s);
    assert.match(html, /"curve":\[\{"title":"returns\/s: return".*"mark":\{"x":1000,"label":"knee"\}/s);
  });
});

describe("the curve of a sweep over scale", () => {
  /** A stage of 60 seconds with 10 returns a second to jobs, each up to 20 seconds after its job. */
  function stage(scale: number, o: { readonly p99Ms: number; readonly lastReplyS: number; readonly lost?: number }) {
    const planned = 600 * scale;
    const completed = planned - (o.lost ?? 0);
    const percentilesUs = { p50: 1_000, p90: 2_000, p99: o.p99Ms * 1_000, p999: 90_000, max: 95_000 };
    const own = { ...sampleOperation(4), percentilesUs, planned, completed, perSecond: completed / o.lastReplyS };
    const users = { ...sampleOperation(4), perSecond: 3, loop: "closed" as const };
    const point = samplePoint({
      label: "day",
      parameters: { scale, seconds: 60 },
      operations: { pings: own, dashboard: users },
      isUsageUnknown: true,
    });
    return sampleResult({ points: [point] });
  }
  const scaled = (...results: RunResult[]) =>
    sweptResult({ key: "scale", values: results.map((_, index) => String(index + 1)) }, results);

  it("has a knee for jobs whose returns come long after the publish, and no line for users", () => {
    const steady = { p99Ms: 10, lastReplyS: 79 };
    const result = scaled(stage(1, steady), stage(2, steady), stage(3, { p99Ms: 90, lastReplyS: 79 }));
    assert.deepEqual(
      result.curve?.lines.map(({ operation }) => operation),
      ["pings"],
    );
    const [line] = result.curve?.lines ?? [];
    assert.deepEqual(
      line?.rates.map(({ isReached }) => isReached),
      [true, true, true],
    );
    assert.deepEqual(line?.knee, { rate: 2, p99Us: 10_000, floorUs: 10_000, isLast: false });
    assert.match(resultText(result), / not seen +knee$/m);
  });

  it("does not reach a rate whose answers are missing, or come later and later", () => {
    const steady = { p99Ms: 10, lastReplyS: 79 };
    const reached = (last: Parameters<typeof stage>[1]) =>
      scaled(stage(1, steady), stage(2, last)).curve?.lines[0]?.rates[1]?.isReached;
    assert.equal(reached(steady), true);
    assert.equal(reached({ ...steady, lost: 30 }), false);
    assert.equal(reached({ p99Ms: 40_000, lastReplyS: 120 }), false);
  });
});
