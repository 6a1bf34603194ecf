/** Makes the text of a workload file from what was recorded of a running master. */
import { stringify } from "yaml";
import { SaltworksError } from "../../src/errors.ts";
import { delayMsDefault } from "./read.ts";
import type { FunctionRecord, RecordedJobs } from "./recorded-jobs.ts";
import type { RecordedRates } from "./recorded-rates.ts";
import { rateLeast, secondsMost, stageSeconds } from "./recorded-seconds.ts";

/** Functions with an operation of their own; the rest are one operation. */
const functionsMax = 12;
/** Parts of a recorded distribution, each with the mean of its share of the sample. */
const partsMax = 10;
/** A stage with more than the mean's rates is worth a run of its own. */
const busiestFactorLeast = 1.05;
/** The most that a workload file takes. */
const busiestFactorMost = 1_000;

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

/** `minionsEach`: returns that one operation brings. */
type Operation = {
  readonly kind: string;
  readonly name: string;
  readonly rate: number;
  readonly minionsEach: number;
  readonly members: object;
};

/** @throws SaltworksError USAGE if nothing was seen that a workload could have */
export function workloadText(recorded: Recorded): string {
  const { at, jobs, master, minions, rates } = recorded;
  const seen = [
    ...(jobs === undefined ? [] : jobOperations(jobs, minions)),
    ...(rates === undefined ? [] : rateOperations(rates, jobs)),
  ];
  const operations = seen.filter(({ rate }) => rate >= rateLeast);
  if (operations.length === 0) throw nothingSeen(recorded, seen);
  const factor = Math.min(busiestFactorMost, jobs?.busiestHourFactor ?? 1);
  const stages = [
    { name: "mean", seconds: secondsOf(operations, 1) },
    ...(factor > busiestFactorLeast
      ? [{ name: "busiest hour", seconds: secondsOf(operations, factor), rate: `${Math.round(factor * 100)}%` }]
      : []),
  ];
  const body = stringify(
    {
      ...{ name: `recorded from ${master}`, minions, stages },
      operations: operations.map(({ kind, name, rate, members }) => ({ kind, name, rate, ...members })),
    },
    { lineWidth: 0 },
  );
  const lines = [...remarks(recorded), ...remarksOnStages(seen, stages, rates !== undefined)];
  return [...lines.map((line) => `# ${line}`), `# Recorded at ${at}.`, body].join("\n");
}

function secondsOf(operations: readonly Operation[], factor: number): number {
  const total = sum(operations.map(({ rate, minionsEach }) => rate * minionsEach));
  return stageSeconds(
    operations.map(({ rate }) => rate * factor),
    total * factor,
  );
}

function nothingSeen({ jobs, rates }: Recorded, seen: readonly Operation[]): SaltworksError {
  const where = [
    ...(jobs === undefined ? [] : [`in the job cache of ${(jobs.seconds / 3_600).toFixed(1)} hours (--hours)`]),
    ...(rates === undefined ? [] : [`in ${Math.round(rates.seconds)} seconds of the metrics (--seconds)`]),
  ].join(" and ");
  const what = seen.length === 0 ? "nothing was seen" : "nothing was seen often enough for a workload";
  return new SaltworksError("USAGE", `${what} ${where}: record while the master works, or other hours (--hours)`);
}

/** What the file says, and what it cannot say, as lines for the reader. */
function remarks({ jobs, rates }: Recorded): string[] {
  const lines = ["A workload for `saltworks bench`. Change it as you like: docs/workload.md describes every member."];
  if (jobs === undefined) lines.push("Jobs and sizes of returns are not known: the job cache was not read (-c DIR).");
  else {
    lines.push(`Jobs: of the last ${(jobs.seconds / 3_600).toFixed(1)} hours, from the job cache.`);
    if (jobs.jobsLeftOut > 0) lines.push(`${jobs.jobsLeftOut} or more older jobs of that time were left out.`);
    const undelayed = foldSmall(jobs.published).filter(({ delaysMs }) => delaysMs.length === 0);
    if (undelayed.length > 0)
      lines.push(
        `Delays are not known, and are ${delayMsDefault} ms, of: ${undelayed.map(({ name }) => name).join(", ")}.`,
      );
  }
  if (rates === undefined) {
    lines.push("Events, mines, pillars, files and authentications are not known: the master's metrics were not read.");
  } else {
    lines.push(`Other requests: of ${Math.round(rates.seconds)} seconds, from the metrics.`);
    lines.push("Sizes of events, mines and files, and which minions' mines are read, are defaults.");
  }
  return lines;
}

type RecordedStage = { readonly name: string; readonly seconds: number; readonly rate?: string };

/** What will not come, and what a stage makes of rates that were seen at another time. */
function remarksOnStages(seen: readonly Operation[], stages: readonly RecordedStage[], hasRates: boolean): string[] {
  const factors = stages.map(({ rate, seconds }) => (seconds * Number.parseFloat(rate ?? "100")) / 100);
  const perRun = Math.max(...factors);
  const names = (of: readonly Operation[]): string => of.map(({ name }) => name).join(", ");
  const tooSeldom = seen.filter(({ rate }) => rate < rateLeast);
  const absent = seen.filter(({ rate }) => rate >= rateLeast && Math.round(rate * perRun) === 0);
  const lines: string[] = [];
  if (tooSeldom.length > 0)
    lines.push(`Left out, because a file takes no rate below ${rateLeast} a second: ${names(tooSeldom)}.`);
  if (absent.length > 0)
    lines.push(`Will not come, because a stage is at most ${secondsMost} seconds long: ${names(absent)}.`);
  if (stages.length > 1 && hasRates)
    lines.push("The busiest hour is that of the jobs. Its factor multiplies the rates from the metrics, too.");
  const seconds = sum(stages.map((stage) => stage.seconds));
  lines.push(
    `The stages take ${seconds} seconds. --set timeScale=0.1 shortens them; rare operations then do not come.`,
  );
  return lines;
}

function jobOperations({ own, published, seconds }: RecordedJobs, minions: number): Operation[] {
  const jobs = foldSmall(published).map(
    (record): Operation => ({
      kind: "job",
      name: record.name,
      rate: perSecond(record.targets.length, seconds),
      minionsEach: meanTargets(record),
      members: {
        target: targetOf(record, minions),
        function: record.function,
        bytes: distributionOf(record.bytes),
        ...(record.delaysMs.length > 0 && { delayMs: distributionOf(record.delaysMs) }),
      },
    }),
  );
  const returns = foldSmall(own).map(
    (record): Operation => ({
      kind: "return",
      name: `${record.name} of minions`,
      rate: perSecond(record.targets.length, seconds),
      minionsEach: 1,
      members: { function: record.function, bytes: distributionOf(record.bytes) },
    }),
  );
  return [...jobs, ...returns];
}

function rateOperations(rates: RecordedRates, jobs: RecordedJobs | undefined): Operation[] {
  const returns = jobs === undefined ? [{ kind: "return", rate: rates.returns, members: { bytes: "64" } }] : [];
  const others = [
    { kind: "event", rate: rates.events, members: { bytes: 256 } },
    { kind: "mine", rate: rates.mines, members: { bytes: 256 } },
    { kind: "mine_get", rate: rates.mineReads, members: { target: "sim-1?", bytes: 256 } },
    { kind: "pillar", rate: rates.pillars, members: {} },
    { kind: "file", rate: rates.files, members: { bytes: 4_096 } },
    { kind: "auth", rate: rates.auths, members: {} },
  ];
  return [...returns, ...others]
    .filter(({ rate }) => rate > 0)
    .map(({ kind, rate, members }) => ({ kind, name: kind, rate: significant(rate), minionsEach: 1, members }));
}

/** `function`: a real one, also of a record of several functions. */
type Folded = FunctionRecord & { readonly function: string };

/** The functions with most returned bytes, and one record of all others, with the function that most of their jobs have. */
function foldSmall(records: ReadonlyMap<string, FunctionRecord>): Folded[] {
  const weight = ({ bytes, targets }: FunctionRecord): number =>
    sum(targets) * (64 + sum(bytes) / Math.max(1, bytes.length));
  const named = (record: FunctionRecord): Folded => ({ ...record, function: record.name.split(",")[0] ?? record.name });
  const ranked = [...records.values()].sort((a, b) => weight(b) - weight(a)).map(named);
  if (ranked.length <= functionsMax) return ranked;
  const rest = ranked.slice(functionsMax - 1);
  const [most] = rest.toSorted((a, b) => b.targets.length - a.targets.length);
  const folded = {
    name: "other functions",
    function: most?.function ?? "test.ping",
    targets: rest.flatMap(({ targets }) => targets),
    bytes: rest.flatMap(({ bytes }) => bytes),
    delaysMs: rest.flatMap(({ delaysMs }) => delaysMs),
  };
  return [...ranked.slice(0, functionsMax - 1), folded];
}

function meanTargets({ targets }: FunctionRecord): number {
  return Math.max(1, Math.round(sum(targets) / Math.max(1, targets.length)));
}

function targetOf(record: FunctionRecord, minions: number): object {
  const mean = meanTargets(record);
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

function significant(rate: number): number {
  return Number(rate.toPrecision(3));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
