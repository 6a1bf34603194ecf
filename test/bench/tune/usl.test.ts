import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fitUsl, predictPerSecond, type ScalingPoint, type UslFit } from "../../../bench/tune/usl.ts";

/** Noise from a fixed seed (mulberry32), so that a failure can be repeated. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

const gentle = { lambda: 9_000, sigma: 0.06, kappa: 0.004 };

function measured(curve: typeof gentle, workers: readonly number[], share = 0, seed = 1): ScalingPoint[] {
  const next = noise(seed);
  return workers.map((count) => ({ workers: count, perSecond: predictPerSecond(curve, count) * (1 + share * next()) }));
}

function fitted(points: readonly ScalingPoint[]): UslFit {
  const fit = fitUsl(points);
  assert.ok(fit);
  return fit;
}

function near(actual: number, expected: number, share: number): void {
  assert.ok(Math.abs(actual - expected) <= share * expected, `${actual} is not within ${share} of ${expected}`);
}

describe("fitUsl", () => {
  it("finds the coefficients of an exact curve and its peak", () => {
    const fit = fitted(measured(gentle, [1, 2, 4, 8, 16, 32]));
    near(fit.lambda, 9_000, 1e-4);
    near(fit.sigma, 0.06, 1e-3);
    near(fit.kappa, 0.004, 1e-3);
    near(fit.peakWorkers, Math.sqrt(0.94 / 0.004), 1e-3);
    assert.ok(fit.rSquared > 0.99999 && fit.scatter < 1e-5);
  });

  it("comes near under noise of five percent, whatever the noise", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const workers = [1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 24, 24, 32, 32];
      const fit = fitted(measured(gentle, workers, 0.05, seed));
      near(fit.peakWorkers, Math.sqrt(0.94 / 0.004), 0.25);
      near(predictPerSecond(fit, 16), predictPerSecond(gentle, 16), 0.06);
      assert.ok(fit.peakRange[0] <= fit.peakWorkers && fit.peakWorkers <= fit.peakRange[1]);
    }
  });

  it("is not bent by one disturbed run", () => {
    const points = measured(gentle, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32], 0.01);
    const disturbed = points.map((point) =>
      point.workers === 12 ? { ...point, perSecond: point.perSecond / 3 } : point,
    );
    const fit = fitted(disturbed);
    near(predictPerSecond(fit, 12), predictPerSecond(gentle, 12), 0.06);
    near(fit.peakWorkers, Math.sqrt(0.94 / 0.004), 0.2);
  });

  it("never gives negative coefficients, even where workers help more than their number", () => {
    const fit = fitted([1, 2, 3, 4].map((workers) => ({ workers, perSecond: 1_000 * workers ** 1.2 })));
    assert.deepEqual([fit.sigma, fit.kappa, fit.peakWorkers], [0, 0, Number.POSITIVE_INFINITY]);
  });

  it("sees linear scaling as such", () => {
    const fit = fitted([1, 2, 4, 8].map((workers) => ({ workers, perSecond: 500 * workers })));
    near(fit.lambda, 500, 1e-4);
    assert.ok(fit.sigma < 1e-4 && fit.kappa < 1e-4);
  });

  it("sees throughput that stays the same as work that all waits in one line: one worker is as good as many", () => {
    const fit = fitted([1, 2, 4, 8].map((workers) => ({ workers, perSecond: 700 })));
    near(fit.lambda, 700, 1e-3);
    near(fit.sigma, 1, 1e-2);
    assert.ok(fit.kappa < 1e-3);
    near(predictPerSecond(fit, 8), 700, 1e-3);
    assert.equal(fit.rSquared, 1);
  });

  it("sees throughput that only falls", () => {
    const fit = fitted([1, 2, 3, 4].map((workers) => ({ workers, perSecond: 1_000 / workers })));
    near(fit.peakWorkers, 1, 1e-6);
    near(predictPerSecond(fit, 4), 250, 0.05);
  });

  it("draws through two points without claiming coherency cost, and nothing through one", () => {
    const fit = fitted([
      { workers: 1, perSecond: 1_000 },
      { workers: 2, perSecond: 1_600 },
    ]);
    near(predictPerSecond(fit, 2), 1_600, 1e-3);
    assert.equal(fit.kappa, 0);
    assert.equal(fit.distinctCount, 2);
    assert.equal(fitUsl([{ workers: 1, perSecond: 1_000 }]), undefined);
    assert.equal(
      fitUsl([
        { workers: 2, perSecond: 1_000 },
        { workers: 2, perSecond: 1_100 },
      ]),
      undefined,
    );
    assert.equal(fitUsl([]), undefined);
  });

  it("leaves out runs that answered nothing", () => {
    const fit = fitted([
      ...measured(gentle, [1, 2, 4, 8]),
      { workers: 3, perSecond: 0 },
      { workers: 5, perSecond: Number.NaN },
    ]);
    assert.equal(fit.pointCount, 4);
    near(fit.lambda, 9_000, 1e-3);
  });
});
