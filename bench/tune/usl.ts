/**
 * The Universal Scalability Law fitted to measured throughput: X(N) = λN / (1 + σ(N−1) + κN(N−1)), σ and κ not negative.
 * Source: N. Gunther, "Guerrilla Capacity Planning" (2007), chapter 5. Pure.
 */
export type ScalingPoint = { readonly workers: number; readonly perSecond: number };

export type UslFit = {
  /** Throughput of one worker. */
  readonly lambda: number;
  /** Contention: the share of work for which all workers wait in one line. */
  readonly sigma: number;
  /** Coherency: the cost of each pair of workers for each other. */
  readonly kappa: number;
  /** Where the curve is highest; Infinity if it never turns down. */
  readonly peakWorkers: number;
  /** Peaks of the fits without one of the points, which show how far one measurement moves the peak. */
  readonly peakRange: readonly [low: number, high: number];
  /** Share of the points' variance that the curve explains. */
  readonly rSquared: number;
  /** Root of the mean squared distance of points from the curve: 0.05 is about five percent. */
  readonly scatter: number;
  readonly pointCount: number;
  /** Different numbers of workers among the points. */
  readonly distinctCount: number;
};

type Coefficients = Pick<UslFit, "lambda" | "sigma" | "kappa">;

/** Points that are further from the curve than this many times the typical distance get less weight, so that one disturbed run does not bend it. */
const huberThreshold = 1.345;
/** Median absolute deviation to standard deviation, for the normal distribution. */
const madToDeviation = 1.4826;
const reweightRounds = 20;
const newtonRoundsMax = 50;
/** A step that is shorter than this share of the full one gains nothing measurable. */
const stepShareMin = 1e-4;
/** For normalised columns: below it, two columns are linearly dependent. */
const pivotMin = 1e-12;
export function predictPerSecond({ lambda, sigma, kappa }: Coefficients, workers: number): number {
  return (lambda * workers) / (1 + sigma * (workers - 1) + kappa * workers * (workers - 1));
}

/** @returns undefined with fewer than two different numbers of workers that have throughput */
export function fitUsl(points: readonly ScalingPoint[]): UslFit | undefined {
  const usable = points.filter(({ workers, perSecond }) => workers >= 1 && perSecond > 0 && Number.isFinite(perSecond));
  const distinctCount = new Set(usable.map(({ workers }) => workers)).size;
  if (distinctCount < 2) return undefined;
  const curve = robustFit(usable);
  const peaks = usable.map((_, left) => peakOf(robustFit(usable.filter((_, index) => index !== left))));
  const peakWorkers = peakOf(curve);
  return {
    ...curve,
    peakWorkers,
    peakRange: [Math.min(peakWorkers, ...peaks), Math.max(peakWorkers, ...peaks)],
    rSquared: rSquaredOf(curve, usable),
    scatter: Math.sqrt(mean(usable.map((point) => distance(curve, point) ** 2))),
    pointCount: usable.length,
    distinctCount,
  };
}

function peakOf({ sigma, kappa }: Coefficients): number {
  if (sigma >= 1) return 1;
  return kappa > 0 ? Math.max(1, Math.sqrt((1 - sigma) / kappa)) : Number.POSITIVE_INFINITY;
}

/** Least squares of the relative distances, repeated with less weight for outliers (Huber). */
function robustFit(points: readonly ScalingPoint[]): Coefficients {
  let weights = points.map(() => 1);
  let curve = constrainedFit(points, weights);
  for (let round = 0; round < reweightRounds; round += 1) {
    const away = points.map((point) => Math.abs(distance(curve, point)));
    const typical = madToDeviation * median(away);
    if (typical < 1e-9) return curve;
    weights = away.map((length) => Math.min(1, (huberThreshold * typical) / Math.max(length, 1e-12)));
    curve = constrainedFit(points, weights);
  }
  return curve;
}

/**
 * The best curve with σ, κ ≥ 0 has both above zero, or one or both at zero: each case is fitted freely and the best allowed one taken.
 * Two different numbers of workers cannot tell the two effects apart: then κ stays zero.
 */
function constrainedFit(points: readonly ScalingPoint[], weights: readonly number[]): Coefficients {
  const isTellingApart = new Set(points.map(({ workers }) => workers)).size > 2;
  const faces: Face[] = ["none", "sigma", ...(isTellingApart ? (["kappa", "both"] as const) : [])];
  if (points.length < 2) return plain(points);
  let best = plain(points);
  let bestLoss = Number.POSITIVE_INFINITY;
  for (const face of faces) {
    const candidate = freeFit(points, weights, face);
    if (!(candidate.lambda > 0) || candidate.sigma < 0 || candidate.kappa < 0) continue;
    const loss = lossOf(candidate, points, weights);
    if (loss < bestLoss) [best, bestLoss] = [candidate, loss];
  }
  return best;
}

function plain(points: readonly ScalingPoint[]): Coefficients {
  return { lambda: mean(points.map(({ workers, perSecond }) => perSecond / workers)), sigma: 0, kappa: 0 };
}

/** Which of σ and κ may be above zero. */
type Face = "none" | "sigma" | "kappa" | "both";

function coefficientsOf(face: Face, parameters: readonly number[]): Coefficients {
  const [lambda = 0, first = 0, second = 0] = parameters;
  return {
    lambda,
    sigma: face === "sigma" || face === "both" ? first : 0,
    kappa: face === "kappa" ? first : face === "both" ? second : 0,
  };
}

/** Gauss-Newton from the minimum of the linear form, which is a few steps away; a step that increases the error is halved. */
function freeFit(points: readonly ScalingPoint[], weights: readonly number[], face: Face): Coefficients {
  let parameters = linearFit(points, weights, face);
  let loss = lossOf(coefficientsOf(face, parameters), points, weights);
  for (let round = 0; round < newtonRoundsMax; round += 1) {
    const curve = coefficientsOf(face, parameters);
    const rows = points.map(({ workers, perSecond }) => ({
      terms: slopes(face, curve, workers).map((slope) => slope / predictPerSecond(curve, workers)),
      value: distance(curve, { workers, perSecond }),
    }));
    const step = leastSquares(rows, weights);
    let share = 1;
    let next = parameters;
    let nextLoss = loss;
    for (; share > stepShareMin; share /= 2) {
      next = parameters.map((value, index) => value + share * (step[index] ?? 0));
      nextLoss = lossOf(coefficientsOf(face, next), points, weights);
      if (nextLoss < loss) break;
    }
    if (!(nextLoss < loss)) break;
    const isDone = loss - nextLoss < 1e-12 * loss;
    [parameters, loss] = [next, nextLoss];
    if (isDone) break;
  }
  return coefficientsOf(face, parameters);
}

/** N / X(N) is linear in 1/λ, σ/λ and κ/λ. @returns the face's free coefficients */
function linearFit(points: readonly ScalingPoint[], weights: readonly number[], face: Face): number[] {
  // Each row divided by its own value, so that distances are relative here, too.
  const rows = points.map(({ workers, perSecond }) => {
    const [contention, coherency] = [workers - 1, workers * (workers - 1)];
    const terms = { none: [1], sigma: [1, contention], kappa: [1, coherency], both: [1, contention, coherency] }[face];
    return { terms: terms.map((term) => (term * perSecond) / workers), value: 1 };
  });
  const [first = 0, ...others] = leastSquares(rows, weights);
  return [1 / first, ...others.map((value) => value / first)];
}

export type Row = { readonly terms: readonly number[]; readonly value: number };

/** Solves the weighted normal equations with normalised columns, because λ and κ differ by many powers of ten. */
export function leastSquares(rows: readonly Row[], weights: readonly number[]): number[] {
  const width = rows[0]?.terms.length ?? 0;
  const columns = Array.from({ length: width }, (_, column) => rows.map(({ terms }) => terms[column] ?? 0));
  const weightedDot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, index) => sum + (weights[index] ?? 1) * value * (b[index] ?? 0), 0);
  const sizes = columns.map((column) => Math.sqrt(weightedDot(column, column)) || 1);
  const scaled = columns.map((column, index) => column.map((value) => value / (sizes[index] ?? 1)));
  const values = rows.map(({ value }) => value);
  const matrix = scaled.map((left) => [...scaled.map((right) => weightedDot(left, right)), weightedDot(left, values)]);
  return solve(matrix).map((value, index) => value / (sizes[index] ?? 1));
}

/** Gauss-Jordan with pivots; each row ends with its right-hand side. An undetermined unknown is zero. */
function solve(matrix: number[][]): number[] {
  const size = matrix.length;
  for (let column = 0; column < size; column += 1) {
    const below = matrix.slice(column).sort((a, b) => Math.abs(b[column] ?? 0) - Math.abs(a[column] ?? 0));
    matrix.splice(column, below.length, ...below);
    const pivotRow = matrix[column] ?? [];
    const pivot = pivotRow[column] ?? 0;
    if (Math.abs(pivot) < pivotMin) continue;
    for (const [index, row] of matrix.entries()) {
      if (index === column) continue;
      const factor = (row[column] ?? 0) / pivot;
      for (let at = column; at <= size; at += 1) row[at] = (row[at] ?? 0) - factor * (pivotRow[at] ?? 0);
    }
  }
  return matrix.map((row, index) => {
    const pivot = row[index] ?? 0;
    return Math.abs(pivot) < pivotMin ? 0 : (row[size] ?? 0) / pivot;
  });
}

/** Partial derivatives of the throughput by the face's free coefficients. */
function slopes(face: Face, { lambda, sigma, kappa }: Coefficients, workers: number): number[] {
  const waiting = 1 + sigma * (workers - 1) + kappa * workers * (workers - 1);
  const byLambda = workers / waiting;
  const bySigma = (-lambda * workers * (workers - 1)) / waiting ** 2;
  const byKappa = bySigma * workers;
  return {
    none: [byLambda],
    sigma: [byLambda, bySigma],
    kappa: [byLambda, byKappa],
    both: [byLambda, bySigma, byKappa],
  }[face];
}

/** The distance of a point from the curve: the logarithm of their ratio, so that a third is as far as three times. */
function distance(curve: Coefficients, { workers, perSecond }: ScalingPoint): number {
  return Math.log(perSecond / predictPerSecond(curve, workers));
}

/** Infinite if the curve has no positive throughput. */
function lossOf(curve: Coefficients, points: readonly ScalingPoint[], weights: readonly number[]): number {
  const loss = points.reduce((sum, point, index) => sum + (weights[index] ?? 1) * distance(curve, point) ** 2, 0);
  return Number.isNaN(loss) ? Number.POSITIVE_INFINITY : loss;
}

function rSquaredOf(curve: Coefficients, points: readonly ScalingPoint[]): number {
  const middle = mean(points.map(({ perSecond }) => perSecond));
  const total = points.reduce((sum, { perSecond }) => sum + (perSecond - middle) ** 2, 0);
  const left = points.reduce(
    (sum, { workers, perSecond }) => sum + (perSecond - predictPerSecond(curve, workers)) ** 2,
    0,
  );
  // Constant throughput has no variance to explain.
  if (total <= (1e-9 * middle) ** 2 * points.length) return left <= (1e-4 * middle) ** 2 * points.length ? 1 : 0;
  return 1 - left / total;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
