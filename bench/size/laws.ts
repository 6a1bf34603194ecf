/** The laws of a calibration. docs/size.md has each formula. Pure. */
import { SaltworksError } from "../../src/errors.ts";
import { leastSquares } from "../tune/usl.ts";
import { type Amounts, amountsOf, type Term, threadUs } from "./amounts.ts";
import type { Calibration, CalibrationRun } from "./calibration.ts";
import { fitLaw, type Law } from "./law.ts";

/** Requests of a batch at `rate` requests a second of one worker: 1 + k · rate ^ p. */
export type BatchLaw = {
  readonly k: number;
  readonly p: number;
  readonly points: number;
  readonly rateMax: number;
  readonly scatter: number;
};

export const resources = [
  "cpuUs",
  "mainUs",
  "workerUs",
  "writtenBytes",
  "cacheBytes",
  "toMasterBytes",
  "fromMasterBytes",
  "memoryBytes",
] as const;
export type Resource = (typeof resources)[number];

export type Laws = {
  readonly of: Readonly<Record<Resource, Law>>;
  readonly batch: BatchLaw;
  /** The largest values among the points: further away a law extrapolates. */
  readonly reach: { readonly requestsPerSecond: number; readonly minions: number; readonly bytesPerReturn: number };
};

const requests: readonly Term[] = ["returns", "returnBytes", "events", "mineGets", "pillars", "auths", "copies"];
const work: readonly Term[] = [...requests, "batches", "seconds", "minionSeconds"];
const ofReturns: readonly Term[] = ["returns", "returnBytes"];

const termsOf: Readonly<Record<Resource, readonly Term[]>> = {
  cpuUs: work,
  mainUs: work,
  workerUs: work,
  writtenBytes: [...requests, "batches"],
  cacheBytes: ofReturns,
  toMasterBytes: requests,
  fromMasterBytes: requests,
  memoryBytes: ["masters", "connections", "busyMasters", "bulkMasters"],
};

/** Growth that the steps of LMDB's file do not hide. */
const growthBytesLeast = 2 * 1024 * 1024;

function amountUsed(resource: Resource, run: CalibrationRun): number {
  const { cpu, storage, network, memory } = run.point;
  const growth = (storage?.cacheBytesAfter ?? 0) - (storage?.cacheBytesBefore ?? 0);
  // Other records than returns are not in the law of what is stored.
  const hasOnlyReturns = run.scenario === "return-storm";
  switch (resource) {
    case "cpuUs":
      return cpu.totalMs * 1_000;
    case "mainUs":
      return threadUs(run, "main");
    case "workerUs":
      return threadUs(run, "sw-worker-");
    case "writtenBytes":
      // An idle master writes now and then, which says nothing of requests.
      return run.scenario === "idle-hold" ? 0 : (storage?.writtenBytes ?? 0);
    case "cacheBytes":
      return hasOnlyReturns && growth >= growthBytesLeast ? growth : 0;
    case "toMasterBytes":
      return network?.toMasterBytes ?? 0;
    case "fromMasterBytes":
      return network?.fromMasterBytes ?? 0;
    case "memoryBytes":
      return memory.anonymousBytes ?? memory.rssBytes;
    default: {
      const never: never = resource;
      throw new TypeError(`unknown resource ${String(never)}`);
    }
  }
}

/** @throws SaltworksError CONFIG_INVALID if the calibration lacks the points of a law */
export function lawsOf({ runs, workers }: Calibration): Laws {
  const observed = runs.map((run) => ({ run, amounts: amountsOf(run) }));
  const of = {} as Record<Resource, Law>;
  for (const resource of resources) {
    const law = fitLaw(
      termsOf[resource],
      observed.map(({ run, amounts }) => ({ amounts, value: amountUsed(resource, run) })),
    );
    if (law === undefined) throw new SaltworksError("CONFIG_INVALID", `the calibration has nothing for ${resource}`);
    of[resource] = law;
  }
  const all = observed.map(({ amounts }) => amounts);
  const reach = {
    requestsPerSecond: Math.max(...all.map((amounts) => requestsOf(amounts) / amounts.seconds)),
    minions: Math.max(...all.map(({ connections }) => connections)),
    bytesPerReturn: Math.max(...all.map(({ returnBytes, returns }) => returnBytes / Math.max(1, returns))),
  };
  return { of, batch: fitBatchLaw(all, workers), reach };
}

/** Requests that come in batches. Authentications have a queue of their own. */
export function requestsOf({
  returns,
  events,
  mineGets,
  pillars,
}: Pick<Amounts, "returns" | "events" | "mineGets" | "pillars">): number {
  return returns + events + mineGets + pillars;
}

/** Least squares of the logarithms. A span without several requests in a batch says nothing. */
function fitBatchLaw(all: readonly Amounts[], workers: number): BatchLaw {
  const points = all.flatMap((amounts) => {
    const count = requestsOf(amounts);
    // Bursts of publishes have a rate of their own, which is not that of the span.
    if (amounts.copies > 0 || amounts.auths >= count || amounts.batches === 0 || amounts.seconds === 0) return [];
    const size = count / amounts.batches;
    return size <= 1 ? [] : [{ rate: count / amounts.seconds / workers, above: size - 1 }];
  });
  if (points.length < 2) throw new SaltworksError("CONFIG_INVALID", "the calibration has too few points with batches");
  const rows = points.map(({ rate, above }) => ({ terms: [1, Math.log(rate)], value: Math.log(above) }));
  const [logK = 0, p = 0] = leastSquares(
    rows,
    rows.map(() => 1),
  );
  const misses = rows.map(({ terms: [, logRate = 0], value }) => Math.exp(Math.abs(value - logK - p * logRate)) - 1);
  const scatter = Math.sqrt(misses.reduce((sum, miss) => sum + miss ** 2, 0) / misses.length);
  const rateMax = Math.max(...points.map(({ rate }) => rate));
  return { k: Math.exp(logK), p, points: points.length, rateMax, scatter };
}

/** Requests in a batch at this rate of the whole master. Beyond the calibration batches stay as large as at its end. */
export function requestsPerBatch({ k, p, rateMax }: BatchLaw, requestsPerSecond: number, workers: number): number {
  const rate = Math.min(requestsPerSecond / workers, rateMax);
  return rate <= 0 ? 1 : 1 + k * rate ** p;
}
