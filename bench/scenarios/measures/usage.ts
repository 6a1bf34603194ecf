/** CPU time and memory of a master: from /proc where its process is on this machine, else from its metrics. */
import { setTimeout as wait } from "node:timers/promises";
import { threadTimes, threadTimesBetween } from "../../cpu-by-thread.ts";
import { startCpuClock } from "../../cpu-clock.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { memoryOf } from "../../memory.ts";
import type { ClusterUnderTest, MasterUnderTest } from "../setup/master-contract.ts";
import { parseMetrics, type Samples, sumOf } from "./prometheus.ts";

export type Memory = { readonly rssBytes: number; readonly peakRssBytes: number };

/** CPU time of a cluster's programs: the members that minions return to, the other members, and all nats-servers. */
export type ClusterSpent = { readonly takersMs: number; readonly othersMs: number; readonly serversMs: number };

export type Spent = {
  readonly cpuMs: number;
  readonly byThreadMs: Record<string, number>;
  readonly memory: Memory;
  /** Of a cluster, whose sum is `cpuMs`. */
  readonly clusterMs?: ClusterSpent;
};

/** A master is at rest when it used at most this in one look: 4 % of a core. */
const restMs = 10;
const restLookMs = 250;
const restLooksMax = 40;

/** Waits until the master is at rest, because its work after the last answer counts, too. A master that other minions use never is. */
export async function untilRest(master: MasterUnderTest, signal: AbortSignal): Promise<void> {
  if (master.usageFrom === "nowhere") return;
  await untilCpuRests(() => cpuSoFarMs(master), signal, restMs * (2 * (master.cluster?.members.length ?? 0.5)));
}

/** As `untilRest`, for any programs. `cpuMs`: their CPU time so far. */
export async function untilCpuRests(
  cpuMs: () => number | Promise<number>,
  signal: AbortSignal,
  mostMs = restMs,
): Promise<void> {
  let before = await cpuMs();
  for (let look = 0; look < restLooksMax; look += 1) {
    await wait(restLookMs, undefined, { signal });
    const now = await cpuMs();
    if (now - before <= mostMs) return;
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
    case "process":
      return master.cluster === undefined ? startProcessClock(master.processId) : startClusterClock(master.cluster);
    default: {
      const never: never = master.usageFrom;
      throw new TypeError(`unknown source ${String(never)}`);
    }
  }
}

function startProcessClock(processId: number): () => Promise<Spent> {
  const cpuMs = startCpuClock(processId);
  const threads = threadTimes(processId);
  return async () => ({
    cpuMs: cpuMs(),
    byThreadMs: threadTimesBetween(threads, threadTimes(processId)),
    memory: memoryOf(processId),
  });
}

function startClusterClock({ members, takerCount }: ClusterUnderTest): () => Promise<Spent> {
  const clocks = members.map(({ processId, serverProcessId }, at) => {
    return { isTaker: at < takerCount, whole: startProcessClock(processId), server: startCpuClock(serverProcessId) };
  });
  return async () => {
    const clusterMs = { takersMs: 0, othersMs: 0, serversMs: 0 };
    const all: Spent[] = [];
    for (const { isTaker, whole, server } of clocks) {
      const spent = await whole();
      const serverMs = server();
      clusterMs[isTaker ? "takersMs" : "othersMs"] += spent.cpuMs - serverMs;
      clusterMs.serversMs += serverMs;
      all.push(spent);
    }
    return { ...all.reduce(addSpent), clusterMs };
  };
}

function addSpent(one: Spent, other: Spent): Spent {
  const byThreadMs = { ...one.byThreadMs };
  for (const [name, ms] of Object.entries(other.byThreadMs)) byThreadMs[name] = (byThreadMs[name] ?? 0) + ms;
  const rssBytes = one.memory.rssBytes + other.memory.rssBytes;
  const peakRssBytes = one.memory.peakRssBytes + other.memory.peakRssBytes;
  return { cpuMs: one.cpuMs + other.cpuMs, byThreadMs, memory: { rssBytes, peakRssBytes } };
}

/** The first processes of a master, or of all members of its cluster. */
function processesOf(master: MasterUnderTest): readonly number[] {
  return master.cluster?.members.map(({ processId }) => processId) ?? [master.processId];
}

function processCpuMs(master: MasterUnderTest): number {
  return processesOf(master).reduce((sum, pid) => sum + cpuTimeMs(pid), 0);
}

/** CPU time and resident memory at this moment, from `samples` for a master that tells metrics only. */
export function usageNow(
  master: MasterUnderTest,
  samples: Samples | undefined,
): { readonly cpuMs: number; readonly rssBytes: number } | undefined {
  if (master.usageFrom === "process") {
    const rssBytes = processesOf(master).reduce((sum, pid) => sum + memoryOf(pid).rssBytes, 0);
    return { cpuMs: processCpuMs(master), rssBytes };
  }
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
  return master.usageFrom === "process" ? processCpuMs(master) : cpuIn(await samplesOf(master));
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
