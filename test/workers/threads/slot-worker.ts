/** A worker for the pool's tests: as told, it reports its thread, waits, fails, dies or hangs. */
import { closeSync, openSync } from "node:fs";
import { threadId, workerData } from "node:worker_threads";
import { SaltworksError } from "../../../src/errors.ts";
import { marked, markTransactions } from "../../../src/store/lmdb/transaction-marks.ts";
import { countTurns } from "../../../src/workers/threads/turns.ts";
import { failed } from "../../../src/workers/threads/worker-pool.ts";

export type SlotTask = {
  readonly slot: number;
  readonly act:
    | "say"
    | "wait"
    | "throw"
    | "throwExit"
    | "fail"
    | "die"
    | "dieOnce"
    | "grow"
    | "hang"
    | "hangOnce"
    | "open"
    | "waitInTransaction";
  readonly flag?: SharedArrayBuffer;
  /** A file to open. A pipe that has no writer holds the thread in the system's call. */
  readonly file?: string;
};

const { transactions } = workerData as { transactions?: SharedArrayBuffer };
if (transactions !== undefined) markTransactions(transactions);

/** A module that loads slowly, as on a machine under load. */
const loadMs = Number((workerData as { loadMs?: number }).loadMs ?? 0);
for (const untilMs = performance.now() + loadMs; performance.now() < untilMs; );

const { turns } = workerData as { turns?: SharedArrayBuffer };
if (turns !== undefined) countTurns(turns, 20);

/** Fails to load, as when the process has no files or memory left. */
const { cannotLoad } = workerData as { cannotLoad?: SharedArrayBuffer };
if (cannotLoad !== undefined && Atomics.load(new Int32Array(cannotLoad), 0) === 1) throw new Error("told not to load");

/** Hangs once while it loads. */
const { loadsHung } = workerData as { loadsHung?: SharedArrayBuffer };
if (loadsHung !== undefined && Atomics.exchange(new Int32Array(loadsHung), 0, 1) === 0) for (;;);

/** A lane counts its threads in memory of its own, a test in the other. */
const { startedThreads, loaded } = workerData as { startedThreads?: SharedArrayBuffer; loaded?: SharedArrayBuffer };
for (const count of [startedThreads, loaded]) if (count !== undefined) Atomics.add(new Int32Array(count), 0, 1);

export default async function handle(task: SlotTask): Promise<object> {
  switch (task.act) {
    case "throw":
      throw new Error("told to fail");
    case "throwExit":
      throw new Error("worker exited with code: 3");
    case "fail":
      return failed(new SaltworksError("STORE_FAILED", "told to fail, with a code"));
    case "die":
      process.exit(3);
      break;
    case "dieOnce": {
      const flag = new Int32Array(task.flag ?? new SharedArrayBuffer(4));
      if (Atomics.exchange(flag, 0, 1) === 0) process.exit(3);
      break;
    }
    case "grow": {
      const kept: string[][] = [];
      for (;;) kept.push(Array.from({ length: 100_000 }, (_, index) => `${kept.length} ${index}`));
    }
    case "wait": {
      const flag = new Int32Array(task.flag ?? new SharedArrayBuffer(4));
      await Atomics.waitAsync(flag, 0, 0).value;
      break;
    }
    case "hangOnce": {
      const flag = new Int32Array(task.flag ?? new SharedArrayBuffer(4));
      if (Atomics.exchange(flag, 0, 1) === 0) for (;;);
      break;
    }
    case "hang":
      for (;;);
    case "open":
      closeSync(openSync(task.file ?? "/dev/null", "r"));
      break;
    case "waitInTransaction":
      marked(() => Atomics.wait(new Int32Array(task.flag ?? new SharedArrayBuffer(4)), 0, 0));
      break;
    case "say":
      break;
  }
  return { slot: task.slot, threadId };
}
