import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareTurns, type Turn, usPerOperation } from "../../../bench/peers/bootstrap.ts";

const turnsOf = (...usEach: number[]): Turn[] =>
  usEach.map((us) => ({ cpuMs: (us * 10_000) / 1_000, operations: 10_000 }));

const compare = (baseline: readonly Turn[], candidate: readonly Turn[], seed?: number) =>
  compareTurns("cpu", { name: "salt", turns: baseline }, { name: "saltworks", turns: candidate }, seed);

describe("compareTurns", () => {
  it("gives the ratio of candidate to baseline, and no spread where there was none", () => {
    const { low, high, ratio, ...rest } = compare(turnsOf(4_000, 4_000, 4_000, 4_000), turnsOf(50, 50, 50, 50));
    for (const value of [low, high, ratio]) assert.ok(Math.abs(value - 0.0125) < 1e-12);
    assert.deepEqual(rest, {
      name: "cpu",
      baseline: "salt",
      candidate: "saltworks",
      repeats: 4,
      verdict: "less",
    });
  });

  it("says more where every round needed more", () => {
    const { verdict, low, high } = compare(turnsOf(10, 11, 10, 12), turnsOf(40, 41, 44, 42));
    assert.equal(verdict, "more");
    assert.ok(low > 3 && high < 5);
  });

  it("says nothing under the noise", () => {
    const { verdict, low, high } = compare(turnsOf(100, 120, 90, 110), turnsOf(105, 95, 118, 92));
    assert.equal(verdict, "no verdict");
    assert.ok(low < 1 && high > 1);
  });

  it("says nothing after three rounds, however clear they are", () => {
    const { verdict, ratio } = compare(turnsOf(4_000, 4_000, 4_000), turnsOf(50, 51, 50));
    assert.equal(verdict, "no verdict");
    assert.ok(ratio < 0.013);
  });

  it("takes the noise that both had in a round out of the ratio", () => {
    const { low, high } = compare(turnsOf(100, 200, 400, 800), turnsOf(50, 100, 200, 400));
    assert.ok(Math.abs(low - 0.5) < 1e-12 && Math.abs(high - 0.5) < 1e-12);
  });

  it("weighs rounds by their operations", () => {
    const few: Turn = { cpuMs: 100, operations: 10 };
    const many: Turn = { cpuMs: 100, operations: 990 };
    const { ratio } = compare([many, many], [few, many]);
    assert.ok(Math.abs(ratio - 200 / 1_000 / (200 / 1_980)) < 1e-12);
    assert.equal(usPerOperation([few, many]), 200);
  });

  it("gives the same interval for the same turns, and nearly the same for another seed", () => {
    const [baseline, candidate] = [turnsOf(100, 120, 90, 110, 95), turnsOf(80, 85, 70, 90, 75)];
    const first = compare(baseline, candidate);
    assert.deepEqual(compare(baseline, candidate), first);
    const other = compare(baseline, candidate, 1);
    assert.ok(Math.abs(other.high - first.high) < 0.02 && Math.abs(other.low - first.low) < 0.02);
  });

  it("holds the truth in its interval nineteen times of twenty, also with few rounds", () => {
    const trials = 300;
    for (const rounds of [4, 8]) {
      let held = 0;
      for (let trial = 0; trial < trials; trial += 1) {
        // Both have the same mean cost. The deviation of each turn is the sine of a large number, which is nearly random.
        const noise = (salt: number, index: number) => gaussian(trial * 1_000 + salt * 100 + index);
        const draw = (salt: number) =>
          turnsOf(...Array.from({ length: rounds }, (_, index) => 100 * (1 + 0.05 * noise(salt, index))));
        const { low, high } = compare(draw(1), draw(2));
        if (low <= 1 && high >= 1) held += 1;
      }
      assert.ok(held / trials > 0.92, `${rounds} rounds: ${held} of ${trials}`);
    }
  });

  it("refuses sides that did not have the same turns, or a turn without work", () => {
    assert.throws(() => compare(turnsOf(1, 2), turnsOf(1)), { code: "USAGE" });
    assert.throws(() => compare([], []), { code: "USAGE" });
    assert.throws(() => compare([{ cpuMs: 1, operations: 0 }], turnsOf(1)), { code: "USAGE" });
    assert.throws(() => compare([{ cpuMs: 0, operations: 9 }], turnsOf(1)), { code: "USAGE" });
  });
});

/** Box and Muller over a hash of `index`: the same standard normal number each time. */
function gaussian(index: number): number {
  const even = (offset: number) => {
    let bits = Math.imul(index * 2 + offset + 1, 0x9e3779b1) >>> 0;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b) >>> 0;
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35) >>> 0;
    return (((bits ^ (bits >>> 16)) >>> 0) + 1) / (2 ** 32 + 1);
  };
  return Math.sqrt(-2 * Math.log(even(0))) * Math.cos(2 * Math.PI * even(1));
}
