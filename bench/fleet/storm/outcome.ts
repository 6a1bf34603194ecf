/** Splits schedules over the processes of a storm, and joins their counts and histograms. */
import { LatencyHistogram } from "../../load/histogram.ts";
import { judgeGenerator, type SelfReport } from "../../load/self-check.ts";
import type { OperationResult, Point } from "../../results/schema.ts";
import type { Traffic } from "./connection.ts";
import type { LaneOutcome, ResponderCounts, ResponderReport, RunOutcome } from "./messages.ts";

/** `plannedMs`: open loop over all processes; without it, closed loop. */
export type LanePlan = { readonly lane: string; readonly plannedMs?: Float64Array };

export type StormOutcome = {
  readonly lanes: Readonly<Record<string, LaneTotal>>;
  readonly generator: Point["generator"];
  readonly generatorCpuMs: number;
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
    traffic: addTraffic(reports.map(({ traffic }) => traffic)),
  };
}

/**
 * Each process's part of a schedule in which operation k belongs to minion k modulo the fleet: evenly over the processes at any moment,
 * and as many in each round as the process has minions.
 */
export function splitSchedule(plannedMs: Float64Array, counts: readonly number[]): Float64Array[] {
  const least = Math.min(...counts);
  const order = Array.from({ length: least }, () => [...counts.keys()]).flat();
  for (const [index, count] of counts.entries()) for (let left = least; left < count; left += 1) order.push(index);
  const parts = counts.map(() => [] as number[]);
  for (const [index, atMs] of plannedMs.entries()) parts[order[index % order.length] ?? 0]?.push(atMs);
  return parts.map((part) => Float64Array.from(part));
}

export function joinOutcomes(lanes: readonly LanePlan[], outcomes: readonly RunOutcome[]): StormOutcome {
  const joined: Record<string, LaneTotal> = {};
  for (const { lane } of lanes) joined[lane] = joinLane(outcomes.flatMap((outcome) => outcome.lanes[lane] ?? []));
  const totals = Object.values(joined);
  const reports: SelfReport[] = outcomes.map(({ self }) => self);
  // Requests of a closed loop beside it have no planned time, and must not lower the share of late ones.
  const planned = lanes.flatMap(({ lane, plannedMs }) => (plannedMs === undefined ? [] : (joined[lane] ?? [])));
  return {
    lanes: joined,
    generator: judgeGenerator({
      reports,
      loop: planned.length > 0 ? "open" : "closed",
      sent: planned.reduce((sum, { sent }) => sum + sent, 0),
      late: planned.reduce((sum, { late }) => sum + late, 0),
    }),
    generatorCpuMs: reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    traffic: addTraffic(outcomes.map(({ traffic }) => traffic)),
    wallMs: Math.max(0, ...totals.map(({ lastReplyMs }) => lastReplyMs)),
  };
}

function joinLane(parts: readonly LaneOutcome[]): LaneTotal {
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
