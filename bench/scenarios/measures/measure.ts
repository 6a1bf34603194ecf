/** A measured span of a master: CPU by thread until the master is at rest again, memory, and values over time. Scenarios add their own figures. */
import { threadTimes, threadTimesBetween } from "../../cpu-by-thread.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import type { Point, Series } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { Sampler } from "./sampler.ts";
import { type Spent, startUsageClock, untilRest } from "./usage.ts";

export type Span = Pick<Point, "series" | "wallMs"> & Spent;

/** Wall time is that of `work`; CPU time is counted until the master is at rest. */
export async function measured<Result>(
  master: MasterUnderTest,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<{ span: Span; result: Result }> {
  await untilRest(master, signal);
  const spent = await startUsageClock(master);
  const sampler = new Sampler(master);
  const startedMs = performance.now();
  let result: Result;
  let series: Series;
  let wallMs: number;
  try {
    result = await work();
  } finally {
    wallMs = performance.now() - startedMs;
    series = await sampler.stop();
  }
  await untilRest(master, signal);
  const span = { wallMs, series, ...(await spent()) };
  const peakRssBytes = Math.max(span.memory.peakRssBytes, ...(series.values.rssBytes ?? []));
  return { span: { ...span, memory: { ...span.memory, peakRssBytes } }, result };
}

/** CPU time of a master since its start. */
export function spentSinceStart(master: MasterUnderTest): Pick<Span, "cpuMs" | "byThreadMs"> {
  const byThreadMs = threadTimesBetween(new Map(), threadTimes(master.processId));
  return { cpuMs: cpuTimeMs(master.processId), byThreadMs };
}

/** `operations`: the divisor of the CPU time. */
export function cpuOf(span: Pick<Span, "cpuMs" | "byThreadMs">, operations: number): Point["cpu"] {
  return {
    totalMs: span.cpuMs,
    usPerOperation: operations === 0 ? 0 : (span.cpuMs * 1_000) / operations,
    byThreadMs: span.byThreadMs,
  };
}
