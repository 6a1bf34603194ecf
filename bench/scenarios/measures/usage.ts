/** CPU time and memory of a master: from /proc where its process is on this machine, else from its metrics. */
import { setTimeout as wait } from "node:timers/promises";
import { threadTimes, threadTimesBetween } from "../../cpu-by-thread.ts";
import { startCpuClock } from "../../cpu-clock.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { memoryOf } from "../../memory.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { parseMetrics, type Samples, sumOf } from "./prometheus.ts";

export type Memory = { readonly rssBytes: number; readonly peakRssBytes: number };

export type Spent = {
  readonly cpuMs: number;
  readonly byThreadMs: Record<string, number>;
  readonly memory: Memory;
};

/** A master is at rest when it used at most this in one look: 4 % of a core. */
const restMs = 10;
const restLookMs = 250;
const restLooksMax = 40;

/** Waits until the master is at rest, because its work after the last answer counts, too. A master that other minions use never is. */
export async function untilRest(master: MasterUnderTest, signal: AbortSignal): Promise<void> {
  if (master.usageFrom === "nowhere") return;
  await untilCpuRests(() => cpuSoFarMs(master), signal);
}

/** As `untilRest`, for any programs. `cpuMs`: their CPU time so far. */
export async function untilCpuRests(cpuMs: () => number | Promise<number>, signal: AbortSignal): Promise<void> {
  let before = await cpuMs();
  for (let look = 0; look < restLooksMax; look += 1) {
    await wait(restLookMs, undefined, { signal });
    const now = await cpuMs();
    if (now - before <= restMs) return;
    before = now;
  }
}

/** Starts now. The returned function gives what the master used since then; its sampler knows the peak of a master that tells metrics only. */
export async function startUsageClock(master: MasterUnderTest): Promise<() => Promise<Spent>> {
  switch (master.usageFrom) {
    case "nowhere":
      return async () => ({ cpuMs: 0, byThreadMs: {}, memory: { rssBytes: 0, peakRssBytes: 0 } });
    case "metrics": {
      const before = await samplesOf(master);
      return async () => spentBetween(before, await samplesOf(master));
    }
    case "process": {
      const cpuMs = startCpuClock(master.processId);
      const threads = threadTimes(master.processId);
      return async () => ({
        cpuMs: cpuMs(),
        byThreadMs: threadTimesBetween(threads, threadTimes(master.processId)),
        memory: memoryOf(master.processId),
      });
    }
    default: {
      const never: never = master.usageFrom;
      throw new TypeError(`unknown source ${String(never)}`);
    }
  }
}

/** CPU time and resident memory at this moment, from `samples` for a master that tells metrics only. */
export function usageNow(
  master: MasterUnderTest,
  samples: Samples | undefined,
): { readonly cpuMs: number; readonly rssBytes: number } | undefined {
  if (master.usageFrom === "process")
    return { cpuMs: cpuTimeMs(master.processId), rssBytes: memoryOf(master.processId).rssBytes };
  if (samples === undefined || master.usageFrom === "nowhere") return undefined;
  return { cpuMs: cpuIn(samples), rssBytes: sumOf(samples, residentBytes) };
}

const cpuSeconds = "process_cpu_seconds_total";
const residentBytes = "process_resident_memory_bytes";
const threadSeconds = "saltworks_thread_cpu_seconds_total";

async function samplesOf(master: MasterUnderTest): Promise<Samples> {
  return parseMetrics((await master.metrics?.()) ?? "");
}

async function cpuSoFarMs(master: MasterUnderTest): Promise<number> {
  return master.usageFrom === "process" ? cpuTimeMs(master.processId) : cpuIn(await samplesOf(master));
}

function cpuIn(samples: Samples): number {
  return sumOf(samples, cpuSeconds) * 1_000;
}

function spentBetween(before: Samples, after: Samples): Spent {
  const byThreadMs: Record<string, number> = {};
  for (const { name, labels, value } of after) {
    const thread = name === threadSeconds ? /thread="([^"]*)"/.exec(labels)?.[1] : undefined;
    if (thread === undefined) continue;
    const spentMs = (value - sumOf(before, threadSeconds, labels)) * 1_000;
    if (spentMs > 0) byThreadMs[thread] = spentMs;
  }
  const rssBytes = sumOf(after, residentBytes);
  return { cpuMs: cpuIn(after) - cpuIn(before), byThreadMs, memory: { rssBytes, peakRssBytes: rssBytes } };
}
