/** Sizes and delays are parsed and drawn as their texts say. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { draw, parseDistribution } from "../../bench/load/distribution.ts";
import { seededRandom } from "../../bench/load/random.ts";

const draws = 20_000;

function sample(text: string): number[] {
  const random = seededRandom(11);
  const distribution = parseDistribution(text);
  return Array.from({ length: draws }, () => draw(distribution, random));
}

describe("distributions", () => {
  it("64 is always 64", () => assert.deepEqual([...new Set(sample("64"))], [64]));

  it("10..13 holds both ends, each value as often", () => {
    const values = sample("10..13");
    for (const value of [10, 11, 12, 13]) {
      const share = values.filter((one) => one === value).length / draws;
      assert.ok(Math.abs(share - 0.25) < 0.02, `${value}: ${share}`);
    }
    assert.deepEqual([...new Set(values)].sort(), [10, 11, 12, 13]);
  });

  it("a mix holds each part by its share", () => {
    const values = sample("64:70%,4096:25%,262144:5%");
    for (const [value, wanted] of [
      [64, 0.7],
      [4_096, 0.25],
      [262_144, 0.05],
    ] as const) {
      const share = values.filter((one) => one === value).length / draws;
      assert.ok(Math.abs(share - wanted) < 0.02, `${value}: ${share}`);
    }
  });

  it("a lognormal has its median, and a tail that is cut", () => {
    const values = sample("lognormal:700:0.8").sort((a, b) => a - b);
    const median = values[draws / 2] ?? 0;
    assert.ok(Math.abs(median - 700) < 30, `median ${median}`);
    assert.ok((values.at(-1) ?? 0) <= Math.round(700 * Math.exp(0.8 * 4)));
  });

  it("refuses what it cannot read, and shares that do not add up", () => {
    for (const text of ["", "x", "64:", "64:70%", "64:70%,10:40%", "9..3", "1.2.3", "lognormal:700", "-5"]) {
      assert.throws(() => parseDistribution(text), { code: "USAGE" }, text);
    }
  });
});
