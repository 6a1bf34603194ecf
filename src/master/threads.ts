/** Starts the master's threads, the workers and the lanes, with their settings. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import { eventReturnsOf } from "../config/options/event-returns.ts";
import { databaseOf } from "../config/options/job-cache-drivers.ts";
import type { GitEnvironment } from "../git/program.ts";
import {
  credentialChecksMax,
  credentialChecksWaitingMax,
  credentialCheckTimeoutMs,
  fileOverdueGraceMs,
  fileRequestsMax,
  fileTaskTimeoutMs,
  gitFetchesAtOnceMax,
  gitFetchTimeoutMs,
  idleFileThreadMs,
  laneOldHeapMb,
  laneQueueMax,
  laneTaskTimeoutMs,
  laneYoungHeapMb,
  publishHeapMbMin,
  runnersAtOnceMax,
  runnerTaskTimeoutMs,
  workerYoungHeapMb,
} from "../limits.ts";
import { servedNames } from "../sidecar/availability.ts";
import { ensureMasterKeys } from "../store/keys/keys.ts";
import type {
  DatabaseStart,
  EventStart,
  FileStart,
  GitStart,
  MigrationStart,
  RsaStart,
  SaltStart,
} from "../workers/messages/lanes.ts";
import type { PillarStart, SourceStart } from "../workers/messages/pillar.ts";
import type { ReactorStart } from "../workers/messages/reactor.ts";
import type { RunnerStart } from "../workers/messages/runner.ts";
import type { WorkerStart } from "../workers/messages/worker.ts";
import { LanePool, type LanePoolOptions } from "../workers/threads/lane-pool.ts";
import { type HeapLimits, WorkerPool } from "../workers/threads/worker-pool.ts";
import { portOptions } from "./ports/endpoint.ts";
import type { OpenedPorts } from "./ports/port-check.ts";
import { PublishFront } from "./ports/publish-front.ts";
import type { CopyLanes } from "./upkeep/copies.ts";

/** For lanes whose tasks are small in any fleet. */
const laneHeap: HeapLimits = { youngMb: laneYoungHeapMb, oldMb: laneOldHeapMb };
/** For threads that hold data of minions and operators: files, pillars, returns. */
export const workerHeap = (config: MasterConfig): HeapLimits => ({
  youngMb: workerYoungHeapMb,
  oldMb: config.worker_heap_mb,
});

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
  return openLane(logger, {
    filename: new URL("../workers/lanes/rsa-lane.js", import.meta.url).href,
    heap: laneHeap,
    threadCount: config.rsa_threads,
    threadsKept: 1,
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData,
  });
}

export function openPillarLane(config: MasterConfig, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/pillar-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    threadCount: config.pillar_threads,
    taskTimeoutMs: config.pillar_render_timeout * 1_000,
    workerData: { config } satisfies PillarStart,
  });
}

export function openExternalLane(
  config: MasterConfig,
  environment: SourceStart["environment"],
  logger: Logger,
): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/external-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    concurrentTasksPerThread: config.ext_pillar_commands,
    // Commands end at `ext_pillar_timeout`. The later deadline ends a thread that hangs.
    taskTimeoutMs: config.ext_pillar_timeout * 1_000 + laneTaskTimeoutMs,
    workerData: { config, environment: { ...environment } } satisfies SourceStart,
  });
}

export function openFileLane(config: MasterConfig, environment: GitEnvironment, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/file-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    concurrentTasksPerThread: fileRequestsMax,
    taskTimeoutMs: fileTaskTimeoutMs,
    overdueGraceMs: fileOverdueGraceMs,
    idleMs: idleFileThreadMs,
    workerData: { config, environment: { ...environment } } satisfies FileStart,
  });
}

export function openRunnerLane(config: MasterConfig, environment: GitEnvironment, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/runner-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    concurrentTasksPerThread: runnersAtOnceMax,
    taskTimeoutMs: runnerTaskTimeoutMs,
    workerData: { config, environment: { ...environment } } satisfies RunnerStart,
  });
}

/** Its thread starts with the first fetch. A fetch ends by its own deadline; those of one round run side by side. */
export function openGitLane(config: MasterConfig, start: GitStart, logger: Logger): LanePool {
  const { remotes } = start;
  return openLane(logger, {
    filename: new URL("../workers/lanes/git-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    concurrentTasksPerThread: Math.max(1, remotes.length),
    taskTimeoutMs: gitFetchTimeoutMs * Math.max(1, Math.ceil(remotes.length / gitFetchesAtOnceMax)) + laneTaskTimeoutMs,
    idleMs: idleFileThreadMs,
    workerData: start,
  });
}

/** Its thread starts with the first event, and stays. */
export function openReactorLane(config: MasterConfig, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/reactor-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    taskTimeoutMs: config.reactor_render_timeout * 1_000,
    idleMs: idleFileThreadMs,
    workerData: { config } satisfies ReactorStart,
  });
}

export function openSaltLane(
  config: MasterConfig,
  salt: Pick<SaltStart, "queueFile" | "layouts">,
  logger: Logger,
): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/salt-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData: { config, ...salt } satisfies SaltStart,
  });
}

export function openCopyLanes(config: MasterConfig, environment: EventStart["environment"], logger: Logger): CopyLanes {
  const [database, events] = [
    openDatabaseLane(config, environment, logger),
    openEventLane(config, environment, logger),
  ];
  const migrations = openMigrationLane(config, logger);
  return { migrations, ...(database && { database }), ...(events && { events }) };
}

/** Its thread starts with a migration. */
function openMigrationLane(config: MasterConfig, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/migration-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData: { config } satisfies MigrationStart,
  });
}

/** Undefined if no database gets jobs. */
function openDatabaseLane(
  config: MasterConfig,
  environment: DatabaseStart["environment"],
  logger: Logger,
): LanePool | undefined {
  const name = databaseOf(config);
  if (name === undefined) return undefined;
  return openLane(logger, {
    filename: new URL("../workers/lanes/database-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData: { config, name, environment: { ...environment } } satisfies DatabaseStart,
  });
}

/** Undefined without `event_return`. Its thread stays, because events wait in it. */
function openEventLane(
  config: MasterConfig,
  environment: EventStart["environment"],
  logger: Logger,
): LanePool | undefined {
  if (eventReturnsOf(config).length + servedNames(config, "event_return").length === 0) return undefined;
  return openLane(logger, {
    filename: new URL("../workers/lanes/event-lane.js", import.meta.url).href,
    heap: workerHeap(config),
    threadsKept: 1,
    concurrentTasksPerThread: eventTasksAtOnce,
    taskTimeoutMs: laneTaskTimeoutMs,
    workerData: { config, environment: { ...environment } } satisfies EventStart,
  });
}

export function openCredentialLane(config: MasterConfig, logger: Logger): LanePool {
  return openLane(logger, {
    filename: new URL("../workers/lanes/credential-lane.js", import.meta.url).href,
    heap: laneHeap,
    concurrentTasksPerThread: credentialChecksMax,
    queueMax: credentialChecksMax + credentialChecksWaitingMax,
    taskTimeoutMs: credentialCheckTimeoutMs,
    workerData: { config } satisfies Pick<RunnerStart, "config">,
  });
}

/** Tasks of the event lane: each only hands over, except for the last. */
const eventTasksAtOnce = 8;

/** By default a lane has one thread, which starts when it is needed and does one task at a time. */
export function openLane(
  logger: Logger,
  lane: Pick<LanePoolOptions, "filename" | "heap" | "taskTimeoutMs" | "workerData"> & Partial<LanePoolOptions>,
): LanePool {
  return new LanePool({
    threadCount: 1,
    threadsKept: 0,
    concurrentTasksPerThread: 1,
    queueMax: laneQueueMax,
    onThreadLost: (error) => logger.error({ err: error }, "a lane's thread ended and is replaced"),
    ...lane,
  });
}

type PublishParts = {
  readonly config: MasterConfig;
  readonly openedPorts: OpenedPorts;
  readonly logger: Logger;
};

/** @throws SaltworksError MASTER_RUNNING if the port or address cannot be bound */
export function openPublishFront(
  { config, openedPorts, logger }: PublishParts,
  onFault: (error: Error) => void,
): Promise<PublishFront> {
  return PublishFront.bind({
    ...portOptions(config),
    host: config.interface,
    port: config.publish_port,
    descriptor: openedPorts.get("publish_port"),
    highWaterMark: config.pub_hwm,
    isFiltering: config.zmq_filtering,
    hasLowerMasters: config.order_masters,
    heap: { youngMb: workerYoungHeapMb, oldMb: Math.max(config.worker_heap_mb, publishHeapMbMin) },
    logger,
    onFault,
  });
}

export function openWorkerPool(config: MasterConfig, start: WorkerStart, logger: Logger): WorkerPool {
  return new WorkerPool({
    filename: new URL("../workers/entry.js", import.meta.url).href,
    heap: workerHeap(config),
    slotCount: start.slotCount,
    batchesInFlight: config.batches_in_flight,
    queueBytesMax: config.queue_max_bytes,
    workerData: start,
    transactions: start.transactions,
    onWorkerLost: (slot, error) => logger.error({ slot, err: error }, "a worker thread ended and is replaced"),
  });
}
