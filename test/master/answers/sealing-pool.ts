/** A pool whose one worker seals without a seal: a reply is the bytes of its parts. */
import type { PoolTask, WorkerPool } from "../../../src/workers/threads/worker-pool.ts";

export const sealingPool = {
  slotCount: 1,
  offer: async (_: number, job: PoolTask) => Buffer.concat((job.build().task as { parts: Uint8Array[] }).parts),
} as unknown as WorkerPool;
