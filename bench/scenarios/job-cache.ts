/** Question: what does a durable return cost in the job cache alone, by driver, size of batch, number of writing threads and of LMDB files? */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SaltworksError } from "../../src/errors.ts";
import type { Point } from "../results/schema.ts";
import type { StoreResult } from "../store/main.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { histogramOf, oneByOne } from "./setup/operations.ts";

type JobCacheParameters = {
  readonly batches: string;
  readonly writers: string;
  readonly shards: string;
  readonly drivers: string;
  readonly durability: string;
  readonly returns: number;
  readonly minions: number;
};
type Case = {
  readonly driver: keyof typeof batchesMin;
  readonly writers: string;
  readonly shards: string;
  readonly batch: string;
};

const program = fileURLToPath(new URL("../store/main.js", import.meta.url));
/** Timeout of one case, milliseconds; each case takes seconds. */
const caseTimeoutMs = 300_000;
/** Latencies of every put are in the answer. */
const answerBytesMax = 256 * 1024 * 1024;
/** With fewer puts, the time of one cannot be measured. A large batch takes a third of a second in Salt's layout. */
const batchesMin = { lmdb: 50, local_cache: 5 } as const;
/** More puts only take time: with a batch of one each put is a sync. */
const batchesMax = 5_000;
/** The most returns in Salt's layout, which is a thousand times slower. */
const localCacheReturnsMax = 2_000;

export const jobCache = defineScenario<JobCacheParameters>({
  name: "job-cache",
  version: 2,
  ownMaster: "asks no master",
  question:
    "What does a durable return cost in the job cache alone, by driver, size of batch, number of writing threads and of LMDB files?",
  defaults: {
    batches: "1,4,16,64,256",
    writers: "1,2",
    shards: "1",
    drivers: "lmdb,local_cache",
    durability: "fsync",
    returns: 100_000,
    minions: 1_000,
  },
  about: {
    batches: "returns per put, a list",
    writers: "threads that put at the same time, each its own minions' returns, a list",
    shards: "LMDB files (store_shards), a list",
    drivers: "lmdb, local_cache (Salt's layout: three files a return), a list",
    durability: "fsync, commit or async, as job_cache_durability",
    returns: "returns of one case, less where batches are small",
    minions: "minions of each job",
  },
  async run(context) {
    const points: Point[] = [];
    const cases = casesOf(context.parameters);
    const phase = context.progress.phase("job cache", cases.length);
    try {
      for (const one of cases) {
        points.push(await pointOf(context, one));
        phase.step();
      }
    } finally {
      phase.end();
    }
    return points;
  },
});

function casesOf({ drivers, writers, shards, batches }: JobCacheParameters): Case[] {
  return drivers
    .split(",")
    .map(driverNamed)
    .flatMap((driver) =>
      (driver === "lmdb" ? shards.split(",") : ["1"]).flatMap((shard) =>
        writers
          .split(",")
          .flatMap((writer) =>
            batches.split(",").map((batch): Case => ({ driver, writers: writer, shards: shard, batch })),
          ),
      ),
    );
}

/** @throws SaltworksError USAGE */
function driverNamed(name: string): Case["driver"] {
  if (name === "lmdb" || name === "local_cache") return name;
  throw new SaltworksError("USAGE", `no driver ${name}; there are lmdb, local_cache`, { name });
}

/** The store runs in a separate process, so that its CPU time is counted alone. The scenario's master stays idle. */
async function pointOf({ parameters: p, signal }: ScenarioContext<JobCacheParameters>, one: Case): Promise<Point> {
  const returns = one.driver === "lmdb" ? p.returns : Math.min(p.returns, localCacheReturnsMax);
  const wanted = Math.round(returns / Number(one.batch) / Number(one.writers));
  const batches = Math.min(batchesMax, Math.max(batchesMin[one.driver], wanted));
  const flags = { ...one, batches, minions: p.minions, durability: p.durability };
  const result = await measured(flags, signal);
  const put = oneByOne(histogramOf(result.latenciesMs), result.wallMs);
  return {
    label: `${one.driver}, ${one.writers} writing, ${one.shards} file(s), batches of ${one.batch}`,
    parameters: { ...p, ...flags },
    wallMs: result.wallMs,
    operations: { put },
    cpu: {
      totalMs: (result.cpuUsPerReturn * result.returns) / 1_000,
      // Of a put, as the latency is. The figures have it for each return.
      usPerOperation: result.cpuUsPerBatch,
      byThreadMs: {},
    },
    memory: { rssBytes: result.rssBytes, peakRssBytes: result.rssBytes },
    series: { atMs: [], values: {} },
    correctness: {
      expected: result.returns,
      accounted: result.returns - result.missing,
      missing: result.missing,
      duplicates: result.duplicates,
      errors: {},
    },
    generator: { cpuShare: 0, loopDelayP99Ms: 0, lateSends: 0, isVoid: false, voidReasons: [] },
    figures: {
      returnsPerSecond: result.returnsPerSecond,
      cpuUsPerReturn: result.cpuUsPerReturn,
      cpuUsPerBatch: result.cpuUsPerBatch,
    },
  };
}

/** The directory is made and removed here: the program's threads still write files while a signal ends it. */
async function measured(flags: Readonly<Record<string, string | number>>, signal: AbortSignal): Promise<StoreResult> {
  const directory = await mkdtemp(join(tmpdir(), "saltworks-store-bench-"));
  try {
    const args = Object.entries({ ...flags, directory }).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const limits = { timeout: caseTimeoutMs, maxBuffer: answerBytesMax, signal, killSignal: "SIGKILL" } as const;
    const running = promisify(execFile)(process.execPath, [program, ...args], limits);
    const exit = once(running.child, "exit");
    try {
      return JSON.parse((await running).stdout) as StoreResult;
    } finally {
      // An abort rejects before the program has ended.
      await exit;
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
