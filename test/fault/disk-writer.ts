/**
 * A process that stores returns, loads and minions' data from several threads until each was refused often or the time is over. It prints as JSON
 * what was acknowledged, and ends by a signal (`endSignal`). For full-disk.test.ts and disk-errors.test.ts: `disk-writer.js DIRECTORY THREADS MILLISECONDS [FILE]`;
 * FILE gets each batch when it is acknowledged, because the process may die before it prints.
 */

import assert from "node:assert/strict";
import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { jidOf } from "../../bench/store/load.ts";
import { hasCode } from "../../src/errors.ts";
import { type DiskFaultKind, diskFaultCounts } from "../../src/store/disk/faults.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { openMinionData } from "../../src/store/minions/data.ts";
import { loadOf, returnOf } from "../contract/job-samples.ts";
import { returnsIn } from "../contract/returns-in.ts";

/** Acknowledged batches as `job/thread/batch`; the number of refused batches, and of faults that background work reported. */
export type Written = {
  readonly acknowledged: string[];
  readonly refused: number;
  readonly faults: number;
  /** The distinct messages of refusals and faults. */
  readonly told: string[];
  /** The counters of the threads. */
  readonly counted: Record<DiskFaultKind, number>;
};

type Work = {
  readonly directory: string;
  readonly thread: number;
  readonly threads: number;
  readonly opened: Int32Array;
  readonly untilMs: number;
  readonly file?: string;
};

export const returnsPerBatch = 32;
const batchesPerJob = 20;
/** A thread ends after this number of refusals. */
const refusalsWanted = 40;
/** If the disk has not failed within a thread's time, the thread continues for at most this long, milliseconds: the machine may be slow. */
const lateMs = 30_000;
/**
 * The process ends itself by this signal when it has printed. `process.exit` ends threads in the middle of a transaction, and waits without end
 * for the lock that lmdb's wrapper took for it.
 */
export const endSignal = "SIGKILL";
const bodyText = "x".repeat(90);

export function minionIdsOf(thread: number, batch: number): string[] {
  return Array.from({ length: returnsPerBatch }, (_, index) => `m${thread}-${batch}-${index}`);
}

/** Checks that the store has all that was acknowledged, with a new reader. */
export async function assertThere(directory: string, acknowledged: readonly string[]): Promise<void> {
  const path = join(directory, "jobs.lmdb");
  const reader = openLmdbJobCache({ path, shards: 1, durability: "fsync", isReadOnly: true });
  const stored = new Map<string, Set<string>>();
  for (const batch of acknowledged) {
    const [job = 0, thread = 0, index = 0] = batch.split("/").map(Number);
    const jid = jidOf(job);
    const ids = stored.get(jid) ?? new Set((await returnsIn(reader, jid)).map(({ minionId }) => minionId));
    stored.set(jid, ids);
    const lost = minionIdsOf(thread, index).filter((id) => !ids.has(id));
    assert.deepEqual(lost, [], `batch ${batch}`);
  }
  await reader.close();
}

/** A thread writes for this long after the last call that failed, milliseconds, to see what the failure led to. */
const afterFailureMs = 1_000;
/** Of all threads, on a slow machine. */
const openMs = 60_000;

/** Whether a call was made to fail (disk-faults.c), and its effects had time to show. Without rules: whether the disk has failed by itself. */
function hasFailed(failures: number): boolean {
  const { SALTWORKS_FAULTS: rules } = process.env;
  if (rules === undefined) return failures > 0;
  const hits = statSync(`${rules}.hits`, { throwIfNoEntry: false });
  return hits !== undefined && Date.now() - hits.mtimeMs >= afterFailureMs;
}

/** Waits until all threads have come here. */
function untilAllOpened(opened: Int32Array, threads: number): void {
  Atomics.add(opened, 0, 1);
  Atomics.notify(opened, 0);
  for (let count = Atomics.load(opened, 0); count < threads; count = Atomics.load(opened, 0)) {
    if (Atomics.wait(opened, 0, count, openMs) === "timed-out") throw new Error("a thread does not open its store");
  }
}

async function write({ directory, thread, threads, opened, untilMs, file }: Work): Promise<Written> {
  let refused = 0;
  let faults = 0;
  const acknowledged: string[] = [];
  const told = new Set<string>();
  /** A full disk causes refusals. Any other error is a defect and ends the process. */
  const attempt = async (step: () => Promise<unknown>): Promise<boolean> => {
    try {
      await step();
      return true;
    } catch (error) {
      if (!hasCode(error, "STORE_FAILED")) throw error;
      told.add((error as Error).message);
      return false;
    }
  };
  const onFault = ({ message }: Error) => {
    faults += 1;
    told.add(message);
  };
  const cache = openLmdbJobCache({ path: `${directory}/jobs.lmdb`, shards: 1, durability: "fsync", onFault });
  const minions = openMinionData({ path: `${directory}/minions.lmdb` });
  // A store that fails before another thread has opened it is another case.
  untilAllOpened(opened, threads);
  const isOver = () => {
    const overMs = Date.now() - untilMs;
    return refused >= refusalsWanted || overMs >= lateMs || (overMs >= 0 && hasFailed(refused + faults));
  };
  for (let job = 0; !isOver(); job += 1) {
    const jid = jidOf(job);
    await attempt(() => cache.keepJobs([loadOf(`${jid}_${thread}`)]));
    await attempt(() => minions.putGrains(`m${thread}-${job}`, Buffer.alloc(1_500, 1), Buffer.alloc(300, 2)));
    for (let batch = 0; batch < batchesPerJob && !isOver(); batch += 1) {
      const records = minionIdsOf(thread, batch).map((id) => returnOf(jid, id, bodyText));
      if (await attempt(() => cache.keepReturns(records))) {
        acknowledged.push(`${job}/${thread}/${batch}`);
        if (file !== undefined) appendFileSync(file, `${job}/${thread}/${batch}\n`);
      } else refused += 1;
      await turn();
    }
    await attempt(() => returnsIn(cache, jid));
  }
  return { acknowledged, refused, faults, told: [...told], counted: { ...diskFaultCounts() } };
}

async function main([directory = "", threads = "2", milliseconds = "1000", file]: readonly string[]): Promise<void> {
  const untilMs = Date.now() + Number(milliseconds);
  const opened = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const answers = await Promise.all(
    Array.from(
      { length: Number(threads) },
      (_, thread) =>
        new Promise<Written>((resolve, reject) => {
          const worker = new Worker(fileURLToPath(import.meta.url), {
            workerData: { directory, thread, threads: Number(threads), opened, untilMs, file },
          });
          worker.once("message", resolve);
          worker.once("error", reject);
        }),
    ),
  );
  const written: Written = {
    acknowledged: answers.flatMap(({ acknowledged }) => acknowledged),
    refused: answers.reduce((sum, { refused }) => sum + refused, 0),
    faults: answers.reduce((sum, { faults }) => sum + faults, 0),
    told: [...new Set(answers.flatMap(({ told }) => told))],
    counted: {
      full: answers.reduce((sum, { counted }) => sum + counted.full, 0),
      failed: answers.reduce((sum, { counted }) => sum + counted.failed, 0),
      lost: answers.reduce((sum, { counted }) => sum + counted.lost, 0),
    },
  };
  process.stdout.write(`${JSON.stringify(written)}\n`, () => process.kill(process.pid, endSignal));
}

if (!isMainThread) {
  parentPort?.postMessage(await write(workerData as Work));
} else if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2));
}
