/** One writer of the job-cache bench: a thread that puts its batches one after the other, as a worker of the master does. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { batchesOf, firstReturn, jobCount, loadOf, openStore, type StoreLoad } from "./load.ts";

const { load, writer, warmUp } = workerData as { load: StoreLoad; writer: number; warmUp: StoreLoad };

type Putting = { latenciesMs: number[]; stored: number; acknowledgedNs: bigint };

async function putAll(of: StoreLoad): Promise<Putting> {
  const cache = openStore(of);
  const batches = batchesOf(of, writer);
  if (writer === 0) for (let job = 0; job < jobCount(of); job += 1) await cache.keepJobs([loadOf(of, job)]);
  // Makes the first return before the span, because a writer makes some objects only once.
  await cache.keepReturns([firstReturn(writer)]);
  parentPort?.postMessage("ready");
  await new Promise((resolve) => parentPort?.once("message", resolve));
  const latenciesMs: number[] = [];
  let stored = 0;
  for (const batch of batches) {
    const startedMs = performance.now();
    for (const outcome of await cache.keepReturns(batch)) if (outcome === "stored") stored += 1;
    latenciesMs.push(performance.now() - startedMs);
    await nextTurn();
  }
  const acknowledgedNs = process.hrtime.bigint();
  await cache.close();
  return { latenciesMs, stored, acknowledgedNs };
}

// So that the measured span compiles no code.
await putAll(warmUp);
parentPort?.postMessage(await putAll(load));
