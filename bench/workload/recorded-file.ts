/** Makes the text of a workload file from what was recorded of a running master. */
import { stringify } from "yaml";
import type { FunctionRecord, RecordedJobs } from "./recorded-jobs.ts";
import type { RecordedRates } from "./recorded-rates.ts";

/** Functions with an operation of their own; the rest are one operation. */
const functionsMax = 12;
/** Parts of a recorded distribution, each with the mean of its share of the sample. */
const partsMax = 10;
const secondsRecorded = 60;

export type Recorded = {
  readonly master: string;
  /** ISO 8601. */
  readonly at: string;
  readonly minions: number;
  /** Undefined: the job cache was not read. */
  readonly jobs: RecordedJobs | undefined;
  /** Undefined: the master has no metrics, as Salt's. */
  readonly rates: RecordedRates | undefined;
};

export function workloadText(recorded: Recorded): string {
  const { at, jobs, master, minions, rates } = recorded;
  const operations = [
    ...(jobs === undefined ? [] : jobOperations(jobs, minions)),
    ...(rates === undefined ? [] : rateOperations(rates, jobs)),
  ];
  const factor = jobs?.busiestHourFactor ?? 1;
  const stages = [
    { name: "mean", seconds: secondsRecorded },
    ...(factor > 1.05
      ? [{ name: "busiest hour", seconds: secondsRecorded, rate: `${Math.round(factor * 100)}%` }]
      : []),
  ];
  const body = stringify({ name: `recorded from ${master}`, minions, stages, operations }, { lineWidth: 0 });
  return [...remarks(recorded).map((line) => `# ${line}`), `# Recorded at ${at}.`, body].join("\n");
}

/** What the file says, and what it cannot say, as lines for the reader. */
function remarks({ jobs, rates }: Recorded): string[] {
  const lines = ["A workload for `saltworks bench`. Change it as you like: docs/workload.md describes every member."];
  if (jobs === undefined) lines.push("Jobs and sizes of returns are not known: the job cache was not read (-c DIR).");
  else {
    lines.push(`Jobs: of the last ${(jobs.seconds / 3_600).toFixed(1)} hours, from the job cache.`);
    if (jobs.jobsLeftOut > 0) lines.push(`${jobs.jobsLeftOut} or more older jobs of that time were left out.`);
  }
  if (rates === undefined) {
    lines.push("Events, mines, pillars, files and authentications are not known: the master's metrics were not read.");
  } else {
    lines.push(`Other requests: of ${Math.round(rates.seconds)} seconds, from the metrics.`);
    lines.push("Sizes of events, mines and files, and which minions' mines are read, are defaults.");
  }
  return lines;
}

function jobOperations({ own, published, seconds }: RecordedJobs, minions: number): object[] {
  const jobs = foldSmall(published).map((record) => ({
    kind: "job",
    name: record.name,
    rate: perSecond(record.targets.length, seconds),
    target: targetOf(record, minions),
    function: record.name.split(",")[0],
    bytes: distributionOf(record.bytes),
    delayMs: distributionOf(record.delaysMs),
  }));
  const returns = foldSmall(own).map((record) => ({
    kind: "return",
    name: `${record.name} of minions`,
    rate: perSecond(record.targets.length, seconds),
    function: record.name.split(",")[0],
    bytes: distributionOf(record.bytes),
  }));
  return [...jobs, ...returns];
}

function rateOperations(rates: RecordedRates, jobs: RecordedJobs | undefined): object[] {
  const returns = jobs === undefined ? [{ kind: "return", rate: rates.returns, bytes: "64" }] : [];
  const others = [
    { kind: "event", rate: rates.events, bytes: 256 },
    { kind: "mine", rate: rates.mines, bytes: 256 },
    { kind: "mine_get", rate: rates.mineReads, target: "sim-1?", bytes: 256 },
    { kind: "pillar", rate: rates.pillars },
    { kind: "file", rate: rates.files, bytes: 4_096 },
    { kind: "auth", rate: rates.auths },
  ];
  return [...returns, ...others].filter(({ rate }) => rate > 0).map((one) => ({ ...one, rate: significant(one.rate) }));
}

/** The functions with most returned bytes, and one record of all others. */
function foldSmall(records: ReadonlyMap<string, FunctionRecord>): FunctionRecord[] {
  const weight = ({ bytes, targets }: FunctionRecord): number =>
    sum(targets) * (64 + sum(bytes) / Math.max(1, bytes.length));
  const ranked = [...records.values()].sort((a, b) => weight(b) - weight(a));
  if (ranked.length <= functionsMax) return ranked;
  const rest = ranked.slice(functionsMax - 1);
  const folded = {
    name: "other functions",
    targets: rest.flatMap(({ targets }) => targets),
    bytes: rest.flatMap(({ bytes }) => bytes),
    delaysMs: rest.flatMap(({ delaysMs }) => delaysMs),
  };
  return [...ranked.slice(0, functionsMax - 1), folded];
}

function targetOf({ targets }: FunctionRecord, minions: number): object {
  const mean = Math.max(1, Math.round(sum(targets) / Math.max(1, targets.length)));
  return mean >= minions * 0.98 ? { share: "100%" } : { count: mean };
}

/** A mix whose parts are the means of equal shares of the sorted sample, so that the mean is kept and the tail is seen. */
export function distributionOf(sample: readonly number[]): string {
  const sorted = [...sample].sort((a, b) => a - b);
  if (sorted.length === 0) return "0";
  const parts = Math.min(partsMax, sorted.length);
  const means = Array.from({ length: parts }, (_, part) => {
    const own = sorted.slice(
      Math.floor((part * sorted.length) / parts),
      Math.floor(((part + 1) * sorted.length) / parts),
    );
    return Math.round(sum(own) / own.length);
  });
  const shares = new Map<number, number>();
  for (const mean of means) shares.set(mean, (shares.get(mean) ?? 0) + 1);
  if (shares.size === 1) return String(means[0] ?? 0);
  return [...shares].map(([mean, count]) => `${mean}:${Number(((100 * count) / parts).toFixed(2))}%`).join(",");
}

function perSecond(count: number, seconds: number): number {
  return significant(count / seconds);
}

/** The least rate that a workload file takes is one operation in almost three hours. */
function significant(rate: number): number {
  return Math.max(0.0001, Number(rate.toPrecision(3)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
