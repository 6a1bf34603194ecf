/** A measured span of a master: CPU by thread until the master is at rest again, memory, and values over time. Scenarios add their own figures. */
import { setTimeout as wait } from "node:timers/promises";
import { threadTimes, threadTimesBetween } from "../../cpu-by-thread.ts";
import { startCpuClock } from "../../cpu-clock.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { memoryOf } from "../../memory.ts";
import type { Point, Series } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { Sampler } from "./sampler.ts";
import { readStorage, type StorageChange, storageBetween } from "./storage.ts";

export type Span = Pick<Point, "memory" | "series" | "wallMs"> & {
  readonly cpuMs: number;
  readonly byThreadMs: Record<string, number>;
  readonly storage: StorageChange;
};

/** A master is at rest when it used at most this in one look: 4 % of a core. */
const restMs = 10;
const restLookMs = 250;
const restLooksMax = 40;

/** Waits until the master is at rest, because its work after the last answer counts, too. */
export async function untilRest(master: MasterUnderTest, signal: AbortSignal): Promise<void> {
  await untilCpuRests(() => cpuTimeMs(master.processId), signal);
}

/** As `untilRest`, for any programs. `cpuMs`: their CPU time so far. */
export async function untilCpuRests(cpuMs: () => number, signal: AbortSignal): Promise<void> {
  let before = cpuMs();
  for (let look = 0; look < restLooksMax; look += 1) {
    await wait(restLookMs, undefined, { signal });
    const now = cpuMs();
    if (now - before <= restMs) return;
    before = now;
  }
}

/** Wall time is that of `work`; CPU time is counted until the master is at rest. */
export async function measured<Result>(
  master: MasterUnderTest,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<{ span: Span; result: Result }> {
  await untilRest(master, signal);
  const storage = await readStorage(master);
  const cpuMs = startCpuClock(master.processId);
  const threads = threadTimes(master.processId);
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
  const span = {
    wallMs,
    series,
    cpuMs: cpuMs(),
    byThreadMs: threadTimesBetween(threads, threadTimes(master.processId)),
    memory: memoryOf(master.processId),
  };
  return { span: { ...span, storage: storageBetween(storage, await readStorage(master)) }, result };
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
