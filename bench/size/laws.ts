/** The laws of a calibration. docs/size.md has each formula. Pure. */
import { SaltworksError } from "../../src/errors.ts";
import { type Amounts, amountsOf, requestsOf, type Term, threadUs } from "./amounts.ts";
import { type BatchLaw, type BatchPoint, fitBatchLaw } from "./batch-law.ts";
import type { Calibration, CalibrationRun } from "./calibration.ts";
import { fitLaw, type Law } from "./law.ts";

export const resources = [
  "cpuUs",
  "mainUs",
  "workerUs",
  "publishUs",
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

const spread: readonly Term[] = ["returns", "returnBytes", "events", "mineGets", "pillars", "auths", "copies"];
const requests: readonly Term[] = [...spread, "authsAtOnce"];
const work: readonly Term[] = [...requests, "coldBatches", "seconds", "freshSeconds", "minionSeconds"];
const ofReturns: readonly Term[] = ["returns", "returnBytes"];

const termsOf: Readonly<Record<Resource, readonly Term[]>> = {
  cpuUs: work,
  mainUs: work,
  workerUs: work,
  publishUs: ["copies"],
  writtenBytes: ["returns", "returnBytes", "events", "mineGets", "pillarDepths", "auths", "copies", "batches"],
  cacheBytes: ofReturns,
  toMasterBytes: requests,
  fromMasterBytes: requests,
  memoryBytes: ["masters", "minions", "connections", "busyMasters", "bulkMasters"],
};

/** Growth that the steps of files, of some mebibytes each, do not hide from a fit of several points. */
const growthBytesLeast = 15_000_000;

function amountUsed(resource: Resource, run: CalibrationRun): number {
  const { cpu, storage, network, memory } = run.point;
  const growth = (storage?.cacheBytesAfter ?? 0) - (storage?.cacheBytesBefore ?? 0);
  switch (resource) {
    case "cpuUs":
      return cpu.totalMs * 1_000;
    case "mainUs":
      return threadUs(run, "main");
    case "workerUs":
      return threadUs(run, "sw-worker-");
    case "publishUs":
      return run.scenario === "ping-all" ? threadUs(run, "sw-publish") : 0;
    case "writtenBytes":
      // A master without requests that are stored writes now and then, which says nothing of requests.
      return run.scenario === "idle-hold" || run.scenario === "auth-storm" ? 0 : (storage?.writtenBytes ?? 0);
    case "cacheBytes":
      return growth >= growthBytesLeast ? growth : 0;
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
  return { of, batch: fitBatchLaw(batchPointsOf(all, workers)), reach };
}

function batchPointsOf(all: readonly Amounts[], workers: number): BatchPoint[] {
  return all.flatMap((amounts) => {
    const count = requestsOf(amounts);
    // Bursts of publishes have a rate of their own, which is not that of the span.
    if (amounts.copies > 0 || count === 0 || amounts.batches === 0 || amounts.seconds === 0) return [];
    return [{ rate: count / amounts.seconds / workers, size: Math.max(1, count / amounts.batches) }];
  });
}
