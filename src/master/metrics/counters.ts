/** Gathers all counters of the master: of the main thread, each worker and each queue. Only names and numbers, no contents. */
import { openedSealCount } from "../../crypto/crypticle.ts";
import { metricsWorkerTimeoutMs } from "../../limits.ts";
import { diskFaultCounts } from "../../store/disk/faults.ts";
import type { RouterServer } from "../../transport/zmtp/router-server.ts";
import type { WorkerCounts } from "../../workers/messages/worker.ts";
import type { MeteredEventReturns } from "./event-returns.ts";
import { reactorCounters } from "./reactor.ts";
import type { MeteredParts } from "./sources.ts";

type CounterSource = () => Readonly<Record<string, number>>;
/** A worker's counters, and its faults since it was last asked. */
type WorkerCounters = { readonly counters: WorkerCounts; readonly faults: readonly string[] };

export type GatheredCounters = {
  readonly main: Readonly<Record<string, number>>;
  readonly workers: readonly Readonly<Record<string, number>>[];
};

export async function gatherCounters(
  parts: MeteredParts,
  onFault: (slot: number, fault: string) => void,
): Promise<GatheredCounters> {
  const gathered: Record<string, number> = {};
  await parts.publishFront.look(metricsWorkerTimeoutMs);
  for (const [part, source] of Object.entries(mainSources(parts))) {
    for (const [name, value] of Object.entries(source())) gathered[part === "" ? name : `${part}.${name}`] = value;
  }
  const workers = await parts.pool.broadcast<WorkerCounters>(() => ({ kind: "counters" }));
  for (const [slot, worker] of workers.entries()) for (const fault of worker.faults) onFault(slot, fault);
  return { main: gathered, workers: workers.map((worker) => ({ ...worker.counters })) };
}

function connectionCounters(server: RouterServer | undefined): Readonly<Record<string, number>> {
  if (server === undefined) return {};
  const { counters, closed, groups, unfinishedChargedBytes } = server;
  const { strangers, proven } = groups;
  const pauses = { pausesOfStrangers: strangers.pauses, pausesOfProven: proven.pauses };
  return { ...counters, ...closed, ...pauses, unfinishedChargedBytes };
}

function eventReturnCounters(returns: MeteredEventReturns): Readonly<Record<string, number>> {
  if (!returns.isConfigured) return {};
  const each = returns
    .status()
    .flatMap(({ name, waiting, counters }) =>
      Object.entries({ ...counters, waiting }).map(([count, value]): [string, number] => [`${name}.${count}`, value]),
    );
  return { ...returns.counters, ...Object.fromEntries(each) };
}

function mainSources(parts: MeteredParts): Readonly<Record<string, CounterSource>> {
  const {
    batcher,
    authResponder,
    bus,
    lanes,
    pool,
    publisher,
    tracker,
    deliveries,
    maintenance,
    keyManagement,
    presence,
    pillars,
    mines,
    files,
    peers,
  } = parts;
  const ofLanes = Object.entries(lanes).map(([name, lane]): [string, CounterSource] => [
    name,
    () => ({ ...lane.counters, pending: lane.pending }),
  ]);
  return {
    "": () => ({
      ...batcher.counters,
      ...batcher.rowCounters,
      ...batcher.authCounters,
      ...authResponder.counters,
      ...parts.logCounters,
      openedSeals: openedSealCount(),
    }),
    requests: () => parts.requestFront()?.counters ?? {},
    connections: () => connectionCounters(parts.requestFront()?.server),
    publishes: () => {
      const { closed, ...stats } = parts.publishFront.stats;
      return { ...parts.publishFront.counters, ...stats };
    },
    bus: () => ({ ...bus.counters, subscribers: bus.subscriberCount, droppedEvents: bus.droppedEvents }),
    pool: () => pool.counters,
    ...Object.fromEntries(ofLanes),
    pillars: () => ({ ...pillars.counters, pending: pillars.pending }),
    pillarCommands: () => pillars.commandCounters,
    pillarCache: () => pillars.kept.counters,
    mines: () => ({ ...mines.counters, pending: mines.pending }),
    peers: () => ({ ...peers.counters, pending: peers.pending }),
    files: () => ({ ...files.counters, waiting: files.waitingCount, bytesOnTheirWay: files.bytesOnTheirWay }),
    jobs: () => ({
      ...publisher.counters,
      ...tracker.counters,
      following: tracker.followedCount,
      records: tracker.recordCount,
      ...maintenance.counters,
    }),
    batches: () => ({ ...parts.batches.counters, running: parts.batches.runningCount }),
    deliveries: () => ({ ...deliveries.counters, jobs: deliveries.jobCount, minions: deliveries.minionCount }),
    disk: diskFaultCounts,
    keys: () => keyManagement.counters,
    saltFiles: () => parts.saltFiles.counters,
    database: () => {
      const { isConfigured, counters, waiting } = parts.copies.jobShipping;
      return isConfigured ? { ...counters, waiting } : {};
    },
    eventReturns: () => eventReturnCounters(parts.copies.eventReturns),
    // `reactor` is the name of its lane.
    reactions: () => reactorCounters(parts.reactor),
    presence: () => ({ ...presence.counters, connected: presence.connectedCount }),
  };
}
