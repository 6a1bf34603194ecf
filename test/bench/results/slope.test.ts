/** A fitted slope comes with its interval, which says when the slope is not decided. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultText } from "../../../bench/commands/result-text.ts";
import { seededRandom } from "../../../bench/load/random.ts";
import { formatFigure } from "../../../bench/report/format.ts";
import { reportHtml } from "../../../bench/report/page.ts";
import { slopeOf } from "../../../bench/scenarios/measures/slope.ts";
import { samplePoint, sampleResult } from "../sample-result.ts";

const random = seededRandom(11);

/** The sum of twelve uniform numbers, which is nearly normal. */
function normal(): number {
  return Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
}

/** Points on a line of this slope with noise, in which each value keeps a share of its neighbour. */
function noisy(slope: number, kept: number): [number, number][] {
  let noise = 0;
  return Array.from({ length: 40 }, (_, x) => {
    noise = kept * noise + normal();
    return [x, 100 + slope * x + noise];
  });
}

function coverage(kept: number): number {
  const trials = 400;
  let covered = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const found = slopeOf(noisy(0.5, kept));
    if (found !== undefined && found.low <= 0.5 && found.high >= 0.5) covered += 1;
  }
  return covered / trials;
}

describe("slopeOf", () => {
  it("is that of the line through the points", () => {
    assert.deepEqual(slopeOf([0, 1, 2, 3].map((x) => [x, 5 + 2 * x] as const)), { slope: 2, low: 2, high: 2 });
  });

  it("is unknown for fewer than three points, or for points above each other", () => {
    assert.equal(slopeOf([]), undefined);
    assert.equal(
      slopeOf([
        [1, 1],
        [2, 5],
      ]),
      undefined,
    );
    assert.equal(slopeOf([1, 2, 3].map((y) => [7, y] as const)), undefined);
  });

  it("has an interval that holds the truth about as often as it says, also for values that resemble their neighbours", () => {
    const [independent, alike] = [coverage(0), coverage(0.5)];
    assert.ok(independent > 0.91 && independent < 0.99, `${independent}`);
    assert.ok(alike > 0.88, `${alike}`);
  });
});

describe("a slope in a result", () => {
  const figures = { growthBytesPerHour: 1_200, looks: 9 };
  const undecided = samplePoint({ figures, intervals: { growthBytesPerHour: { low: -300, high: 2_700 } } });
  const decided = samplePoint({ figures, intervals: { growthBytesPerHour: { low: 900, high: 1_500 } } });

  it("is undecided if its interval includes 0", () => {
    assert.equal(formatFigure(undecided, "growthBytesPerHour"), "1,200 (95 %: -300 to 2,700), undecided");
    assert.equal(formatFigure(decided, "growthBytesPerHour"), "1,200 (95 %: 900 to 1,500)");
    assert.equal(formatFigure(decided, "looks"), "9");
    assert.equal(formatFigure(decided, "absent"), undefined);
  });

  it("has its interval in text and report", () => {
    const result = sampleResult({ points: [undecided] });
    for (const text of [resultText(result), reportHtml(result)])
      assert.match(text, /1,200 \(95 %: -300 to 2,700\), undecided/);
  });
});
