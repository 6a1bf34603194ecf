/**
 * Every bound and timeout that is not an option, by subject: unit in the name, reason beside it. The relations between them are asserted here.
 * docs/limits.md lists them; a test compares. Options (src/config/schema.ts) carry the bounds that operators set.
 */
import assert from "node:assert/strict";
import {
  apiBodyBytesMax,
  apiBodyCollectionsMax,
  apiBodyValuesMax,
  apiCredentialBodyBytesMax,
  apiDrainMs,
  apiSessionsInMemoryMax,
  apiSessionsMax,
  apiSocketSilentMs,
  apiStreamPingMs,
  apiStreamsMax,
  apiStreamsOfUserMax,
  apiYamlBodyBytesMax,
  watchedStopMs,
} from "./limits/api.ts";
import {
  keyEntryBytesMax,
  keyPutRetryMs,
  keyRemovalSettleMs,
  keyTouchSettleMs,
  natsMessageBytesMax,
  returnAckMs,
  returnLargeSendMs,
  returnMessageBytesMax,
  returnSendMs,
  returnStreamRestMs,
} from "./limits/cluster.ts";
import {
  fileBytesOnTheirWayMax,
  filePieceBytesMax,
  fileRequestsMax,
  fileRequestsWaitingMax,
  fileTaskTimeoutMs,
  mineAnswerBytesMax,
  mineSliceBytes,
  mineWindowBytes,
  peerRequestsMax,
  peerRunsMax,
  pillarCacheFileBytesMax,
  pillarCacheMemoryBytesMax,
  pillarFileBytesMax,
  pillarsUnderWayOfMinionMax,
  pillarsWaitingOfMinionMax,
  pillarTextBytesMax,
  pushedCountWaitMs,
  pushesWaitingMax,
} from "./limits/content.ts";
import {
  batchesRunningMax,
  batchFeedBytesMax,
  batchPageBytes,
  batchStepsMax,
  deliveryAsksMax,
  deliveryBatchMax,
  deliveryTriesMax,
  jobRecordsMax,
  laneTaskTimeoutMs,
  pendingMinionsMax,
  trackedJobsMax,
  trackedMinionsMax,
  workerStartTimeoutMs,
  workerTaskTimeoutMs,
} from "./limits/jobs.ts";
import {
  authFrameBytesMax,
  authQueueBytesMax,
  authsPerBatchMax,
  catchUpBytes,
  heldPublishesBytesMax,
  ipcFrameBytesMax,
  ipcHeadBytesMax,
  keyChangeSettleMs,
  minionEventBytesMax,
  minionEventTagBytesMax,
  publicKeyBytesMax,
  publishesHandedBytesMax,
  publishThreadLookMs,
  publishThreadTimeoutMs,
  rsaModulusBitsMax,
  rsaModulusBitsMin,
  strangerAuthsPerBatch,
  subscriberReadBytes,
  subscriberUnreadBytesMax,
  subscriptionBytesMax,
  subscriptionsMax,
} from "./limits/ports.ts";
import {
  credentialCheckTimeoutMs,
  credentialLoadBytesMax,
  credentialTextBytesMax,
  metricsRequestTimeoutMs,
  metricsWorkerTimeoutMs,
  minionJobQueueMax,
  pamTimeoutMs,
  restTimeoutMs,
  scheduledJobsRunningMax,
  syslogLineBytesMax,
  syslogWaitingBytesMax,
} from "./limits/programs.ts";
import {
  allUnreadRepliesBytesMax,
  batchSharesKept,
  clearFrameBytesMax,
  decodedValuesMax,
  envelopeMembersMax,
  environmentNameBytesMax,
  firstReadBytes,
  forgedBytesOwedMax,
  forgedBytesPerSecondMax,
  forgedQueueShares,
  greetingTimeoutMs,
  headMembersMax,
  headTextBytesMax,
  hugeRequestBytes,
  largeBodiesBytesMax,
  largeForgedBytesOwedMax,
  largeForgedBytesPerSecondMax,
  largeRequestBytes,
  loadMembersMax,
  mapEntriesMax,
  messageTimeoutMs,
  minionIdBytesMax,
  numericKeysMax,
  overdueLookMs,
  provenHeldBytesMax,
  provenTurn,
  provenUnansweredMax,
  provenUnreadBytesMax,
  sentCollectionsMax,
  sentNumericKeysMax,
  sentValuesMax,
  sharedFramesBytesMax,
  strangerQueueBytesMax,
  strangersHeldBytesMax,
  strangersPauseShare,
  strangersTurnMessagesMax,
  strangersUnansweredMax,
  strangersUnreadBytesMax,
  strangerTurn,
  strangerUnansweredMax,
  strangerUnreadBytesMax,
  unfinishedBytesOwedMax,
  unfinishedBytesPerSecondMax,
  wordValuesMax,
} from "./limits/requests.ts";
import {
  aliveMarkEveryMs,
  aliveMarkMarginMs,
  databaseConnectMs,
  databaseLockMs,
  databaseStatementMs,
  knownReturnsMax,
  returnLogBytes,
  returnPageBytesMax,
  returnsPerTransaction,
  saltMirrorEveryMs,
  saltMirrorRetryMs,
  saltReturnDelayMs,
  saltTakeJobsRetryMsMax,
  unloggedBatchBytesMin,
} from "./limits/stores.ts";
import {
  jobMinionsBelowMax,
  syndicEventBytesMax,
  syndicEventsMax,
  syndicJobsMax,
  syndicReturnsMax,
} from "./limits/syndics.ts";
import {
  listedBytesMax,
  listedInEventBytesMax,
  listedValuesMax,
  matchCpuMsMax,
  matchPollMs,
  matchSliceMs,
  matchWaitMsMax,
  patternRepeatMax,
  patternStepsMax,
  rootsFileBytesMax,
  runnerAnswerBytesMax,
  runnerEventBytesMax,
  runnerReplyTimeoutMs,
  runnerTaskTimeoutMs,
  storedResultBytesMax,
  targetExpressionBytesMax,
  targetPathsMax,
  targetPathsTogetherMax,
  targetPatternLengthMax,
  targetPatternStepsMax,
} from "./limits/targets.ts";

export * from "./limits/api.ts";
export * from "./limits/cluster.ts";
export * from "./limits/content.ts";
export * from "./limits/jobs.ts";
export * from "./limits/logins.ts";
export * from "./limits/ports.ts";
export * from "./limits/programs.ts";
export * from "./limits/reactor.ts";
export * from "./limits/requests.ts";
export * from "./limits/stores.ts";
export * from "./limits/syndics.ts";
export * from "./limits/targets.ts";

/** Fails the start of any program whose bounds contradict each other. */
function fits(inner: number, outer: number, why: string): void {
  assert(inner <= outer, `${why}: ${inner} > ${outer}`);
}

fits(envelopeMembersMax, loadMembersMax, "an envelope is smaller than a load");
fits(headMembersMax, loadMembersMax, "the main thread reads no more of a load than workers do");
fits(loadMembersMax, mapEntriesMax, "a load is a map");
fits(mapEntriesMax, decodedValuesMax, "a map is a part of a message");
fits(numericKeysMax, mapEntriesMax, "numeric keys are entries of a map");
fits(sentValuesMax, decodedValuesMax, "a request is one decoding");
fits(sentCollectionsMax, sentValuesMax, "lists and maps are values");
fits(apiBodyValuesMax, sentValuesMax, "the master reads what the HTTP API reads");
fits(apiBodyCollectionsMax, sentCollectionsMax, "the master reads what the HTTP API reads");
fits(sentNumericKeysMax, numericKeysMax, "a request is one decoding");
fits(wordValuesMax, decodedValuesMax, "a word's value travels in a message");
fits(minionIdBytesMax, headTextBytesMax, "the main thread reads whole ids");
fits(environmentNameBytesMax, minionIdBytesMax, "both are names of files");
fits(clearFrameBytesMax, strangerQueueBytesMax, "one clear request fits into the queue");
fits(forgedBytesPerSecondMax, forgedBytesOwedMax, "a second of forgeries is remembered");
fits(largeForgedBytesPerSecondMax, largeForgedBytesOwedMax, "a second of forgeries is remembered");
fits(largeRequestBytes, hugeRequestBytes, "huge requests are large");
fits(strangerTurn.messagesMax, strangersTurnMessagesMax, "one connection's turn fits into that of all");
fits(strangerTurn.messagesMax, provenTurn.messagesMax, "proof never lowers a bound");
fits(strangerTurn.bytesMax, provenTurn.bytesMax, "proof never lowers a bound");
fits(strangerUnansweredMax, provenUnansweredMax, "proof never lowers a bound");
fits(strangerUnansweredMax, strangersUnansweredMax, "one connection fits into the bound of all");
fits(strangersHeldBytesMax, provenHeldBytesMax, "proof never lowers a bound");
fits(largeBodiesBytesMax.strangers, strangersHeldBytesMax / 2, "requests that take turns close no connection");
fits(largeBodiesBytesMax.proven, provenHeldBytesMax / 2, "requests that take turns close no connection");
fits(largeBodiesBytesMax.proven, sharedFramesBytesMax, "requests that take turns are read into shared memory");
fits(sharedFramesBytesMax, provenHeldBytesMax, "requests in shared memory close no connection");
fits(firstReadBytes, largeRequestBytes, "a waiting request is one whose first bytes have come");
fits(strangerUnreadBytesMax, provenUnreadBytesMax, "proof never lowers a bound");
fits(strangerUnreadBytesMax, strangersUnreadBytesMax, "one connection fits into the bound of all");
fits(strangersUnreadBytesMax, allUnreadRepliesBytesMax, "strangers' replies are a part of all");
fits(provenUnreadBytesMax, allUnreadRepliesBytesMax, "one connection fits into the bound of all");
fits(unfinishedBytesPerSecondMax, unfinishedBytesOwedMax, "a second of unfinished bytes is remembered");
fits(greetingTimeoutMs, messageTimeoutMs, "overdue connections are looked for in the order in which they began");
fits(overdueLookMs, greetingTimeoutMs, "an overdue connection is noticed soon");
assert(strangersPauseShare < 1, "strangers are paused before proven connections");
fits(
  subscriptionBytesMax * subscriptionsMax,
  subscriberReadBytes,
  "all subscriptions of one connection fit into one read",
);
fits(catchUpBytes, subscriberUnreadBytesMax, "one write is a part of what waits");
fits(subscriberUnreadBytesMax, heldPublishesBytesMax, "one subscriber fits into the bound of all");
fits(publishesHandedBytesMax, heldPublishesBytesMax, "the publish thread holds what it was handed");
fits(publishThreadLookMs, publishThreadTimeoutMs, "a thread that hangs was asked before");
fits(minionEventTagBytesMax, minionEventBytesMax, "a tag is a part of an event");
fits(minionEventBytesMax, syndicEventBytesMax, "a syndic sends the events of many minions");
fits(syndicEventsMax, decodedValuesMax, "a syndic's request is one decoding");
fits(syndicJobsMax, syndicReturnsMax, "each job has a return");
fits(jobMinionsBelowMax, trackedMinionsMax, "a job's minions are tracked");
fits(ipcHeadBytesMax, ipcFrameBytesMax, "a head is a part of a frame");
fits(rsaModulusBitsMin, rsaModulusBitsMax, "some key is accepted");
fits(publicKeyBytesMax, authFrameBytesMax, "a key fits into an authentication");
assert(keyEntryBytesMax > 4 * publicKeyBytesMax + 2 * minionIdBytesMax, "an entry holds a key of each state");
fits(keyPutRetryMs.first, keyPutRetryMs.longest, "waits grow");
fits(keyTouchSettleMs.quiet, keyTouchSettleMs.longest, "a quiet time fits into the longest wait");
fits(keyRemovalSettleMs.quiet, keyRemovalSettleMs.longest, "a quiet time fits into the longest wait");
fits(2 * returnMessageBytesMax, natsMessageBytesMax, "a message of returns fits into NATS, with its head");
fits(returnStreamRestMs.first, returnStreamRestMs.longest, "rests grow");
fits(2 * returnAckMs, returnSendMs, "a second stream is tried");
fits(2 * returnSendMs, workerTaskTimeoutMs, "a batch that waits for the cluster is not taken for a worker that hangs");
fits(returnSendMs, returnLargeSendMs, "a large return has longer");
fits(
  returnLargeSendMs + 2 * returnAckMs,
  workerTaskTimeoutMs,
  "a worker that sends a large return is not taken for one that hangs",
);
fits(authFrameBytesMax, authQueueBytesMax, "one authentication fits into the queue");
assert(keyChangeSettleMs < 1_000, "a key change must take effect within a second");
fits(workerTaskTimeoutMs, workerStartTimeoutMs, "a thread's first task has longer than others");
fits(trackedJobsMax, jobRecordsMax, "each job that is followed has a record");
fits(batchesRunningMax * batchStepsMax, trackedJobsMax, "all steps of all batch jobs are followed");
fits(batchPageBytes.returns, batchFeedBytesMax, "a page fits into what waits to be shown");
fits(deliveryBatchMax, pendingMinionsMax, "minions that are asked together are pending");
fits(deliveryAsksMax, deliveryTriesMax, "a minion is asked no more often than it is sent a job");
assert(deliveryTriesMax < 16, "tries are kept in four bits");
fits(returnsPerTransaction * 4_096, returnLogBytes, "returns of a transaction fit into the log, a block each");
fits(unloggedBatchBytesMin, returnLogBytes / 2, "a logged batch fits into the log");
fits(returnsPerTransaction, knownReturnsMax, "returns of a transaction are remembered");
fits(aliveMarkEveryMs, aliveMarkMarginMs, "a master that lives marks within the margin");
fits(saltMirrorEveryMs, saltReturnDelayMs, "a return is looked for before it is late");
fits(saltMirrorRetryMs, saltTakeJobsRetryMsMax, "waits grow");
fits(storedResultBytesMax, runnerEventBytesMax, "what is stored was shown");
fits(runnerEventBytesMax, runnerAnswerBytesMax, "an event holds no more than the answer");
fits(batchPageBytes.returns, returnPageBytesMax, "a part of a batch job's returns is one page at most");
fits(rootsFileBytesMax, runnerAnswerBytesMax, "a file fits into an answer");
fits(listedBytesMax, runnerAnswerBytesMax, "a list of jobs fits into an answer");
assert(listedInEventBytesMax < runnerEventBytesMax, "a list of jobs fits into an event");
assert(listedValuesMax < decodedValuesMax, "a list of jobs can be decoded");
fits(targetPatternLengthMax, targetExpressionBytesMax, "a term is a part of a target");
fits(patternRepeatMax, patternStepsMax, "a repeat is written out into steps");
fits(patternStepsMax, targetPatternStepsMax, "one pattern is a part of a target");
fits(targetPathsTogetherMax, targetPathsMax, "paths that are indexed together are kept");
fits(matchSliceMs, matchCpuMsMax, "a target gets some slices");
fits(matchCpuMsMax, matchWaitMsMax, "a publish waits longer than its target may take");
fits(matchPollMs.first, matchPollMs.longest, "waits grow");
fits(pillarFileBytesMax, pillarTextBytesMax, "a file without templates renders to itself");
fits(pillarsUnderWayOfMinionMax, pillarsWaitingOfMinionMax, "a pillar waits before it is under way");
fits(pillarCacheFileBytesMax, pillarCacheMemoryBytesMax, "one kept pillar fits into the memory of all");
fits(filePieceBytesMax, fileBytesOnTheirWayMax, "one piece fits into what is on its way");
fits(fileRequestsMax, fileRequestsWaitingMax, "requests wait before they are worked on");
fits(pushesWaitingMax + 1, fileRequestsMax, "pushes that wait leave places to other requests");
fits(runnerReplyTimeoutMs, runnerTaskTimeoutMs, "a client never waits longer than the master");
fits(strangerAuthsPerBatch, authsPerBatchMax, "ids with a key get places, too");
fits(batchSharesKept.named + batchSharesKept.stranger, 1, "proven requests get the larger part of a batch");
fits(forgedQueueShares.large, forgedQueueShares.unproven, "large unproven requests are unproven");
fits(pushedCountWaitMs, fileTaskTimeoutMs, "a push that waits is answered in time");
assert(mineWindowBytes > 2 * minionIdBytesMax, "a window of ids must hold a whole one");
fits(mineSliceBytes, mineAnswerBytesMax, "a slice is a part of an answer");
fits(peerRunsMax, peerRequestsMax, "runner calls are requests");
fits(credentialTextBytesMax, credentialLoadBytesMax, "a password is a part of its request");
fits(restTimeoutMs, credentialCheckTimeoutMs, "a web service's silence is told from a check that hangs");
fits(pamTimeoutMs, credentialCheckTimeoutMs, "a program's silence is told from a check that hangs");
fits(scheduledJobsRunningMax, minionJobQueueMax, "scheduled jobs that wait fit into the queue");
fits(metricsWorkerTimeoutMs, metricsRequestTimeoutMs, "a busy worker does not end a scrape");
fits(syslogLineBytesMax, syslogWaitingBytesMax, "one line fits into what waits");
fits(2 * databaseLockMs, databaseStatementMs, "the server says that it waits for a lock before our statement ends");
fits(2 * databaseStatementMs + 2 * databaseConnectMs, laneTaskTimeoutMs, "a step ends before its thread is replaced");
fits(apiYamlBodyBytesMax, apiBodyBytesMax, "YAML is a body");
fits(apiDrainMs, watchedStopMs, "an API ends in order before it is killed");
fits(apiCredentialBodyBytesMax, apiBodyBytesMax, "a login is a body");
fits(apiSessionsInMemoryMax, apiSessionsMax, "sessions in memory are kept, too");
fits(apiStreamsOfUserMax, apiStreamsMax, "streams of a user are streams");
fits(2 * apiStreamPingMs, apiSocketSilentMs, "a WebSocket may miss a ping");
