/**
 * For each bound (of src/limits.ts, or an option): the metric and labels that count what it refused, dropped or cut.
 * docs/limits.md is generated from this; tests compare it with the bounds and with a master's metrics.
 */
import { type LabelsOf, type MetricName, metrics } from "./table.ts";

/** `labels`: without `worker`, because each worker has its own row. */
export type LimitCounter = { readonly metric: MetricName; readonly labels: Readonly<Record<string, string>> };

function at<Name extends MetricName>(metric: Name, labels: Omit<LabelsOf<Name>, "worker">): LimitCounter {
  return { metric, labels: labels as Readonly<Record<string, string>> };
}

const hits = (limit: string) => at("saltworks_limit_hits_total", { limit });
const closed = (reason: string) => at("saltworks_connections_closed_total", { reason });
const closedSubscriber = (reason: string) => at("saltworks_publish_connections_closed_total", { reason });
const refused = (reason: string) => at("saltworks_refusals_total", { reason });
const ofMinion = (reason: string) => at("saltworks_minion_refusals_total", { reason });

const requests = {
  envelopeMembersMax: refused("unreadable"),
  loadMembersMax: refused("notMap"),
  decodedValuesMax: refused("malformed"),
  numericKeysMax: refused("malformed"),
  sentValuesMax: refused("malformed"),
  sentCollectionsMax: refused("malformed"),
  sentNumericKeysMax: refused("malformed"),
  nestingDepthMax: refused("malformed"),
  minionIdBytesMax: refused("invalidId"),
  clearFrameBytesMax: refused("clearTooLarge"),
  authFrameBytesMax: refused("authTooLarge"),
  credentialLoadBytesMax: refused("credential"),
  publicKeyBytesMax: at("saltworks_auths_total", { result: "refused" }),
  authQueueBytesMax: at("saltworks_auths_dropped_total", { reason: "refused" }),
  pending_keys_max: at("saltworks_auths_total", { result: "noRoom" }),
  strangerQueueBytesMax: at("saltworks_unproven_refused_total", { reason: "strangers" }),
  forgedBytesPerSecondMax: at("saltworks_unproven_refused_total", { reason: "forgeries" }),
  largeForgedBytesPerSecondMax: at("saltworks_unproven_refused_total", { reason: "forgeries" }),
  forgedQueueShares: at("saltworks_unproven_refused_total", { reason: "forgeries" }),
  hugeRequestBytes: at("saltworks_unproven_refused_total", { reason: "forgeries" }),
  workerTaskTimeoutMs: at("saltworks_worker_timeouts_total", {}),
  requestPartsMax: closed("parts"),
  zmtpCommandBytesMax: closed("malformed"),
  commandsPerMinuteMax: closed("commands"),
  commandsAtOnceMax: closed("commands"),
  commandsPerSecondMax: closed("commands"),
  greetingTimeoutMs: closed("greetingTimeout"),
  messageTimeoutMs: closed("messageTimeout"),
  strangersHeldBytesMax: hits("strangersHeldBytesMax"),
  unfinishedBytesPerSecondMax: closed("owesUnfinished"),
  owingConnectionsMax: closed("owesUnfinished"),
  provenHeldBytesMax: hits("provenHeldBytesMax"),
  provenUnansweredMax: closed("unanswered"),
  strangerUnansweredMax: closed("unanswered"),
  strangersUnansweredMax: closed("unanswered"),
  provenUnreadBytesMax: closed("unreadReplies"),
  strangerUnreadBytesMax: closed("unreadReplies"),
  strangersUnreadBytesMax: closed("unreadReplies"),
  allUnreadRepliesBytesMax: hits("allUnreadRepliesBytesMax"),
  connections_per_address_max: closed("address"),
  reservedDescriptors: closed("connections"),
  request_max_bytes: hits("request_max_bytes"),
  queue_max_bytes: hits("queue_max_bytes"),
  auth_queue_max: hits("auth_queue_max"),
  max_minions: hits("max_minions"),
  credentialChecksWaitingMax: hits("credentialChecksWaitingMax"),
  guessesOfPairMax: hits("guessesOfPairMax"),
  guessesOfUserMax: hits("guessesOfUserMax"),
  guessesOfAddressMax: hits("guessesOfAddressMax"),
  tokensMax: hits("tokensMax"),
  tokensOfUserMax: hits("tokensOfUserMax"),
  auditWaitingBytesMax: hits("auditWaitingBytesMax"),
} as const;

const publishes = {
  subscriptionBytesMax: closedSubscriber("malformed"),
  subscriptionsMax: closedSubscriber("subscriptions"),
  subscriberMessagesPerMinuteMax: closedSubscriber("messages"),
  heldPublishesBytesMax: hits("heldPublishesBytesMax"),
  publishCopiesMax: at("saltworks_publish_copies_total", { outcome: "dropped" }),
  subscriberUnreadBytesMax: at("saltworks_publish_copies_total", { outcome: "dropped" }),
  pub_hwm: at("saltworks_publish_copies_total", { outcome: "dropped" }),
  publishThreadTimeoutMs: at("saltworks_publish_threads_lost_total", {}),
  publishQueueMax: hits("publishQueueMax"),
  ipcConnectionsMax: at("saltworks_event_connections_refused_total", {}),
  event_subscriber_max_bytes: hits("event_subscriber_max_bytes"),
  max_event_size: hits("max_event_size"),
} as const;

const ofMinions = {
  minionEventsMax: ofMinion("events.overRequest"),
  minionEventBytesMax: ofMinion("events.overRequest"),
  syndicJobsMax: ofMinion("syndics.overRequest"),
  syndicReturnsMax: ofMinion("syndics.overRequest"),
  syndicEventsMax: ofMinion("syndics.overEvents"),
  syndicEventBytesMax: ofMinion("syndics.overEvents"),
  minionEventTagBytesMax: ofMinion("events.forbiddenTag"),
  mine_max_bytes: ofMinion("mine.tooLarge"),
  mine_max_functions: ofMinion("mine.tooLarge"),
  grains_max_bytes: hits("grains_max_bytes"),
  job_cache_max_return_bytes: hits("job_cache_max_return_bytes"),
  peerArgumentBytesMax: ofMinion("peers.malformed"),
  peerNameLengthMax: ofMinion("peers.malformed"),
  peerRequestsMax: hits("peerRequestsMax"),
  peerRunsMax: at("saltworks_peer_requests_total", { outcome: "refused" }),
  pillarsWaitingOfMinionMax: at("saltworks_pillars_total", { outcome: "refused" }),
  pillarWaitMs: at("saltworks_pillars_total", { outcome: "refused" }),
  pillar_render_timeout: hits("pillar_render_timeout"),
  reactor_worker_hwm: hits("reactor_worker_hwm"),
  reactor_render_timeout: hits("reactor_render_timeout"),
  reactorWaitingBytesMax: hits("reactorWaitingBytesMax"),
  reactorShareOfMinion: at("saltworks_reactor_events_total", { outcome: "dropped" }),
  reactorShareOfUnmarked: at("saltworks_reactor_events_total", { outcome: "dropped" }),
  reactionsOfEventMax: at("saltworks_reactor_events_total", { outcome: "failed" }),
  reactorFilesMax: at("saltworks_reactor_events_total", { outcome: "failed" }),
  reactorRestMs: hits("reactor_render_timeout"),
  orchestrationsMax: hits("orchestrationsMax"),
  sidecarWaitingMax: hits("sidecarWaitingMax"),
  pythonPillarsWaitingMax: hits("pythonPillarsWaitingMax"),
  ext_pillar_timeout: hits("ext_pillar_timeout"),
  extPillarBytesMax: at("saltworks_pillar_commands_total", { outcome: "tooLarge" }),
  extPillarReceivedBytesMax: at("saltworks_pillar_commands_total", { outcome: "tooLarge" }),
  mineAnswerBytesMax: at("saltworks_mine_reads_total", { outcome: "too_large" }),
  mineReadsWaitingMax: at("saltworks_mine_reads_total", { outcome: "refused" }),
  mineWaitMs: at("saltworks_mine_reads_total", { outcome: "refused" }),
  listedFilesMax: at("saltworks_file_requests_total", { outcome: "failed" }),
  fileRequestsWaitingMax: hits("fileRequestsWaitingMax"),
  fileRequestsWaitingBytesMax: at("saltworks_file_requests_total", { outcome: "refused" }),
  fileOverdueGraceMs: at("saltworks_lane_threads_lost_total", { lane: "file" }),
  jobCopyWaitMs: hits("jobCopyWaitMs"),
  fileWaitMs: at("saltworks_file_requests_total", { outcome: "refused" }),
  file_recv_max_size: hits("file_recv_max_size"),
  file_recv_minion_max_size: hits("file_recv_minion_max_size"),
  file_recv_minion_max_files: hits("file_recv_minion_max_files"),
  file_recv_total_max_size: hits("file_recv_total_max_size"),
  file_recv_total_max_files: hits("file_recv_total_max_files"),
  pushedCountWaitMs: hits("pushedCountWaitMs"),
  pushesWaitingMax: hits("pushedCountWaitMs"),
} as const;

const jobs = {
  laneQueueMax: hits("laneQueueMax"),
  trackedJobsMax: hits("trackedJobsMax"),
  jobRecordsMax: hits("jobRecordsMax"),
  trackedMinionsMax: hits("trackedMinionsMax"),
  jobMinionsBelowMax: hits("jobMinionsBelowMax"),
  pendingJobsMax: hits("pendingJobsMax"),
  pendingMinionsMax: hits("pendingMinionsMax"),
  deliveryTriesMax: hits("deliveryTriesMax"),
  batchesRunningMax: hits("batchesRunningMax"),
  matchesPendingMax: at("saltworks_targets_refused_total", {}),
  matchCpuMsMax: at("saltworks_targets_refused_total", {}),
  event_return_waiting_max: hits("event_return_waiting_max"),
  event_return_waiting_max_bytes: hits("event_return_waiting_max_bytes"),
  eventsHandedBytesMax: hits("eventsHandedBytesMax"),
  databaseClockMsMax: at("saltworks_database_remove_failures_total", {}),
  databaseLockMs: at("saltworks_database_failures_total", {}),
  databaseStatementMs: at("saltworks_database_failures_total", {}),
  saltReturnsWaitingMax: at("saltworks_salt_files_total", { outcome: "dropped" }),
  logBurstLines: at("saltworks_log_lines_suppressed_total", {}),
} as const;

const sharedReturns = (outcome: string) => at("saltworks_cluster_returns_sent_total", { outcome });
const readReturns = (what: string) => at("saltworks_cluster_returns_read_total", { what });
const clusters = {
  returnSendMs: sharedReturns("refused"),
  returnLargeSendMs: sharedReturns("refused"),
  returnRepairTriesMax: sharedReturns("givenUp"),
  returnAckMs: sharedReturns("retried"),
  returnStreamRestMs: sharedReturns("retried"),
  returnStreamAgeMs: readReturns("lost"),
  returnStreamBytesMax: readReturns("lost"),
  returnPiecesBytesMax: readReturns("lost"),
} as const;

const members = {
  clusterServerMemoryBytesMax: at("saltworks_cluster_server_restarts_total", {}),
  clusterServerMemoryShareMax: at("saltworks_cluster_server_restarts_total", {}),
  presenceSilentMs: at("saltworks_cluster_presence_total", { what: "gone" }),
  presenceIdsOfMessageMax: at("saltworks_cluster_presence_total", { what: "unreadable" }),
  presenceIdsOfMemberMax: at("saltworks_cluster_presence_total", { what: "dropped" }),
  presenceMembersMax: at("saltworks_cluster_presence_total", { what: "dropped" }),
  sharedPutMs: at("saltworks_cluster_minion_data_total", { outcome: "failures" }),
  sharedMessageRoomBytes: at("saltworks_cluster_minion_data_total", { outcome: "dropped" }),
  jobLeaseMs: at("saltworks_cluster_job_leases_total", { what: "lapsed" }),
  jobLeaseMarginMs: at("saltworks_cluster_owned_jobs_total", { kind: "batch", what: "taken" }),
  ownedEntryBytesMax: at("saltworks_cluster_owned_jobs_total", { kind: "waiting", what: "too_large" }),
  sharedLogKeptMs: at("saltworks_cluster_owned_jobs_total", { kind: "batch", what: "broken" }),
  ownerQuestionMs: at("saltworks_cluster_owner_questions_refused_total", { reason: "late" }),
  ownerNoncesMax: at("saltworks_cluster_owner_questions_refused_total", { reason: "full" }),
  copyRepairTriesMax: at("saltworks_cluster_owned_jobs_total", { kind: "batch", what: "given_up" }),
  refusedPartsBytesMax: at("saltworks_cluster_owned_jobs_total", { kind: "batch", what: "broken" }),
  refusedLoadsBytesMax: at("saltworks_cluster_jobs_total", { outcome: "unstored" }),
  refusedLoadTriesMax: at("saltworks_cluster_jobs_total", { outcome: "unstored" }),
  sharedKeylessMax: at("saltworks_cluster_minion_data_total", { outcome: "dropped" }),
} as const;

export const limitCounters: Readonly<Record<string, LimitCounter>> = {
  ...requests,
  ...publishes,
  ...ofMinions,
  ...jobs,
  ...clusters,
  ...members,
};

/** The counter as Prometheus' query language writes it. */
export function counterText({ metric, labels }: LimitCounter): string {
  const shown = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return shown.length === 0 ? metric : `${metric}{${shown.join(",")}}`;
}

/** The labels that an entry must give: all of its metric except `worker`. */
export function labelsWanted({ metric }: LimitCounter): readonly string[] {
  return metrics[metric].labels.filter((label) => label !== "worker");
}
