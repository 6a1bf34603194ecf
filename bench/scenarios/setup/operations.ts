/** Operations that a scenario times itself, in the form of a result. */
import { LatencyHistogram } from "../../load/histogram.ts";
import type { OperationResult } from "../../results/schema.ts";

/** Operations run one after the other. Each one that began is in the histogram unless it is counted here. */
export function oneByOne(
  histogram: LatencyHistogram,
  wallMs: number,
  undone: { failed: number; timedOut: number } = { failed: 0, timedOut: 0 },
): OperationResult {
  const planned = histogram.count + undone.failed + undone.timedOut;
  return {
    planned,
    sent: planned,
    completed: histogram.count,
    ...undone,
    late: 0,
    histogram: histogram.encode(),
    percentilesUs: histogram.percentilesUs(),
    perSecond: wallMs === 0 ? 0 : histogram.count / (wallMs / 1_000),
    loop: "closed",
  };
}

export function histogramOf(latenciesMs: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const latencyMs of latenciesMs) histogram.recordMs(latencyMs);
  return histogram;
}
