/**
 * Question: what does a durable return cost in the job cache alone, in CPU time and in latency, by size of batch and number of writing threads?
 *
 *     node dist/bench/store/main.js [--driver lmdb] [--durability fsync] [--shards 1] [--writers 1] [--batch 64] [--batches 500] [--minions 1000] [--directory /tmp]
 *
 * One JSON line. CPU time is that of the whole process until the caches are closed, when all data is in its final place.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { SaltworksError } from "../../src/errors.ts";
import { allReturns } from "../../src/store/jobs/job-cache.ts";
import { jidOf, jobCount, openStore, type StoreLoad } from "./load.ts";

/** `cpuUs` and `returnsPerSecond`: all writers together. `missing`: puts that were acknowledged but cannot be read. */
export type StoreResult = {
  readonly load: StoreLoad;
  readonly returns: number;
  readonly wallMs: number;
  readonly returnsPerSecond: number;
  readonly cpuUsPerReturn: number;
  readonly cpuUsPerBatch: number;
  readonly latenciesMs: readonly number[];
  readonly rssBytes: number;
  readonly missing: number;
  readonly duplicates: number;
};

const drivers: readonly string[] = ["lmdb", "local_cache"] satisfies StoreLoad["driver"][];
const durabilities: readonly string[] = ["fsync", "commit", "async"] satisfies StoreLoad["durability"][];
/** Puts until the code is compiled, whatever the batch. */
const warmUpBatches = 1_000;
const nsPerMs = 1e6;
/** Retries, because a writer may make a file while its directory is removed. What is left after them, the bench removes. */
const removalTriesMax = 5;

function parse(args: readonly string[], directory: string): StoreLoad {
  const text = { type: "string" } as const;
  const options = {
    ...{ driver: text, durability: text, shards: text, writers: text, batch: text, batches: text, minions: text },
    directory: text,
  };
  const { values } = parseArgs({ args: [...args], options });
  const count = (name: "shards" | "writers" | "batch" | "batches" | "minions", fallback: number): number => {
    const value = Number(values[name] ?? fallback);
    if (Number.isSafeInteger(value) && value > 0) return value;
    throw new SaltworksError("USAGE", `--${name} takes a whole number above 0`, { name });
  };
  const choice = (name: "driver" | "durability", known: readonly string[], fallback: string): string => {
    const value = values[name] ?? fallback;
    if (known.includes(value)) return value;
    throw new SaltworksError("USAGE", `--${name} is one of ${known.join(", ")}`, { name });
  };
  return {
    driver: choice("driver", drivers, "lmdb") as StoreLoad["driver"],
    durability: choice("durability", durabilities, "fsync") as StoreLoad["durability"],
    directory,
    shards: count("shards", 1),
    writers: count("writers", 1),
    batch: count("batch", 64),
    batches: count("batches", 500),
    minions: count("minions", 1_000),
  };
}

/** `acknowledgedNs`: time of the last acknowledgement. The message is sent after the caches are closed. */
type Said = { readonly latenciesMs: number[]; readonly stored: number; readonly acknowledgedNs: bigint };

/** Resolves with the writer's next message. */
function next<Message>(worker: Worker): Promise<Message> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

async function run(load: StoreLoad, warmUp: StoreLoad): Promise<StoreResult> {
  const entry = fileURLToPath(new URL("./writer.js", import.meta.url));
  const workers = Array.from(
    { length: load.writers },
    (_, writer) => new Worker(entry, { workerData: { load, writer, warmUp } }),
  );
  const all = <Message>(): Promise<Message[]> => Promise.all(workers.map((worker) => next<Message>(worker)));
  await all();
  const ready = all();
  for (const worker of workers) worker.postMessage("go");
  await ready;
  const said = all<Said>();
  const cpuBefore = process.cpuUsage();
  const startedNs = process.hrtime.bigint();
  for (const worker of workers) worker.postMessage("go");
  const answers = await said;
  const wallMs = Math.max(...answers.map(({ acknowledgedNs }) => Number(acknowledgedNs - startedNs))) / nsPerMs;
  const rssBytes = process.memoryUsage.rss();
  const { user, system } = process.cpuUsage(cpuBefore);
  const returns = load.writers * load.batches * load.batch;
  const stored = answers.reduce((sum, answer) => sum + answer.stored, 0);
  return {
    load,
    returns,
    wallMs,
    returnsPerSecond: returns / (wallMs / 1_000),
    cpuUsPerReturn: (user + system) / returns,
    cpuUsPerBatch: (user + system) / (load.writers * load.batches),
    latenciesMs: answers.flatMap((answer) => answer.latenciesMs),
    rssBytes,
    missing: stored - (await readable(load)),
    duplicates: returns - stored,
  };
}

async function readable(load: StoreLoad): Promise<number> {
  const cache = openStore(load);
  try {
    let count = 0;
    for (let job = 0; job < jobCount(load); job += 1) for await (const _ of allReturns(cache, jidOf(job))) count += 1;
    return count;
  } finally {
    await cache.close();
  }
}

const at = process.argv.indexOf("--directory");
let root: string | undefined;
// Ctrl-C may end this program in the middle of a put, or before the next line has run.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    try {
      if (root !== undefined) rmSync(root, { recursive: true, force: true, maxRetries: removalTriesMax });
    } finally {
      // `process.exit` waits for the writers' threads. One that is ended within a transaction of LMDB waits for its own lock for ever.
      process.kill(process.pid, "SIGKILL");
    }
  });
}
root = mkdtempSync(join(at === -1 ? tmpdir() : (process.argv[at + 1] ?? tmpdir()), "saltworks-store-bench-"));
try {
  const load = parse(process.argv.slice(2), join(root, "measured"));
  const warmUp = { ...load, directory: join(root, "warm-up"), batches: Math.min(load.batches, warmUpBatches) };
  process.stdout.write(`${JSON.stringify(await run(load, warmUp))}\n`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
