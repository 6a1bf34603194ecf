/** Samples the metrics of the main thread's parts and of the workers. Only reads: each part counts for itself. */

import type { MasterConfig } from "../../config/load.ts";
import {
  allUnreadRepliesBytesMax,
  auditWaitingBytesMax,
  batchesRunningMax,
  credentialChecksMax,
  credentialChecksWaitingMax,
  deliveryTriesMax,
  feedEntriesMax,
  fileBytesOnTheirWayMax,
  fileRequestsWaitingMax,
  heldPublishesBytesMax,
  jobCopyWaitMs,
  jobMinionsBelowMax,
  jobRecordsMax,
  laneQueueMax,
  orchestrationsMax,
  peerRequestsMax,
  pendingJobsMax,
  pendingMinionsMax,
  provenHeldBytesMax,
  publishQueueMax,
  sharedFramesBytesMax,
  strangersHeldBytesMax,
  tokensMax,
  tokensOfUserMax,
  trackedJobsMax,
  trackedMinionsMax,
} from "../../limits.ts";
import { diskFaultCounts, diskFaultKinds } from "../../store/disk/faults.ts";
import type { Tokens } from "../../store/secrets/tokens.ts";
import { outcomes, type SizedThing, type WorkerMeasures, workerStages } from "../../workers/measures/measures.ts";
import type { ThreadMeasures } from "../../workers/measures/thread-meter.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import type { FileAnswers } from "../answers/files.ts";
import type { MineAnswers } from "../answers/mines.ts";
import type { Peers } from "../answers/peers.ts";
import type { Audit } from "../audit/audit.ts";
import type { Batches } from "../batch-jobs/batches.ts";
import type { Deliveries } from "../jobs/deliveries.ts";
import type { JobTracker } from "../jobs/tracker.ts";
import type { LogLimit } from "../log/log-limit.ts";
import type { Commands } from "../operators/commands.ts";
import { type CredentialChecks, checkOutcomes } from "../operators/credential-checks.ts";
import { guessBounds } from "../operators/guess-bounds.ts";
import type { Pillars } from "../pillars/pillars.ts";
import type { Bus } from "../ports/bus.ts";
import type { PublishFront } from "../ports/publish-front.ts";
import type { RequestFront } from "../ports/request-front.ts";
import type { Presence } from "../presence/presence.ts";
import type { Publisher } from "../publish/publisher.ts";
import type { AuthResponder } from "../requests/auth-responder.ts";
import type { Batcher } from "../requests/batcher.ts";
import type { Copies } from "../upkeep/copies.ts";
import type { KeyManagement } from "../upkeep/key-management.ts";
import type { Maintenance } from "../upkeep/maintenance.ts";
import type { SaltFiles } from "../upkeep/salt-files.ts";
import { sampleConnections, samplePublishes } from "./connections.ts";
import { sampleEventReturnLimits, sampleEventReturns } from "./event-returns.ts";
import {
  type MeteredPrograms,
  sampleClusterJobs,
  sampleOwnPrograms,
  sampleSidecarLimits,
} from "./own-programs-samples.ts";
import { samplePillarLimits, samplePillars } from "./pillars.ts";
import { type Limit, samplePushLimits } from "./push-limits.ts";
import { type MeteredReactor, sampleReactor, sampleReactorLimits } from "./reactor.ts";
import type { Samples } from "./samples.ts";
import { sampleWorkerCounters } from "./worker-counters.ts";

/** The parts of the main thread that count something. */
export type MeteredParts = {
  readonly logCounters: LogLimit["counters"];
  readonly config: MasterConfig;
  readonly accepted: ReadonlySet<string>;
  /** Undefined until the request port is open, which is opened last. */
  readonly requestFront: () => Pick<RequestFront, "counters" | "server" | "largestFrameBytes"> | undefined;
  readonly publishFront: PublishFront;
  readonly batcher: Batcher;
  readonly authResponder: AuthResponder;
  readonly pool: WorkerPool;
  readonly lanes: Readonly<Record<string, LanePool>>;
  readonly pillars: Pillars;
  readonly mines: MineAnswers;
  readonly files: FileAnswers;
  readonly peers: Peers;
  readonly credentialChecks: CredentialChecks;
  readonly audit: Pick<Audit, "counters" | "waitingBytes"> | undefined;
  readonly tokens: Pick<Tokens, "counters" | "count" | "mostOfUser">;
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly tracker: JobTracker;
  readonly deliveries: Deliveries;
  readonly batches: Batches;
  readonly keyManagement: KeyManagement;
  readonly presence: Presence;
  readonly maintenance: Maintenance;
  readonly saltFiles: Pick<SaltFiles, "counters">;
  readonly copies: Pick<Copies, "eventReturns" | "jobShipping">;
  readonly reactor: MeteredReactor;
  readonly commands: Pick<Commands, "orchestrations">;
} & MeteredPrograms;

/** Samples everything that the main thread knows without asking a thread. */
export function sampleMain(samples: Samples, parts: MeteredParts): void {
  sampleRequests(samples, parts);
  sampleQueues(samples, parts);
  sampleFleet(samples, parts);
  samplePublishes(samples, parts.publishFront);
  sampleEvents(samples, parts);
  samples.set("saltworks_log_lines_suppressed_total", {}, parts.logCounters.logLinesSuppressed);
  samplePillars(samples, parts.pillars);
  sampleMines(samples, parts);
  samplePeers(samples, parts);
  sampleFiles(samples, parts);
  sampleCredentials(samples, parts);
  sampleSaltFiles(samples, parts.saltFiles.counters);
  sampleDatabase(samples, parts.copies.jobShipping);
  sampleEventReturns(samples, parts.copies.eventReturns);
  sampleReactor(samples, parts.reactor);
  sampleOwnPrograms(samples, parts);
  sampleClusterJobs(samples, parts.publisher);
  for (const [lane, pool] of Object.entries(parts.lanes)) sampleLane(samples, lane, pool);
  sampleProcess(samples);
}

function sampleRequests(samples: Samples, { requestFront, batcher, pool }: MeteredParts): void {
  const front = requestFront()?.counters;
  samples.set("saltworks_frames_received_total", {}, front?.requests ?? 0);
  samples.set("saltworks_frames_malformed_total", {}, front?.malformed ?? 0);
  samples.set("saltworks_requests_rejected_total", {}, batcher.counters.refused);
  samples.set("saltworks_replies_total", { outcome: "sent" }, front?.replies ?? 0);
  samples.set("saltworks_replies_total", { outcome: "dropped" }, front?.repliesDropped ?? 0);
  sampleConnections(samples, requestFront()?.server);
  samples.set("saltworks_workers_lost_total", {}, pool.counters.workersLost);
  samples.set("saltworks_batches_retried_total", {}, pool.counters.retried);
  samples.set("saltworks_worker_timeouts_total", {}, pool.counters.timeouts);
}

function sampleQueues(samples: Samples, { batcher }: MeteredParts): void {
  const { strangersRefused, unprovenRefused } = batcher.rowCounters;
  samples.set("saltworks_unproven_refused_total", { reason: "strangers" }, strangersRefused);
  samples.set("saltworks_unproven_refused_total", { reason: "forgeries" }, unprovenRefused);
  samples.set("saltworks_unproven_refused_total", { reason: "size" }, batcher.counters.refusedLarge);
  for (const [slot, queue] of batcher.queues.entries()) {
    const worker = String(slot);
    samples.set("saltworks_queue_items", { worker }, queue.items);
    samples.set("saltworks_queue_bytes", { worker }, queue.bytes);
    samples.set("saltworks_batches_in_flight", { worker }, queue.batchesInFlight);
    samples.histogram("saltworks_queue_wait_seconds", { worker, queue: "requests" }, queue.waits.requests);
    samples.histogram("saltworks_queue_wait_seconds", { worker, queue: "auths" }, queue.waits.auths);
    samples.histogram("saltworks_stage_seconds", { worker, stage: "wait" }, queue.handOver);
    samples.histogram("saltworks_stage_seconds", { worker, stage: "reply" }, queue.reply);
  }
  samples.set("saltworks_auths_received_total", {}, batcher.authCounters.auths);
  const { authsCoalesced, authsExpired, authsRefused } = batcher.authCounters;
  samples.set("saltworks_auths_dropped_total", { reason: "coalesced" }, authsCoalesced);
  samples.set("saltworks_auths_dropped_total", { reason: "expired" }, authsExpired);
  samples.set("saltworks_auths_dropped_total", { reason: "refused" }, authsRefused);
  samples.set("saltworks_auth_queue_items", {}, batcher.waitingAuths);
}

function sampleFleet(samples: Samples, parts: MeteredParts): void {
  const { accepted, presence, publisher, tracker, deliveries, keyManagement } = parts;
  samples.set("saltworks_minions", { state: "accepted" }, accepted.size);
  samples.set("saltworks_minions", { state: "connected" }, presence.connectedCount);
  samples.set("saltworks_presence_pings_total", {}, presence.counters.pings);
  samples.set("saltworks_jobs_total", { outcome: "published" }, publisher.counters.jobs);
  samples.set("saltworks_jobs_total", { outcome: "unmatched" }, publisher.counters.unmatched);
  samples.set("saltworks_jobs_followed", {}, tracker.followedCount);
  samples.set("saltworks_jobs_pending", {}, deliveries.jobCount);
  for (const outcome of ["sent", "foundReturned", "foundRunning", "unanswered", "expired", "withdrawn"] as const) {
    samples.set("saltworks_deliveries_total", { outcome }, deliveries.counters[outcome]);
  }
  samples.set("saltworks_key_rotations_total", {}, keyManagement.counters.rotations);
  for (const change of ["added", "removed", "changed"] as const) {
    samples.set("saltworks_key_changes_total", { change }, keyManagement.counters[change]);
  }
}

function sampleEvents(samples: Samples, { bus }: MeteredParts): void {
  samples.set("saltworks_event_subscribers", {}, bus.subscriberCount);
  samples.set("saltworks_events_total", { source: "master" }, bus.counters.fired);
  samples.set("saltworks_events_total", { source: "workers" }, bus.counters.ofWorkers);
  samples.set("saltworks_events_total", { source: "program" }, bus.counters.pulled);
  samples.set("saltworks_events_dropped_total", {}, bus.droppedEvents);
  samples.set("saltworks_event_connections_refused_total", {}, bus.counters.turnedAway);
}

function sampleMines(samples: Samples, { mines }: MeteredParts): void {
  const { answered, unmatched, tooLarge, refused, bytes } = mines.counters;
  samples.set("saltworks_mine_reads_total", { outcome: "answered" }, answered);
  samples.set("saltworks_mine_reads_total", { outcome: "unmatched" }, unmatched);
  samples.set("saltworks_mine_reads_total", { outcome: "too_large" }, tooLarge);
  samples.set("saltworks_mine_reads_total", { outcome: "refused" }, refused);
  samples.set("saltworks_mine_reads_pending", {}, mines.pending);
  samples.set("saltworks_mine_bytes_total", {}, bytes);
}

function samplePeers(samples: Samples, { peers }: MeteredParts): void {
  for (const outcome of ["published", "unmatched", "runs", "returns", "denied", "refused"] as const) {
    samples.set("saltworks_peer_requests_total", { outcome }, peers.counters[outcome]);
  }
  samples.set("saltworks_peer_requests_pending", {}, peers.pending);
}

function sampleFiles(samples: Samples, { files }: MeteredParts): void {
  for (const outcome of ["answered", "refused", "failed"] as const) {
    samples.set("saltworks_file_requests_total", { outcome }, files.counters[outcome]);
  }
  samples.set("saltworks_file_requests_waiting", {}, files.waitingCount);
  samples.set("saltworks_file_bytes_total", {}, files.counters.bytes);
  for (const [bound, count] of Object.entries(files.pushRefusals))
    samples.set("saltworks_pushes_refused_total", { bound }, count);
}

function sampleCredentials(samples: Samples, { credentialChecks: checks, audit }: MeteredParts): void {
  for (const [backend, counts] of checks.counters) {
    for (const outcome of checkOutcomes) {
      samples.set("saltworks_credential_checks_total", { backend, outcome }, counts[outcome]);
    }
  }
  const ofOthers = { backend: "other", outcome: "not_enabled" };
  samples.set("saltworks_credential_checks_total", ofOthers, checks.notEnabled);
  for (const bound of guessBounds)
    samples.set("saltworks_limit_hits_total", { limit: bound }, checks.guessesRefused[bound]);
  for (const outcome of ["written", "lost", "suppressed"] as const)
    samples.set("saltworks_audit_lines_total", { outcome }, audit?.counters[outcome] ?? 0);
  samples.set("saltworks_credential_checks_running", {}, checks.runningCount);
  samples.set("saltworks_credential_checks_waiting", {}, checks.waitingCount);
  samples.histogram("saltworks_credential_seconds", { part: "wait" }, checks.times.wait);
  samples.histogram("saltworks_credential_seconds", { part: "check" }, checks.times.check);
}

function sampleLane(samples: Samples, lane: string, { counters, pending }: LanePool): void {
  samples.set("saltworks_lane_pending", { lane }, pending);
  samples.set("saltworks_lane_tasks_total", { lane }, counters.tasks);
  samples.set("saltworks_lane_failures_total", { lane, outcome: "refused" }, counters.refused);
  samples.set("saltworks_lane_failures_total", { lane, outcome: "failed" }, counters.failed);
  samples.set("saltworks_lane_failures_total", { lane, outcome: "timeout" }, counters.timeouts);
  samples.set("saltworks_lane_threads_lost_total", { lane }, counters.threadsLost);
}

function sampleProcess(samples: Samples): void {
  const faults = diskFaultCounts();
  for (const kind of diskFaultKinds) samples.set("saltworks_disk_faults_total", { thread: "main", kind }, faults[kind]);
  const { user, system } = process.cpuUsage();
  samples.set("process_cpu_seconds_total", {}, (user + system) / 1e6);
  samples.set("process_resident_memory_bytes", {}, process.memoryUsage.rss());
  samples.set("process_start_time_seconds", {}, Math.round(performance.timeOrigin) / 1_000);
}

export function sampleThread(samples: Samples, thread: string, measures: ThreadMeasures): void {
  samples.histogram("saltworks_event_loop_delay_seconds", { thread }, measures.loopDelay);
  samples.set("saltworks_event_loop_busy_seconds_total", { thread }, measures.loopBusySeconds);
  samples.set("saltworks_event_loop_idle_seconds_total", { thread }, measures.loopIdleSeconds);
  samples.set("saltworks_heap_used_bytes", { thread }, measures.heapUsedBytes);
  samples.set("saltworks_heap_limit_bytes", { thread }, measures.heapLimitBytes);
  samples.set("saltworks_external_bytes", { thread }, measures.externalBytes);
}

export function sampleWorker(samples: Samples, worker: string, measures: WorkerMeasures): void {
  for (const [command, counts] of Object.entries(measures.requests)) {
    for (const outcome of outcomes) {
      if (counts[outcome] > 0) samples.set("saltworks_requests_total", { worker, command, outcome }, counts[outcome]);
    }
  }
  samples.histogram("saltworks_batch_items", { worker }, measures.batchItems);
  for (const stage of workerStages) {
    samples.histogram("saltworks_stage_seconds", { worker, stage }, measures.stages[stage]);
  }
  sampleThread(samples, `sw-worker-${worker}`, measures.thread);
  sampleWorkerCounters(samples, worker, measures.counters);
}

function sampleFrontLimits(
  limit: Limit,
  front: Pick<RequestFront, "server" | "largestFrameBytes"> | undefined,
  config: MasterConfig,
): void {
  const { groups, unreadBytes = 0, closed } = front?.server ?? {};
  limit("request_max_bytes", front?.largestFrameBytes ?? 0, config.request_max_bytes, closed?.messageBytes ?? 0);
  const { strangers, proven } = groups ?? {};
  limit("strangersHeldBytesMax", strangers?.heldBytes ?? 0, strangersHeldBytesMax, strangers?.holdersClosed ?? 0);
  limit("provenHeldBytesMax", proven?.heldBytes ?? 0, provenHeldBytesMax, proven?.holdersClosed ?? 0);
  limit("allUnreadRepliesBytesMax", unreadBytes, allUnreadRepliesBytesMax, closed?.unreadReplies ?? 0);
}

function sampleSaltFiles(samples: Samples, counters: MeteredParts["saltFiles"]["counters"]): void {
  for (const outcome of ["returns", "duplicates", "gone", "failed", "dropped", "minions"] as const)
    samples.set("saltworks_salt_files_total", { outcome }, counters[outcome]);
  samples.set("saltworks_salt_files_waiting", {}, counters.returnsWaiting + counters.minionsWaiting);
  samples.set("saltworks_salt_jobs_taken_total", {}, counters.jobsTaken);
}

/** Only if a database gets jobs. */
export function sampleDatabase(samples: Samples, shipping: Copies["jobShipping"]): void {
  if (!shipping.isConfigured) return;
  for (const outcome of ["jobs", "returns", "present", "refused", "gone"] as const)
    samples.set("saltworks_database_rows_total", { outcome }, shipping.counters[outcome]);
  samples.set("saltworks_database_failures_total", {}, shipping.counters.failures);
  samples.set("saltworks_database_waiting", {}, shipping.waiting);
  samples.set("saltworks_database_lag_seconds", {}, shipping.lagSeconds(Date.now()));
  samples.set("saltworks_database_up", {}, shipping.isReachable);
  for (const rows of ["jobs", "returns", "events"] as const)
    samples.set("saltworks_database_removed_total", { rows }, shipping.expiry?.counters[rows] ?? 0);
  samples.set("saltworks_database_remove_failures_total", {}, shipping.expiry?.counters.failures ?? 0);
}

/** Samples limits. A limit is named after its option, or else after its constant in src/limits.ts. */
export function sampleLimits(
  samples: Samples,
  parts: MeteredParts,
  workers: readonly WorkerMeasures[],
  formerCounters: ReadonlyMap<string, number>,
): void {
  const { config, batcher, pool, lanes, bus, publisher, tracker, deliveries, presence } = parts;
  const ofWorkers = (name: string): number =>
    workers.reduce((sum, { counters }) => sum + (counters[name] ?? 0), formerCounters.get(name) ?? 0);
  const largest = (thing: SizedThing): number => Math.max(0, ...workers.map((worker) => worker.largest[thing]));
  const ofLanes = (read: (lane: LanePool) => number): number[] => Object.values(lanes).map(read);
  const front = parts.requestFront();
  const limit: Limit = (name, used, max, hits) => {
    samples.set("saltworks_limit_used", { limit: name }, used);
    samples.set("saltworks_limit_max", { limit: name }, max);
    if (hits !== undefined) samples.set("saltworks_limit_hits_total", { limit: name }, hits);
  };
  const fullestBytes = Math.max(...batcher.queues.map(({ bytes }) => bytes));
  limit(
    "queue_max_bytes",
    fullestBytes,
    config.queue_max_bytes,
    (front?.server?.groups.proven.pauses ?? 0) + pool.counters.refused,
  );
  limit("auth_queue_max", batcher.waitingAuths, config.auth_queue_max, batcher.authCounters.authsRefused);
  const minionsMax = config.max_minions === 0 ? Number.POSITIVE_INFINITY : config.max_minions;
  limit("max_minions", presence.hereCount, minionsMax, ofWorkers("auth.full"));
  limit("event_subscriber_max_bytes", bus.fullestSubscriberBytes, config.event_subscriber_max_bytes, bus.droppedEvents);
  limit("max_event_size", largest("event"), config.max_event_size, ofWorkers("events.trimmed"));
  limit(
    "job_cache_max_return_bytes",
    largest("return"),
    config.job_cache_max_return_bytes,
    ofWorkers("returns.tooLarge"),
  );
  sampleFrontLimits(limit, front, config);
  limit("sharedFramesBytesMax", batcher.memory.bytes, sharedFramesBytesMax, batcher.memory.counters.unshared);
  const { heldBytes, closed: closedSubscribers } = parts.publishFront.stats;
  limit("heldPublishesBytesMax", heldBytes, heldPublishesBytesMax, closedSubscribers.unreadPublishes);
  const laneRefusals = ofLanes(({ counters }) => counters.refused).reduce((sum, count) => sum + count, 0);
  limit("laneQueueMax", Math.max(...ofLanes(({ pending }) => pending)), laneQueueMax, laneRefusals);
  samplePillarLimits(limit, parts.pillars, { config, lane: lanes.pillar });
  const { files, peers } = parts;
  limit("peerRequestsMax", peers.pending, peerRequestsMax, peers.counters.refused);
  const { credentialChecks: checks } = parts;
  const droppedChecks = [...checks.counters.values()].reduce((sum, { dropped }) => sum + dropped, 0);
  limit("credentialChecksMax", checks.runningCount, credentialChecksMax, undefined);
  limit("credentialChecksWaitingMax", checks.waitingCount, credentialChecksWaitingMax, droppedChecks);
  samplePushLimits(limit, files, config);
  limit("grains_max_bytes", largest("grains"), config.grains_max_bytes, ofWorkers("grains.tooLarge"));
  limit("auditWaitingBytesMax", parts.audit?.waitingBytes ?? 0, auditWaitingBytesMax, parts.audit?.counters.lost ?? 0);
  limit("tokensMax", parts.tokens.count, tokensMax, parts.tokens.counters.refused);
  limit("tokensOfUserMax", parts.tokens.mostOfUser, tokensOfUserMax, parts.tokens.counters.displaced);
  limit("fileRequestsWaitingMax", files.waitingCount, fileRequestsWaitingMax, files.counters.refused);
  limit("fileBytesOnTheirWayMax", files.bytesOnTheirWay, fileBytesOnTheirWayMax, undefined);
  limit("publishQueueMax", publisher.waitingCount, publishQueueMax, publisher.counters.refused);
  limit("batchesRunningMax", parts.batches.runningCount, batchesRunningMax, parts.batches.counters.refused);
  sampleTrackerLimits(limit, tracker);
  limit("pendingJobsMax", deliveries.jobCount, pendingJobsMax, deliveries.counters.refused);
  limit("pendingMinionsMax", deliveries.minionCount, pendingMinionsMax, deliveries.counters.refused);
  const { waiting, counters: shipped } = parts.copies.jobShipping;
  limit("feedEntriesMax", waiting, feedEntriesMax, undefined);
  limit("jobCopyWaitMs", 0, jobCopyWaitMs, shipped.late);
  sampleEventReturnLimits(limit, parts.copies.eventReturns, config);
  sampleReactorLimits(limit, parts.reactor, config);
  const { running, refused } = parts.commands.orchestrations;
  limit("orchestrationsMax", running, orchestrationsMax, refused);
  sampleSidecarLimits(limit, parts.sidecar);
  limit("deliveryTriesMax", 0, deliveryTriesMax, deliveries.counters.spent);
}

function sampleTrackerLimits(limit: Limit, tracker: MeteredParts["tracker"]): void {
  limit("trackedJobsMax", tracker.followedCount, trackedJobsMax, tracker.counters.letGo);
  limit("jobRecordsMax", tracker.recordCount, jobRecordsMax, tracker.counters.recordsForgotten);
  limit("trackedMinionsMax", tracker.minionCount, trackedMinionsMax, tracker.counters.recordsForgotten);
  limit("jobMinionsBelowMax", tracker.largestGrown, jobMinionsBelowMax, tracker.counters.listsCut);
}
