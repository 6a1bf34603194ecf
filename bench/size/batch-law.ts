/** How many requests come in a batch at a rate of requests: read from the calibrated points, between which it is interpolated. Pure. */
import { SaltworksError } from "../../src/errors.ts";

/** `rate`: requests a second of one worker. `size`: requests in a batch. */
export type BatchPoint = { readonly rate: number; readonly size: number };

export type BatchLaw = {
  /** By rate, of which neighbours are far enough apart. */
  readonly knots: readonly BatchPoint[];
  readonly points: number;
  readonly rateMax: number;
  /** Root of the mean squared relative distance of a point from what the others say of it. */
  readonly scatter: number;
};

/** Points whose rates are nearer than this factor count as one. */
const sameRateFactor = 1.3;
const pointsLeast = 2;
/** Where no point lies between others, so that none can be held against them. */
const scatterUnknown = 0.5;

/** @throws SaltworksError CONFIG_INVALID with fewer than two points */
export function fitBatchLaw(points: readonly BatchPoint[]): BatchLaw {
  if (points.length < pointsLeast) {
    throw new SaltworksError("CONFIG_INVALID", "the calibration has too few points with batches");
  }
  const knots = knotsOf(points);
  // What the other points say at the ends would be a guess beyond them.
  const misses = points.flatMap((point) => {
    const others = knotsOf(points.filter((other) => other !== point));
    const isBetween = point.rate > (others[0]?.rate ?? 0) && point.rate < (others.at(-1)?.rate ?? 0);
    return isBetween ? [point.size / sizeAt(others, point.rate) - 1] : [];
  });
  const scatter =
    misses.length === 0 ? scatterUnknown : Math.sqrt(misses.reduce((sum, miss) => sum + miss ** 2, 0) / misses.length);
  return { knots, points: points.length, rateMax: knots.at(-1)?.rate ?? 0, scatter };
}

/** Requests in a batch at this rate of the whole master. Beyond the calibration batches stay as large as at its end. */
export function requestsPerBatch({ knots }: BatchLaw, requestsPerSecond: number, workers: number): number {
  return requestsPerSecond <= 0 ? 1 : sizeAt(knots, requestsPerSecond / workers);
}

function sizeAt(knots: readonly BatchPoint[], rate: number): number {
  const index = knots.findIndex((knot) => knot.rate >= rate);
  const [before, after] = [knots[index - 1], knots[index]];
  if (after === undefined) return knots.at(-1)?.size ?? 1;
  // Below the least rate fewer and fewer requests find another one to share a batch with.
  if (before === undefined) return 1 + (after.size - 1) * (rate / after.rate);
  const share = Math.log(rate / before.rate) / Math.log(after.rate / before.rate);
  return before.size ** (1 - share) * after.size ** share;
}

/** Geometric means of points with nearly the same rate. */
function knotsOf(points: readonly BatchPoint[]): BatchPoint[] {
  const groups: BatchPoint[][] = [];
  for (const point of [...points].sort((a, b) => a.rate - b.rate)) {
    const first = groups.at(-1)?.[0];
    if (first !== undefined && point.rate < first.rate * sameRateFactor) groups.at(-1)?.push(point);
    else groups.push([point]);
  }
  return groups.map((group) => ({ rate: meanOf(group, "rate"), size: meanOf(group, "size") }));
}

function meanOf(group: readonly BatchPoint[], of: keyof BatchPoint): number {
  return Math.exp(group.reduce((sum, point) => sum + Math.log(point[of]), 0) / group.length);
}
