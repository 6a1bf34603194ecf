/**
 * A straight line through measured values, with the interval of its slope. Values that follow each other closely are alike, so that they
 * tell less than as many independent ones: the interval counts them as fewer, by the correlation of neighbours (an AR(1) process). Pure.
 */
import { studentQuantile } from "../../peers/bootstrap.ts";

export type Slope = {
  readonly slope: number;
  /** 95 %. */
  readonly low: number;
  readonly high: number;
};

/** A line through two points has no deviation, and so no interval. */
const pointsMin = 3;
/** Of neighbours. A higher one would leave less than one value to count. */
const correlationMax = 0.95;

/** By least squares, `points` in the order of x. @returns undefined for fewer than three points, or one x */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope | undefined {
  const count = points.length;
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / count;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  if (count < pointsMin || spread === 0) return undefined;
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const residuals = points.map(([x, y]) => y - meanY - slope * (x - meanX));
  const squares = residuals.reduce((sum, residual) => sum + residual ** 2, 0);
  const freedom = Math.max(1, independentOf(residuals, squares) - 2);
  const reach = studentQuantile(Math.floor(freedom)) * Math.sqrt(squares / freedom / spread);
  return { slope, low: slope - reach, high: slope + reach };
}

/** The number of independent values that tell as much. */
function independentOf(residuals: readonly number[], squares: number): number {
  if (squares === 0) return residuals.length;
  const products = residuals.reduce((sum, residual, index) => sum + residual * (residuals[index - 1] ?? 0), 0);
  const correlation = Math.min(correlationMax, Math.max(0, products / squares));
  return (residuals.length * (1 - correlation)) / (1 + correlation);
}
