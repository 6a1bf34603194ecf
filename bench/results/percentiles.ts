/**
 * Which percentiles a number of samples can show. A percentile is a statement about the samples above it: without one above it, it is the
 * maximum under another name. Pure.
 */
import type { OperationResult } from "./schema.ts";

export type PercentileName = keyof OperationResult["percentilesUs"];
export const percentileNames: readonly PercentileName[] = ["p50", "p90", "p99", "p999", "max"];
type Counted = Pick<OperationResult, "completed" | "percentilesUs">;

/** With fewer samples above a percentile it is withheld: a p99 needs 100 samples, a p99.9 1,000. */
const samplesAboveMin = 1;
/** With fewer samples above it one slow operation decides a percentile, so that it is marked as rough. */
const samplesAboveGood = 10;

/** One in this number of samples is above the percentile. */
const oneIn: Readonly<Record<PercentileName, number>> = { p50: 2, p90: 10, p99: 100, p999: 1_000, max: 1 };

/** The fewest samples from which the percentile is shown. */
export function samplesNeeded(name: PercentileName): number {
  return samplesAboveMin * oneIn[name];
}

/** @returns undefined if the samples are too few */
export function percentileUs({ completed, percentilesUs }: Counted, name: PercentileName): number | undefined {
  return completed < samplesNeeded(name) ? undefined : percentilesUs[name];
}

/** Whether fewer than `samplesAboveGood` samples lie above it. The maximum was measured, not estimated. */
export function isRough({ completed }: Pick<OperationResult, "completed">, name: PercentileName): boolean {
  return name !== "max" && completed < samplesAboveGood * oneIn[name];
}
