/** A plan: what a fleet's load needs of a master, from the laws of a calibration. Pure. */
import { type Amounts, requestsOf, withDerived } from "./amounts.ts";
import { requestsPerBatch } from "./batch-law.ts";
import { type Estimate, predict, scaled } from "./law.ts";
import type { Laws } from "./laws.ts";
import { type FleetLoad, meanRates, peakRates, type Rates, withMinions } from "./load.ts";
import { pingAnswerBytes, pingsOf } from "./pings.ts";

/** `scale`: CPU time here of what took one second where the calibration was made, with its own uncertainty. */
export type PlanContext = {
  readonly laws: Laws;
  readonly scale: Estimate;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly descriptorsMax: number;
};

export type Needs = {
  /** Cores that are busy in the peak hour; `mainThread`: of one. */
  readonly busyCores: Estimate;
  readonly mainThread: Estimate;
  readonly workerCores: Estimate;
  readonly cores: number;
  readonly workerThreads: number;
  readonly memoryBytes: Estimate;
  readonly machineMemoryBytes: number;
  readonly diskBytes: Estimate;
  readonly writtenBytesPerDay: Estimate;
  readonly syncsPerSecond: Estimate;
  readonly toMasterBytesPerSecond: Estimate;
  readonly fromMasterBytesPerSecond: Estimate;
  readonly descriptors: number;
  /** If all minions authenticate at once, as after a new key, on all cores of the plan. */
  readonly allAuthSeconds: Estimate;
};

export type Limit = { readonly name: string; readonly minions: number };

export type Plan = {
  readonly load: FleetLoad;
  readonly peak: Rates;
  readonly mean: Rates;
  readonly needs: Needs;
  /** Ordered: what reaches its limit with the fewest minions is first. */
  readonly limits: readonly Limit[];
  readonly remarks: readonly string[];
};

/** A core or thread that is busier than this makes requests wait. */
export const busyShareMax = 0.7;
const daySeconds = 86_400;
const usPerSecond = 1e6;
const hourSeconds = 3_600;
/** LMDB keeps the pages of removed jobs for new ones, and the sweep of old jobs runs behind. */
const freePagesFactor = 1.25;
/** The master's memory of a minion in a job of the last hour, and twice as much memory as it holds at rest for bursts. */
const jobMinionBytes = 10;
const memoryReserve = 2;
/** Free for the kernel and the pages of the job cache that are read. */
const systemBytes = 512 * 1024 * 1024;
const descriptorsOfMaster = 1_024;
const connectionsPerMinion = 2;
/** One store transaction for this many returns comes beside the batches' own syncs. */
const returnsPerTransaction = 1_000;
/** Beyond this many times the calibrated range the plan says that it extrapolates. */
const extrapolationMax = 3;
const minionsMost = 10_000_000;

/** A second of the load. Answers of pings are work as returns are, but are not stored. */
export function amountsOfSecond(laws: Laws, rates: Rates, minions: number, workers: number, answers = 0): Amounts {
  const returns = rates.returns + answers;
  const counted = { ...rates, returns, authsAtOnce: 0, seconds: 1, minions, connections: minions };
  const requests = requestsOf(counted);
  return withDerived(counted, { batches: requests / requestsPerBatch(laws.batch, requests, workers), isFresh: false });
}

export function needsOf({ laws, scale }: PlanContext, load: FleetLoad): Needs {
  const [peak, mean] = [peakRates(load), meanRates(load)];
  let workerThreads = 1;
  const pings = pingsOf(load.minions, requestsOf(peak) + peak.auths);
  let amounts = amountsOfSecond(laws, peak, load.minions, workerThreads, pings.answers);
  let workerCores = onThisMachine(scaled(predict(laws.of.workerUs, amounts), 1 / usPerSecond), scale);
  // More workers take smaller batches, which cost more.
  while (workerCores.value / workerThreads > busyShareMax && workerThreads < 256) {
    workerThreads = Math.max(workerThreads + 1, Math.ceil(workerCores.value / busyShareMax));
    amounts = amountsOfSecond(laws, peak, load.minions, workerThreads, pings.answers);
    workerCores = onThisMachine(scaled(predict(laws.of.workerUs, amounts), 1 / usPerSecond), scale);
  }
  const publishUs = scaled(predict(laws.of.publishUs, { ...amounts, copies: 1 }), pings.copies);
  const cpu = onThisMachine(scaled(sum(predict(laws.of.cpuUs, amounts), publishUs), 1 / usPerSecond), scale);
  const busyCores = withPillars(cpu, laws, load, peak);
  const cores = Math.max(workerThreads + 1, Math.ceil(busyCores.value / busyShareMax));
  const stored = amountsOfSecond(laws, peak, load.minions, workerThreads);
  const atRest = predict(laws.of.memoryBytes, amounts);
  const jobs = mean.returns * hourSeconds * load.peak * jobMinionBytes;
  const memoryBytes = { value: atRest.value + jobs, low: atRest.low + jobs, high: atRest.high + jobs };
  const ofDay = amountsOfSecond(laws, mean, load.minions, workerThreads);
  const diskBytes = scaled(predict(laws.of.cacheBytes, ofDay), load.retentionHours * hourSeconds * freePagesFactor);
  const auth = { ...amounts, ...nothing, authsAtOnce: load.minions, seconds: 0, minionSeconds: 0 };
  return {
    busyCores,
    mainThread: onThisMachine(scaled(predict(laws.of.mainUs, amounts), 1 / usPerSecond), scale),
    workerCores,
    cores,
    workerThreads,
    memoryBytes,
    machineMemoryBytes: memoryBytes.value * memoryReserve + systemBytes,
    diskBytes,
    writtenBytesPerDay: scaled(predict(laws.of.writtenBytes, ofDay), daySeconds),
    syncsPerSecond: syncsOf(laws, stored),
    toMasterBytesPerSecond: sum(predict(laws.of.toMasterBytes, stored), exactly(pings.answers * pingAnswerBytes)),
    fromMasterBytesPerSecond: sum(predict(laws.of.fromMasterBytes, stored), exactly(pings.copies * pings.copyBytes)),
    descriptors: load.minions * connectionsPerMinion + descriptorsOfMaster,
    allAuthSeconds: onThisMachine(scaled(predict(laws.of.cpuUs, auth), 1 / usPerSecond / cores), scale),
  };
}

const nothing = {
  ...{ returns: 0, returnBytes: 0, events: 0, mineGets: 0, pillars: 0, pillarDepths: 0, auths: 0, copies: 0 },
  ...{ batches: 0, coldBatches: 0 },
} as const;

function sum(one: Estimate, other: Estimate): Estimate {
  return { value: one.value + other.value, low: one.low + other.low, high: one.high + other.high };
}

function exactly(value: number): Estimate {
  return { value, low: value, high: value };
}

function onThisMachine({ value, low, high }: Estimate, scale: Estimate): Estimate {
  return { value: value * scale.value, low: low * scale.low, high: high * scale.high };
}

/** The operator's own figure for a pillar takes the place of the calibration's. */
function withPillars(cpu: Estimate, laws: Laws, { pillarMs }: FleetLoad, { pillars }: Rates): Estimate {
  if (pillarMs === undefined) return cpu;
  const more = pillars * (pillarMs / 1_000 - (laws.of.cpuUs.coefficients.pillars ?? 0) / usPerSecond);
  return { value: cpu.value + more, low: Math.max(0, cpu.low + more), high: cpu.high + more };
}

/** Batches with a return wait for the disk. Their number is as uncertain as the size of a batch. */
export function syncsOf(laws: Laws, amounts: Amounts): Estimate {
  const requests = requestsOf(amounts);
  if (requests === 0) return { value: 0, low: 0, high: 0 };
  const perBatch = requests / amounts.batches;
  const share = amounts.returns / requests;
  const value = amounts.batches * (1 - (1 - share) ** perBatch) + amounts.returns / returnsPerTransaction;
  const { scatter } = laws.batch;
  return { value, low: value / (1 + scatter), high: Math.min(amounts.returns, value * (1 + scatter)) };
}

export function planOf(context: PlanContext, load: FleetLoad): Plan {
  const peak = peakRates(load);
  return {
    load,
    peak,
    mean: meanRates(load),
    needs: needsOf(context, load),
    limits: limitsOf(context, load),
    remarks: remarksOn(context, load, peak),
  };
}

/** How much of each resource a fleet of this size uses: 1 is all of it. */
type Use = { readonly name: string; readonly of: (needs: Needs) => number };

function usesOf({ cores, memoryBytes, descriptorsMax }: PlanContext): Use[] {
  const mebibytes = Math.round(memoryBytes / 1_048_576).toLocaleString("en-US");
  return [
    {
      name: `the main thread, of which one master has one (busy at most ${percent(busyShareMax)})`,
      of: (needs) => needs.mainThread.value / busyShareMax,
    },
    {
      name: `the ${cores} cores of this machine (busy at most ${percent(busyShareMax)})`,
      of: (needs) => needs.busyCores.value / (cores * busyShareMax),
    },
    { name: `the ${mebibytes} MiB of this machine's memory`, of: (needs) => needs.machineMemoryBytes / memoryBytes },
    {
      name: `${descriptorsMax.toLocaleString("en-US")} descriptors (fs.nr_open)`,
      of: (needs) => needs.descriptors / descriptorsMax,
    },
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function limitsOf(context: PlanContext, load: FleetLoad): Limit[] {
  return usesOf(context)
    .map(({ name, of }) => ({
      name,
      minions: minionsUntil((minions) => of(needsOf(context, withMinions(load, minions)))),
    }))
    .sort((a, b) => a.minions - b.minions);
}

/** The most minions with a use of at most 1. `use` never falls with the fleet. */
function minionsUntil(use: (minions: number) => number): number {
  let low = 1;
  let high = minionsMost;
  if (use(high) <= 1) return high;
  while (high - low > Math.max(1, low * 0.005)) {
    const middle = Math.round(Math.sqrt(low * high));
    if (middle <= low || middle >= high) break;
    if (use(middle) <= 1) low = middle;
    else high = middle;
  }
  return low;
}

function remarksOn({ laws, scale }: PlanContext, load: FleetLoad, peak: Rates): string[] {
  const { reach } = laws;
  const far = [
    ["requests a second", peak.returns + peak.events + peak.mineGets + peak.pillars, reach.requestsPerSecond],
    ["connected minions", load.minions, reach.minions],
    ["bytes a return", peak.returnBytes / Math.max(1e-9, peak.returns), reach.bytesPerReturn],
  ] as const;
  const remarks = far.flatMap(([what, wanted, measured]) =>
    wanted > extrapolationMax * measured
      ? [
          `${Math.round(wanted).toLocaleString("en-US")} ${what} are ${(wanted / measured).toFixed(1)} times the most that was calibrated (${Math.round(measured).toLocaleString("en-US")}): this is extrapolated and less sure.`,
        ]
      : [],
  );
  if (scale.value !== 1)
    remarks.push(
      `CPU was calibrated on another processor, and is scaled by ${scale.value.toFixed(2)} after RSA-2048 and SHA-256 on one core: less sure. saltworks size --calibrate measures this machine.`,
    );
  return remarks;
}
