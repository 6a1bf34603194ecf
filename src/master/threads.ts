/** Starts the master's threads: shard workers, RSA lane, runner lane; and settles what each is started with. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import {
  credentialChecksMax,
  credentialChecksWaitingMax,
  credentialCheckTimeoutMs,
  fileRequestsMax,
  fileTaskTimeoutMs,
  laneOldHeapMb,
  laneQueueMax,
  laneTaskTimeoutMs,
  laneYoungHeapMb,
  workerYoungHeapMb,
} from "../limits.ts";
import { ensureMasterKeys } from "../store/keys.ts";
import { LanePool } from "../workers/lane-pool.ts";
import type { FileStart, PillarStart, RsaStart, RunnerStart, ShardStart } from "../workers/messages.ts";
import { ShardPool } from "../workers/pool.ts";

/** Runners mostly wait for minions; this many may wait at once. */
const runnersAtOnce = 64;
/** A runner waits for minions as long as its caller asked; this only ends one that is lost. */
const runnerTimeoutMs = 24 * 3_600_000;

export type MasterKeyFiles = { readonly privatePem: string; readonly publicPem: string };

export function openRsaLane(config: MasterConfig, master: MasterKeyFiles, logger: Logger): LanePool {
  const signing = config.master_sign_pubkey
    ? ensureMasterKeys(
        config.pki_dir,
        config.keysize,
        config.master_sign_key_name,
        config.signing_key_pass ?? undefined,
      )
    : undefined;
  const signatureFile = join(config.pki_dir, config.master_pubkey_signature);
  const isPrecomputed = config.master_sign_pubkey && config.master_use_pubkey_signature && existsSync(signatureFile);
  const workerData: RsaStart = {
    config,
    masterPrivatePem: master.privatePem,
    masterPublicPem: master.publicPem,
    signingPrivatePem: signing?.privatePem,
    publicKeySignature: isPrecomputed ? readFileSync(signatureFile) : undefined,
  };
  return new LanePool({
    filename: new URL("../workers/rsa-lane.js", import.meta.url).href,
    heap: { youngMb: laneYoungHeapMb, oldMb: laneOldHeapMb },
    threadCount: config.rsa_threads,
    threadsKept: 1,
    concurrentTasksPerThread: 1,
    queueMax: laneQueueMax,
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
}

export function openPillarLane(config: MasterConfig, logger: Logger): LanePool {
  const workerData: PillarStart = { config };
  return new LanePool({
    filename: new URL("../workers/pillar-lane.js", import.meta.url).href,
    heap: { youngMb: workerYoungHeapMb, oldMb: config.worker_heap_mb },
    threadCount: config.pillar_threads,
    threadsKept: 0,
    concurrentTasksPerThread: 1,
    queueMax: laneQueueMax,
    taskTimeoutMs: config.pillar_render_timeout * 1_000,
    workerData,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
}

export function openFileLane(config: MasterConfig, logger: Logger): LanePool {
  const workerData: FileStart = { config };
  return new LanePool({
    filename: new URL("../workers/file-lane.js", import.meta.url).href,
    heap: { youngMb: workerYoungHeapMb, oldMb: config.worker_heap_mb },
    threadCount: 1,
    threadsKept: 0,
    concurrentTasksPerThread: fileRequestsMax,
    queueMax: laneQueueMax,
    taskTimeoutMs: fileTaskTimeoutMs,
    workerData,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
}

export function openRunnerLane(config: MasterConfig, logger: Logger): LanePool {
  const workerData: RunnerStart = { config };
  return new LanePool({
    filename: new URL("../workers/runner-lane.js", import.meta.url).href,
    heap: { youngMb: workerYoungHeapMb, oldMb: config.worker_heap_mb },
    threadCount: 1,
    threadsKept: 0,
    concurrentTasksPerThread: runnersAtOnce,
    queueMax: laneQueueMax,
    taskTimeoutMs: runnerTimeoutMs,
    workerData,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
}

export function openCredentialLane(config: MasterConfig, logger: Logger): LanePool {
  const workerData: RunnerStart = { config };
  return new LanePool({
    filename: new URL("../workers/credential-lane.js", import.meta.url).href,
    heap: { youngMb: laneYoungHeapMb, oldMb: laneOldHeapMb },
    threadCount: 1,
    threadsKept: 0,
    concurrentTasksPerThread: credentialChecksMax,
    queueMax: credentialChecksMax + credentialChecksWaitingMax,
    taskTimeoutMs: credentialCheckTimeoutMs,
    workerData,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
  });
}

export function openShardPool(config: MasterConfig, start: ShardStart, logger: Logger): ShardPool {
  return new ShardPool({
    filename: new URL("../workers/entry.js", import.meta.url).href,
    heap: { youngMb: workerYoungHeapMb, oldMb: config.worker_heap_mb },
    slotCount: start.slotCount,
    batchesInFlight: config.batches_in_flight,
    queueBytesMax: config.queue_max_bytes,
    workerData: start,
    onWorkerLost: (slot, error) => logger.error({ slot, err: error }, "a worker thread ended and is replaced"),
  });
}
