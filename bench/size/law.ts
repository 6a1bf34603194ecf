/**
 * A law: a resource is a sum of amounts, each times a coefficient that is not negative. Fitted by least squares of the relative distances, so that a
 * small load counts as much as a large one. Intervals come from a bootstrap of the points' relative residuals. Pure.
 */
import { seededRandom } from "../load/random.ts";
import { leastSquares } from "../tune/usl.ts";
import type { Amounts, Term } from "./amounts.ts";

export type Observation = { readonly amounts: Amounts; readonly value: number };
export type Coefficients = Readonly<Partial<Record<Term, number>>>;

export type Law = {
  readonly terms: readonly Term[];
  readonly coefficients: Coefficients;
  readonly points: number;
  /** Root of the mean squared relative distance of the points: 0.1 is ten percent. */
  readonly scatter: number;
  /** Relative residuals of the points, corrected for the number of coefficients. */
  readonly residuals: readonly number[];
  /** Coefficients of the resampled points. */
  readonly resampled: readonly Coefficients[];
};

export type Estimate = { readonly value: number; readonly low: number; readonly high: number };

const resamples = 400;
const seed = 20_261_128;
const tails = [0.025, 0.975] as const;

/** @returns undefined without an observation above zero */
export function fitLaw(termsWanted: readonly Term[], observations: readonly Observation[]): Law | undefined {
  const usable = observations.filter(({ value }) => value > 0);
  const terms = termsWanted.filter((term) => usable.some(({ amounts }) => amounts[term] > 0));
  if (usable.length === 0 || terms.length === 0) return undefined;
  const coefficients = solveNotNegative(terms, usable);
  const freedom = Math.max(1, usable.length - Object.keys(coefficients).length);
  const widen = Math.sqrt(usable.length / freedom);
  const isExact = usable.length <= Object.keys(coefficients).length;
  const residuals = isExact
    ? [-residualUnknown, residualUnknown]
    : usable.map(({ amounts, value }) => (value / sumOver(coefficients, amounts) - 1) * widen);
  const random = seededRandom(seed);
  const any = (): number => residuals[Math.floor(random() * residuals.length)] ?? 0;
  const resampled = Array.from({ length: resamples }, () => {
    const moved = usable.map(({ amounts }) => {
      const value = sumOver(coefficients, amounts) * Math.max(residualLeast, 1 + any());
      return { amounts, value };
    });
    return solveNotNegative(terms, moved);
  });
  const scatter = Math.sqrt(residuals.reduce((sum, part) => sum + part ** 2, 0) / residuals.length);
  return { terms, coefficients, points: usable.length, scatter, residuals, resampled };
}

/** As many coefficients as points meet them all, which says nothing of how far others would be. */
const residualUnknown = 0.5;

/** Keeps a resampled value above zero. */
const residualLeast = 0.05;

/** Leaves out the most negative coefficient until none is negative. */
function solveNotNegative(terms: readonly Term[], observations: readonly Observation[]): Coefficients {
  for (let kept = [...terms]; ; ) {
    const rows = observations.map(({ amounts, value }) => ({
      terms: kept.map((term) => amounts[term] / value),
      value: 1,
    }));
    const solved = leastSquares(
      rows,
      rows.map(() => 1),
    );
    const lowest = Math.min(...solved);
    if (kept.length <= 1 || lowest >= 0) {
      return Object.fromEntries(kept.map((term, index) => [term, Math.max(0, solved[index] ?? 0)]));
    }
    kept = kept.filter((_, index) => solved[index] !== lowest);
  }
}

function sumOver(coefficients: Coefficients, amounts: Amounts): number {
  return Object.entries(coefficients).reduce((sum, [term, each]) => sum + each * amounts[term as Term], 0);
}

/** With the interval in which 95 % of measurements are expected: the spread of the law itself, and of the points around it. */
export function predict(law: Law, amounts: Amounts): Estimate {
  const value = sumOver(law.coefficients, amounts);
  const random = seededRandom(seed + 1);
  const around = law.resampled
    .map((coefficients) => {
      const residual = law.residuals[Math.floor(random() * law.residuals.length)] ?? 0;
      return sumOver(coefficients, amounts) * Math.max(0, 1 + residual);
    })
    .sort((a, b) => a - b);
  const at = (share: number): number => around[Math.round(share * (around.length - 1))] ?? value;
  return { value, low: Math.min(value, at(tails[0])), high: Math.max(value, at(tails[1])) };
}

export function scaled({ value, low, high }: Estimate, factor: number): Estimate {
  return { value: value * factor, low: low * factor, high: high * factor };
}
