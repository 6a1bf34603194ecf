/** Splits schedules over the processes of a storm, and joins their counts and histograms. */
import { LatencyHistogram } from "../../load/histogram.ts";
import { judgeGenerator, type SelfReport, shareOfHost } from "../../load/self-check.ts";
import type { AgentReport, Loop, OperationResult, Point } from "../../results/schema.ts";
import type { Traffic } from "./connection.ts";
import { hostName } from "./host.ts";
import type { JobReturns, LaneOutcome, ResponderCounts, ResponderReport, RunOutcome } from "./messages.ts";
import type { Part } from "./shares.ts";

/** `plannedMs`: open loop over all processes; `plannedByProcess`: each process's own times. Without both, closed loop. */
export type LanePlan = {
  readonly lane: string;
  readonly plannedMs?: Float64Array;
  readonly plannedByProcess?: readonly Float64Array[];
};

export type StormOutcome = {
  readonly lanes: Readonly<Record<string, LaneTotal>>;
  readonly generator: Point["generator"];
  readonly generatorCpuMs: number;
  /** Of each process. */
  readonly selves: readonly SelfReport[];
  readonly traffic: Traffic;
  /** From the first planned send to the last reply. */
  readonly wallMs: number;
};

export type LaneTotal = Omit<LaneOutcome, "histogram"> & { readonly operation: OperationResult };

/** Sums of a responding storm since it was last reset. */
export type ResponderTotal = {
  readonly counts: ResponderCounts;
  readonly histogram: LatencyHistogram;
  readonly generator: Point["generator"];
  readonly generatorCpuMs: number;
  /** Of each process. */
  readonly selves: readonly SelfReport[];
  readonly traffic: Traffic;
};

function addTraffic(parts: readonly Traffic[]): Traffic {
  return {
    sentBytes: parts.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
    receivedBytes: parts.reduce((sum, { receivedBytes }) => sum + receivedBytes, 0),
  };
}

export function addCounts(parts: readonly ResponderCounts[]): ResponderCounts {
  const sum = (name: keyof ResponderCounts): number => parts.reduce((total, part) => total + part[name], 0);
  return {
    publishes: sum("publishes"),
    matched: sum("matched"),
    sent: sum("sent"),
    acknowledged: sum("acknowledged"),
    repeated: sum("repeated"),
    failed: sum("failed"),
    timedOut: sum("timedOut"),
    wrong: sum("wrong"),
    lastReplyAtMs: Math.max(0, ...parts.map(({ lastReplyAtMs }) => lastReplyAtMs)),
  };
}

export function joinReports(reports: readonly ResponderReport[]): ResponderTotal {
  const histogram = new LatencyHistogram();
  for (const report of reports) histogram.add(LatencyHistogram.decode(report.histogram));
  const counts = addCounts(reports.map((report) => report.counts));
  const selves = reports.map(({ self }) => self);
  return {
    counts,
    histogram,
    generator: judgeGenerator({ reports: selves, loop: "closed", sent: counts.sent, late: 0 }),
    generatorCpuMs: selves.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    selves,
    traffic: addTraffic(reports.map(({ traffic }) => traffic)),
  };
}

/**
 * Each process's part of a schedule in which operation k belongs to minion k modulo the fleet: evenly over the processes at any moment,
 * and as many in each round as the process has minions.
 */
export function splitSchedule(plannedMs: Float64Array, counts: readonly number[]): Float64Array[] {
  // Process p's minion k comes where the share (k + ½) of its own minions is reached.
  const places = counts.flatMap((count, index) =>
    Array.from({ length: count }, (_, minion) => ({ index, at: (minion + 0.5) / count })),
  );
  const order = places.sort((one, other) => one.at - other.at).map(({ index }) => index);
  const parts = counts.map(() => [] as number[]);
  for (const [index, atMs] of plannedMs.entries()) parts[order[index % order.length] ?? 0]?.push(atMs);
  return parts.map((part) => Float64Array.from(part));
}

/** The returns of each process's minions, `counts` of them in the order of the fleet. Their minions count from the process's first. */
export function splitReturns(
  { job, minion, bytes }: JobReturns,
  plannedMs: Float64Array,
  counts: readonly number[],
): { readonly returns: JobReturns; readonly plannedMs: Float64Array }[] {
  let first = 0;
  return counts.map((count) => {
    const from = first;
    first += count;
    const own: number[] = [];
    for (const [index, of] of minion.entries()) if (of >= from && of < from + count) own.push(index);
    const pick = (column: Uint32Array) => Uint32Array.from(own, (index) => column[index] ?? 0);
    const returns = { job: pick(job), minion: pick(minion).map((of) => of - from), bytes: pick(bytes) };
    return { returns, plannedMs: Float64Array.from(own, (index) => plannedMs[index] ?? 0) };
  });
}

function isPlanned({ plannedByProcess, plannedMs }: LanePlan): boolean {
  return (plannedMs ?? plannedByProcess) !== undefined;
}

export function joinOutcomes(lanes: readonly LanePlan[], outcomes: readonly RunOutcome[]): StormOutcome {
  const joined: Record<string, LaneTotal> = {};
  for (const plan of lanes) {
    const parts = outcomes.flatMap((outcome) => outcome.lanes[plan.lane] ?? []);
    joined[plan.lane] = joinLane(parts, isPlanned(plan) ? "open" : "closed");
  }
  const totals = Object.values(joined);
  const reports: SelfReport[] = outcomes.map(({ self }) => self);
  // Requests of a closed loop beside it have no planned time, and must not lower the share of late ones.
  const planned = lanes.flatMap((plan) => (isPlanned(plan) ? (joined[plan.lane] ?? []) : []));
  return {
    lanes: joined,
    generator: judgeGenerator({
      reports,
      loop: planned.length > 0 ? "open" : "closed",
      sent: planned.reduce((sum, { sent }) => sum + sent, 0),
      late: planned.reduce((sum, { late }) => sum + late, 0),
      ...lateOn(outcomes),
    }),
    generatorCpuMs: reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    selves: reports,
    traffic: addTraffic(outcomes.map(({ traffic }) => traffic)),
    wallMs: Math.max(0, ...totals.map(({ lastReplyMs }) => lastReplyMs)),
  };
}

/** Late operations by host, the most first, if the load came from several hosts. */
function lateOn(outcomes: readonly RunOutcome[]): { lateOn?: string } {
  const byHost = new Map<string, number>();
  for (const { self, lanes } of outcomes) {
    const late = Object.values(lanes).reduce((sum, lane) => sum + lane.late, 0);
    if (self.host !== undefined && late > 0) byHost.set(self.host.name, (byHost.get(self.host.name) ?? 0) + late);
  }
  if (byHost.size === 0) return {};
  const sorted = [...byHost].sort(([, one], [, other]) => other - one);
  return { lateOn: sorted.map(([name, late]) => `${late} on ${name}`).join(", ") };
}

/** Adds what each agent's host did. */
export function withAgents<Total extends Pick<StormOutcome, "generator" | "selves">>(
  total: Total,
  parts: readonly Part[],
): Total {
  const hosts = [...new Set(parts.map(({ host }) => host))];
  const agents = hosts.flatMap((host): AgentReport[] => {
    const { facts, cores, clock } = host;
    if (facts === undefined) return [];
    const selves = total.selves.filter((self) => self.host?.name === hostName(host));
    const minions = parts.reduce((sum, part) => sum + (part.host === host ? part.count : 0), 0);
    const { offsetMs: clockOffsetMs, uncertaintyMs: clockUncertaintyMs } = clock;
    return [{ ...facts, cores, clockOffsetMs, clockUncertaintyMs, cpuShare: shareOfHost(selves, cores), minions }];
  });
  return agents.length === 0 ? total : { ...total, generator: { ...total.generator, agents } };
}

function joinLane(parts: readonly LaneOutcome[], loop: Loop): LaneTotal {
  const sum = (name: Exclude<keyof LaneOutcome, "histogram">): number =>
    parts.reduce((total, part) => total + part[name], 0);
  const histogram = new LatencyHistogram();
  for (const part of parts) histogram.add(LatencyHistogram.decode(part.histogram));
  const lastReplyMs = Math.max(0, ...parts.map((part) => part.lastReplyMs));
  const counts = {
    planned: sum("planned"),
    sent: sum("sent"),
    completed: sum("completed"),
    failed: sum("failed"),
    timedOut: sum("timedOut"),
    late: sum("late"),
  };
  const operation: OperationResult = {
    ...counts,
    toMasterBytes: sum("sentBytes"),
    fromMasterBytes: sum("receivedBytes"),
    histogram: histogram.encode(),
    percentilesUs: histogram.percentilesUs(),
    perSecond: lastReplyMs === 0 ? 0 : counts.completed / (lastReplyMs / 1_000),
    loop,
  };
  return {
    ...counts,
    repeated: sum("repeated"),
    lastReplyMs,
    verified: sum("verified"),
    wrong: sum("wrong"),
    empty: sum("empty"),
    sentBytes: sum("sentBytes"),
    receivedBytes: sum("receivedBytes"),
    sealedAhead: sum("sealedAhead"),
    operation,
  };
}
