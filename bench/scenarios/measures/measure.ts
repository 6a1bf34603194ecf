/** A measured span of a master: CPU by thread until the master is at rest again, memory, and values over time. Scenarios add their own figures. */
import { threadTimes, threadTimesBetween } from "../../cpu-by-thread.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { type MachineTimes, machineTimes, otherShareBetween } from "../../machine-load.ts";
import type { Point, Series } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { Sampler } from "./sampler.ts";
import { readStorage, type StorageChange, storageBetween } from "./storage.ts";
import { type Spent, startUsageClock, untilRest } from "./usage.ts";

export type Span = Pick<Point, "series" | "wallMs"> &
  Spent & {
    /** The share of the machine's CPU time that programs besides the master and the generator took. */
    readonly otherShare: number;
    readonly storage: StorageChange;
  };

/** Wall time is that of `work`; CPU time is counted until the master is at rest. `sampleMs`: interval of the values over time. */
export async function measured<Result>(
  master: MasterUnderTest,
  signal: AbortSignal,
  work: () => Promise<Result>,
  sampleMs?: number,
): Promise<{ span: Span; result: Result }> {
  await untilRest(master, signal);
  const storage = await readStorage(master);
  const machine = benchTimes(master);
  const spent = await startUsageClock(master);
  const sampler = new Sampler(master, sampleMs);
  const startedMs = performance.now();
  let result: Result;
  let series: Series;
  let wallMs: number;
  let otherShare = 0;
  try {
    result = await work();
  } finally {
    wallMs = performance.now() - startedMs;
    otherShare = isMasterKnown(master) ? otherShareBetween(machine, benchTimes(master)) : 0;
    series = await sampler.stop();
  }
  await untilRest(master, signal);
  const span = { wallMs, series, otherShare, ...(await spent()) };
  const peakRssBytes = Math.max(span.memory.peakRssBytes, ...(series.values.rssBytes ?? []));
  const change = storageBetween(storage, await readStorage(master));
  return { span: { ...span, storage: change, memory: { ...span.memory, peakRssBytes } }, result };
}

/** The generator's processes are below this one, and the master's, unless it runs already. */
export function benchTimes(master?: MasterUnderTest): MachineTimes {
  const isElsewhere = master?.reach === undefined || master.usageFrom !== "process";
  return machineTimes(cpuTimeMs(process.pid) + (isElsewhere ? 0 : cpuTimeMs(master.processId)));
}

/** A running master whose process is not known may be on this machine, where it would count as another program. */
function isMasterKnown({ reach, usageFrom }: MasterUnderTest): boolean {
  return reach === undefined || usageFrom === "process";
}

/** CPU time of a master since its start. */
export function spentSinceStart(master: MasterUnderTest): Pick<Span, "cpuMs" | "byThreadMs"> {
  const byThreadMs = threadTimesBetween(new Map(), threadTimes(master.processId));
  return { cpuMs: cpuTimeMs(master.processId), byThreadMs };
}

/** `operations`: the divisor of the CPU time. */
export function cpuOf(span: Pick<Span, "cpuMs" | "byThreadMs" | "clusterMs">, operations: number): Point["cpu"] {
  return {
    totalMs: span.cpuMs,
    usPerOperation: operations === 0 ? 0 : (span.cpuMs * 1_000) / operations,
    byThreadMs: span.byThreadMs,
    ...(span.clusterMs === undefined ? {} : { cluster: span.clusterMs }),
  };
}
