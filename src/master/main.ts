/**
 * Runs the master: opens its parts, waits for a signal, and closes them. Start: lock, keys, stores, event bus, threads, publish port, request port.
 * Stop: drains the requests, then closes stores, ports, threads and event bus. docs/ARCHITECTURE.md.
 */

import { join } from "node:path";
import type { Logger } from "pino";
import type { MasterConfig } from "../config/load.ts";
import { unfedDatabaseFault } from "../config/options/job-cache-drivers.ts";
import { unbuiltWarning } from "../config/options/unbuilt.ts";
import { checkEventPackages } from "../databases/events/registry.ts";
import { checkDatabasePackages } from "../databases/registry.ts";
import { fileServerSettings } from "../fileserver/backends/contract/settings.ts";
import { drainDeadlineMs, keyChangeSettleMs, logItemsMax } from "../limits.ts";
import { checkSourcePackages } from "../pillar/external/merge-sources.ts";
import { pillarSettings } from "../pillar/input/settings.ts";
import { loginFaults, unreadCacheFaults } from "../sidecar/availability.ts";
import { claimInstance } from "../store/disk/instance-lock.ts";
import { openPendingJobs } from "../store/jobs/pending-jobs.ts";
import { ensureMasterKeys, type KeyChange, openKeyDirectories, watchKeys } from "../store/keys/keys.ts";
import { newTransactionMarks } from "../store/lmdb/transaction-marks.ts";
import { openSecretBox, type SecretBox } from "../store/secrets/sealed.ts";
import { type MasterSecrets, openMasterSecrets, rotateSecrets, takeOverSessions } from "../store/secrets/secrets.ts";
import { loadTrim, trimWhenIdle } from "../workers/measures/free-memory.ts";
import { collectWhenIdle, garbageCollector } from "../workers/measures/idle-collection.ts";
import type { WorkerStart } from "../workers/messages/worker.ts";
import { FileEpoch } from "../workers/state/file-epoch.ts";
import { sealSession } from "../workers/state/session-record.ts";
import { createKeyCounts } from "../workers/state/unproven-keys.ts";
import { letHeapsGrow } from "../workers/threads/heap-growth.ts";
import { createPartitionKey, Partitioner } from "../workers/threads/partition.ts";
import { type Audit, openAudit } from "./audit/audit.ts";
import type { AttachParts, Cluster, ClusterStart } from "./cluster/cluster.ts";
import { gitUpdatesOf } from "./git-fetching.ts";
import { LogLimit } from "./log/log-limit.ts";
import { Master } from "./master.ts";
import { localKeysOf } from "./operators/local-users.ts";
import { Bus } from "./ports/bus.ts";
import { MetricsServer } from "./ports/metrics-server.ts";
import { checkPorts, type OpenedPorts } from "./ports/port-check.ts";
import { exitAtOnce, leaveProcess } from "./shutdown/leave.ts";
import { openSidecar } from "./sidecar/open.ts";
import {
  openCopyLanes,
  openCredentialLane,
  openExternalLane,
  openFileLane,
  openLane,
  openPillarLane,
  openReactorLane,
  openRsaLane,
  openRunnerLane,
  openSaltLane,
  openWorkerPool,
  workerHeap,
} from "./threads.ts";
import { prepareDirectories } from "./upkeep/directories.ts";
import { openKeptMinions } from "./upkeep/kept-minions.ts";
import { KeyManagement } from "./upkeep/key-management.ts";
import { dropSessionsOfLostKeys } from "./upkeep/lost-keys.ts";
import { prepareSaltFiles, type SaltPlan } from "./upkeep/salt-files.ts";
import { prepareStores } from "./upkeep/store-start.ts";

const looseTagsWarning =
  "minion_event_tags: salt lets a minion fire events that Salt's tools show as another minion's result or as the master's own";

/** Hooks for the program that runs a master. */
export type MasterHooks = {
  /** Called when the master answers requests. `answers` resolves when every worker has answered a message. `state` gives the metrics as text. */
  readonly onReady?: (master: { readonly answers: () => Promise<void>; readonly state: () => Promise<string> }) => void;
  readonly onStopping?: () => void;
  /** How often the HTTP API of this master was started again. */
  readonly apiRestarts?: (() => number) | undefined;
  /** Starts the server of a member of a cluster. Called when this master owns its directories. */
  readonly startCluster?: (() => Promise<ClusterStart | undefined>) | undefined;
  /** Descriptors of ports that were bound while the process was root. */
  readonly openedPorts?: OpenedPorts;
};

/**
 * Runs a master until TERM or INT.
 *
 * @returns the exit code: 0 after a clean shutdown
 * @throws SaltworksError MASTER_RUNNING if ports or directories are in use, PORT_UNUSABLE, STORE_FAILED, CONFIG_INVALID, PACKAGE_MISSING
 */
export async function runMaster(config: MasterConfig, log: Logger, hooks: MasterHooks = {}): Promise<number> {
  letHeapsGrow();
  const limit = new LogLimit(log, () => performance.now());
  const { logger } = limit;
  const plugins = [...loginFaults(config), ...unreadCacheFaults(config), ...unfedDatabaseFault(config)];
  const faults = [...fileServerSettings(config, process.env).faults, ...plugins];
  const accepted = config.unbuilt.map(unbuiltWarning);
  for (const sentence of [...accepted, ...config.inert, ...faults]) logger.warn(sentence);
  if (config.minion_event_tags === "salt") logger.warn(looseTagsWarning);
  checkDatabasePackages(config);
  checkEventPackages(config);
  checkSourcePackages(pillarSettings(config));
  prepareDirectories(config);
  const lock = claimInstance([config.cachedir, config.pki_dir]);
  let audit: Audit | undefined;
  let cluster: ClusterStart | undefined;
  const reopenAudit = () => audit?.reopen();
  process.on("SIGHUP", reopenAudit);
  try {
    audit = openAudit(config, logger);
    const openedPorts = hooks.openedPorts ?? new Map();
    await checkPorts(config, openedPorts);
    const { apiRestarts } = hooks;
    cluster = await hooks.startCluster?.();
    const started = endDuringStart(cluster);
    const master = await startMaster({ config, log: limit, openedPorts, audit, apiRestarts, cluster });
    started();
    logger.info({ publish: master.publishEndpoint, requests: master.requestEndpoint }, "master is ready");
    hooks.onReady?.({ answers: () => master.answers(), state: () => master.metrics.text("prometheus") });
    const signal = await terminationSignal(master);
    hooks.onStopping?.();
    logger.info({ signal }, "shutting down");
    await master.stop(drainDeadlineMs);
    await audit?.close();
    await cluster?.stop();
    const code = master.fault === undefined ? 0 : 1;
    leaveProcess(code, master.hasStuckThread);
    return code;
  } finally {
    await cluster?.stop();
    process.off("SIGHUP", reopenAudit);
    lock.release();
  }
}

/** Parts opened so far. If the start fails, they are closed in reverse order. */
type Opened = { readonly close: () => Promise<unknown> | unknown }[];

type Startup = {
  readonly config: MasterConfig;
  readonly log: LogLimit;
  readonly openedPorts: OpenedPorts;
  readonly audit: Audit | undefined;
  readonly apiRestarts: MasterHooks["apiRestarts"];
  readonly cluster: ClusterStart | undefined;
};

async function startMaster(startup: Startup): Promise<Master> {
  const opened: Opened = [];
  try {
    return await openParts(startup, opened);
  } catch (error) {
    for (const part of opened.reverse()) {
      try {
        await part.close();
      } catch (fault) {
        // The caller gets the error of the failed start, not this one. The other parts must still be closed.
        startup.log.logger.error({ err: fault }, "closing failed");
      }
    }
    throw error;
  }
}

async function openParts(startup: Startup, opened: Opened): Promise<Master> {
  const { config, log, openedPorts, audit, apiRestarts } = startup;
  const { logger, counters } = log;
  const keep = <Part extends Opened[number]>(part: Part): Part => {
    opened.push(part);
    return part;
  };
  const cluster = startup.cluster && keep(await joinCluster(startup.cluster, config, logger));
  const masterKeys = ensureMasterKeys(config.pki_dir, config.keysize, "master", config.key_pass ?? undefined);
  const box = openSecretBox(masterKeys.privatePem, join(config.pki_dir, ".seal-salt"));
  const ownSecrets = keep(openMasterSecrets({ file: join(config.pki_dir, ".secrets.sealed"), box }));
  const secrets = cluster?.sharing(ownSecrets) ?? ownSecrets;
  if (secrets.isFresh)
    logger.warn({ why: secrets.freshReason }, "started with a new AES key: minions will authenticate again");
  // The own secrets: a member that has not joined rotates its key alone, and takes the cluster's when it joins.
  const lost = await readyStores(config, box, ownSecrets, logger);
  const accepted = new Set(openKeyDirectories(config.pki_dir).list("accepted"));
  const areKeysLost = accepted.size === 0;
  const saltPlan = await takeOverFromSalt(config, box, accepted, logger);
  const bus = keep(
    await Bus.open({ sockDir: config.sock_dir, subscriberBytesMax: config.event_subscriber_max_bytes, logger }),
  );
  const rsa = keep(openRsaLane(config, masterKeys, logger));
  const signMasterKey = (aes: string) => rsa.run<Uint8Array>({ kind: "signMasterKey", aes }, { isUrgent: true });
  const start: WorkerStart = {
    config,
    masterPrivatePem: masterKeys.privatePem,
    masterPublicPem: masterKeys.publicPem,
    localKeys: localKeysOf(config, logger),
    partitionKey: createPartitionKey(),
    slotCount: config.worker_threads,
    accepted,
    keys: await KeyManagement.presentKeys(secrets, signMasterKey),
    ...{ presencePings: [], cluster: cluster?.workerStart, clusterSessionKey: startup.cluster?.keys.sessionKey },
    mirrorQueueFile: saltPlan.isMirrored ? saltPlan.queueFile : undefined,
    ...{ keyCounts: createKeyCounts(), fileEpoch: FileEpoch.memory(), transactions: newTransactionMarks() },
  };
  const pool = keep(openWorkerPool(config, start, logger));
  const pendingJobs = keep(openPendingJobs(join(config.cachedir, "pending-jobs.lmdb")));
  const lanes = openLanes(config, { saltPlan, bus }, logger, keep);
  // Before any port opens, because a worker that cannot open its stores would be replaced for ever while clients wait.
  await pool.broadcast(() => ({ kind: "counters" }));
  const master = await Master.open({
    config,
    openedPorts,
    logger,
    logCounters: counters,
    start,
    secrets,
    bus,
    pool,
    rsa,
    ...lanes,
    saltPlan,
    partitioner: new Partitioner(start.partitionKey, config.partitions),
    pendingJobs: cluster?.leases.share(pendingJobs) ?? pendingJobs,
    signMasterKey,
    ...{ audit, apiRestarts, sequence: cluster?.sequence, sharing: cluster?.minions, leases: cluster?.leases },
  });
  // From here on `master.stop` closes all parts, in its own order.
  opened.length = 0;
  keep({ close: () => master.stop(0) });
  for (const id of lost) master.forgetHolder(id);
  followKeys(master, { config, logger, secrets, areKeysLost, cluster, pool, start });
  lanes.gitUpdates.start();
  await giveMemoryBack(master);
  await serveMetrics(config, openedPorts.get("metrics_port"), logger, master);
  return master;
}

/** Loads the code of clusters only for a member. */
async function joinCluster(start: ClusterStart, config: MasterConfig, logger: Logger): Promise<Cluster> {
  const { Cluster } = await import("./cluster/cluster.ts");
  return await Cluster.join({ start, config, logger });
}

type KeyParts = Pick<AttachParts, "pool" | "start"> & {
  readonly config: MasterConfig;
  readonly logger: Logger;
  readonly secrets: MasterSecrets;
  /** Whether the master started without a single accepted key. */
  readonly areKeysLost: boolean;
  readonly cluster: Cluster | undefined;
};

/** Follows changes of minions' keys by other programs, and by other members of the cluster. */
function followKeys(master: Master, { config, logger, secrets, cluster, areKeysLost, pool, start }: KeyParts): void {
  const applyKeys = (change: KeyChange) => master.applyKeyChange(change);
  const noteKeys = (change: KeyChange) => {
    applyKeys(change);
    cluster?.noteKeys(change);
  };
  const watch = watchKeys(config.pki_dir, config.cachedir, noteKeys, {
    masterId: config.id,
    settleMs: keyChangeSettleMs,
    served: start.accepted,
    onError: (error) => logger.error({ err: error }, "the key directories cannot be watched"),
  });
  master.useKeyWatch(watch);
  if (cluster === undefined) return;
  const { keyManagement, memberParts: returns, metrics, fail } = master;
  cluster.attach({ ...returns, returns, secrets, keyManagement, applyKeys, areKeysLost, metrics, pool, start, fail });
  master.onStop(() => cluster.close());
}

/** Once a burst is over, collects its garbage and gives free memory back to the system. */
async function giveMemoryBack(master: Master): Promise<void> {
  const collect = garbageCollector();
  const idleCollection = collectWhenIdle(() => {
    master.dropSpareMemory();
    collect();
  });
  const parts = [idleCollection, trimWhenIdle({ trim: await loadTrim() })];
  master.onStop(() => {
    for (const part of parts) part.close();
  });
}

/** Lanes whose threads start when they are needed. `keep` gets each. */
function openLanes(
  config: MasterConfig,
  { saltPlan, bus }: { readonly saltPlan: SaltPlan; readonly bus: Bus },
  logger: Logger,
  keep: (part: Opened[number]) => void,
) {
  const copyLanes = openCopyLanes(config, process.env, logger);
  const lanes = {
    runners: openRunnerLane(config, process.env, logger),
    pillars: openPillarLane(config, logger),
    sources: openExternalLane(config, process.env, logger),
    files: openFileLane(config, process.env, logger),
    credentials: openCredentialLane(config, logger),
    saltLane: openSaltLane(config, saltPlan, logger),
    reactions: openReactorLane(config, logger),
  };
  const gitUpdates = gitUpdatesOf({ config, bus, logger }, { ...process.env });
  const sidecar = openSidecar(config, process.env, { logger, openLane, heap: workerHeap(config) });
  for (const lane of [...Object.values(lanes), ...Object.values(copyLanes), gitUpdates, ...(sidecar ? [sidecar] : [])])
    keep(lane);
  return { ...lanes, copyLanes, gitUpdates, sidecar };
}

/** @throws SaltworksError MASTER_RUNNING if the port is taken */
async function serveMetrics(
  config: MasterConfig,
  descriptor: number | undefined,
  logger: Logger,
  master: Master,
): Promise<void> {
  if (config.metrics_port === 0) return;
  const server = await MetricsServer.listen({
    address: config.metrics_interface,
    port: config.metrics_port,
    descriptor,
    read: (form) => master.metrics.text(form),
    onFault: (error) => logger.error({ err: error }, "the metrics could not be served"),
  });
  logger.info({ address: config.metrics_interface, port: server.port }, "metrics are served");
  master.onStop(() => void server.close());
}

/** Takes over a Salt master's session keys, so that its minions need not authenticate again, and its data of minions. */
async function takeOverFromSalt(
  config: MasterConfig,
  box: SecretBox,
  accepted: ReadonlySet<string>,
  logger: Logger,
): Promise<SaltPlan> {
  const minions = openKeptMinions(config, logger);
  try {
    const count = await takeOverSessions(config.cachedir, (session) =>
      minions.putSession(session.id, sealSession(box, session.id, session)),
    );
    if (count > 0) logger.info({ count }, "took over session keys of a Salt master");
    return await prepareSaltFiles(config, { minions, ids: [...accepted], logger, programPath: process.env.PATH ?? "" });
  } finally {
    await minions.close();
  }
}

/** Prepares the stores, and drops the sessions of keys that are gone. @returns the ids of those keys */
async function readyStores(
  config: MasterConfig,
  box: SecretBox,
  secrets: MasterSecrets,
  logger: Logger,
): Promise<readonly string[]> {
  await prepareStores(config, logger);
  return await forgetLostKeys(config, box, secrets, logger);
}

/** Drops the sessions of keys that were removed while no master ran. The directory watch sees later removals. */
async function forgetLostKeys(
  config: MasterConfig,
  box: SecretBox,
  secrets: MasterSecrets,
  logger: Logger,
): Promise<readonly string[]> {
  const minions = openKeptMinions(config, logger);
  try {
    return await dropSessionsOfLostKeys({
      ...{ minions, keys: openKeyDirectories(config.pki_dir), box, logger },
      onLost: async (lost) => {
        if (config.rotate_aes_key) await rotateSecrets(secrets, Date.now(), config.rotation_grace * 1_000);
        logger.warn(
          { count: lost.length, ids: lost.slice(0, logItemsMax), rotated: config.rotate_aes_key },
          "keys of minions were removed or replaced while the master was down: their sessions are over",
        );
      },
    });
  } finally {
    await minions.close();
  }
}

/** A member's start may wait for the cluster. TERM or INT then ends it with its server. @returns a function for the end of the start */
function endDuringStart(cluster: ClusterStart | undefined): () => void {
  if (cluster === undefined) return () => undefined;
  const end = () => void cluster.stop().finally(() => exitAtOnce(1));
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

/** Resolves at the first TERM or INT, or at a fault of the master. A second signal ends the process with exit code 1 at once. */
function terminationSignal(master: Master): Promise<string> {
  return new Promise((resolve) => {
    let isAsked = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (isAsked) exitAtOnce(1);
      isAsked = true;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
    master.onFault(() => resolve("fault"));
  });
}
