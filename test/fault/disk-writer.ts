/**
 * A process that stores returns, loads and minions' data from several threads until each was refused often or a time is over, and prints as JSON what
 * was acknowledged. For full-disk.test.ts and disk-errors.test.ts: `disk-writer.js DIRECTORY THREADS MILLISECONDS`.
 */
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { hasCode } from "../../src/errors.ts";
import { openLmdbJobCache } from "../../src/store/lmdb-job-cache.ts";
import { openMinionData } from "../../src/store/minion-data.ts";
import { loadOf, returnOf } from "../contract/job-cache.ts";

/** Batches that were acknowledged, as `job/thread/batch`; how many were refused, and faults told of work behind the answer. */
export type Written = { readonly acknowledged: string[]; readonly refused: number; readonly faults: number };

export const returnsPerBatch = 32;
const batchesPerJob = 20;
/** A thread that was refused so often has seen enough. */
const refusalsWanted = 40;
const bodyText = "x".repeat(90);

export function jidOf(job: number): string {
  return `20260102030405${String(job).padStart(6, "0")}`;
}

export function minionIdsOf(thread: number, batch: number): string[] {
  return Array.from({ length: returnsPerBatch }, (_, index) => `m${thread}-${batch}-${index}`);
}

async function write(directory: string, thread: number, untilMs: number): Promise<Written> {
  let refused = 0;
  let faults = 0;
  const acknowledged: string[] = [];
  /** Refusals are what a full disk is answered with; anything else is a defect and ends the process. */
  const attempt = async (step: () => Promise<unknown>): Promise<boolean> => {
    try {
      await step();
      return true;
    } catch (error) {
      if (!hasCode(error, "STORE_FAILED")) throw error;
      return false;
    }
  };
  const onFault = () => {
    faults += 1;
  };
  const cache = openLmdbJobCache({ path: `${directory}/jobs.lmdb`, shards: 1, durability: "fsync", onFault });
  const minions = openMinionData({ path: `${directory}/minions.lmdb` });
  const isOver = () => Date.now() >= untilMs || refused >= refusalsWanted;
  for (let job = 0; !isOver(); job += 1) {
    const jid = jidOf(job);
    await attempt(() => cache.putLoad(loadOf(`${jid}_${thread}`)));
    await attempt(() => minions.putGrains(`m${thread}-${job}`, Buffer.alloc(1_500, 1), Buffer.alloc(300, 2)));
    for (let batch = 0; batch < batchesPerJob && !isOver(); batch += 1) {
      const records = minionIdsOf(thread, batch).map((id) => returnOf(jid, id, bodyText));
      if (await attempt(() => cache.putReturns(records))) acknowledged.push(`${job}/${thread}/${batch}`);
      else refused += 1;
      await turn();
    }
    cache.getReturns(jid);
  }
  return { acknowledged, refused, faults };
}

async function main([directory = "", threads = "2", milliseconds = "1000"]: readonly string[]): Promise<void> {
  const untilMs = Date.now() + Number(milliseconds);
  const answers = await Promise.all(
    Array.from(
      { length: Number(threads) },
      (_, thread) =>
        new Promise<Written>((resolve, reject) => {
          const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { directory, thread, untilMs } });
          worker.once("message", resolve);
          worker.once("error", reject);
        }),
    ),
  );
  const written: Written = {
    acknowledged: answers.flatMap(({ acknowledged }) => acknowledged),
    refused: answers.reduce((sum, { refused }) => sum + refused, 0),
    faults: answers.reduce((sum, { faults }) => sum + faults, 0),
  };
  process.stdout.write(`${JSON.stringify(written)}\n`, () => process.exit(0));
}

if (!isMainThread) {
  const { directory, thread, untilMs } = workerData as { directory: string; thread: number; untilMs: number };
  parentPort?.postMessage(await write(directory, thread, untilMs));
} else if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2));
}
