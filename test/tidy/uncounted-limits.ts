/**
 * Bounds whose comment speaks of refusing, dropping or cutting, but that no metric of the master counts, each with the reason. All others are in
 * src/master/metrics/limit-counters.ts.
 */

const asked = "the operator who called gets the reason as the answer";
const ofMinion = "a bound of the minion: its log or its return says so";
const ofClient = "a bound of a client's program, which shows it or fetches the rest from the store";
const waits = "nothing is refused: what is beyond waits for its turn";
const remembered = "only what is remembered: it is found again or asked anew";
const ofLog = "a bound of the log, which says so itself";

export const uncountedLimits: Readonly<Record<string, string>> = {
  feedEntriesMax: "nothing is lost: the rest is copied later, and jobs.cache_status says so",
  configIncludeDepthMax: "the program does not start, and says why",
  commandOutputBytesMax: ofMinion,
  foundFilesMax: ofMinion,
  minionJobQueueMax: ofMinion,
  minionReturnQueueMax: ofMinion,
  returnerTimeoutMs: ofMinion,
  returnerAnswerBytesMax: ofMinion,
  earlyEventsMax: ofClient,
  jobFeedBytesMax: ofClient,
  watchedEventsBytesMax: ofClient,
  batchFeedBytesMax: ofClient,
  runnerAnswerBytesMax: asked,
  heldReturnsBytesMax: asked,
  runnerEventBytesMax: asked,
  storedResultBytesMax: "the stored result says VALUE_TRIMMED; the caller got all of it",
  rootsFileBytesMax: asked,
  rootsFilesListedMax: asked,
  listedBytesMax: asked,
  listedInEventBytesMax: "the caller gets the newest jobs, and the log says which it did not get",
  listedValuesMax: asked,
  targetReadingsMax: "the target is answered all the same, minion by minion",
  targetPathEntriesMax: "the target is answered all the same, minion by minion",
  targetPathsMax: remembered,
  pillarFilesMax: remembered,
  pillarCacheEnvironmentsMax: remembered,
  pillarCacheMemoryBytesMax: remembered,
  smallFilesKeptBytesMax: "a cache: what goes is read again",
  fileAnswersKeptBytesMax: "a cache: what goes is answered by the file lane",
  fileHashesMax: remembered,
  permissionPatternsMax: remembered,
  knownReturnsMax: remembered,
  publishesHandedMax: waits,
  largeRequestBytes: waits,
  strangerTurn: waits,
  batchStepsMax: waits,
  credentialChecksMax: waits,
  saltFileBytesMax: "the log names each file at the takeover, which happens once",
  takenJidBytesMax: "the log names each job at the takeover, which happens once",
  threadsEndingMax: "the lane's tasks fail by their timeout, which is counted",
  storeCloseTimeoutMs: "the log says so when the master ends",
  portCheckTimeoutMs: "the master does not start, and says why",
  batchLogsMax: "the age of what is kept, not a refusal",
  idleCiphersMs: "a time, not a bound",
  publishThreadEndMs: "the master ends, and says why",
  refusedCredentialMs: "a time, not a bound",
  peerRefusalLogMs: ofLog,
  logLineMs: ofLog,
  logSentencesMax: ofLog,
  logTextLengthMax: ofLog,
  syslogLineBytesMax: ofLog,
  syslogWaitingBytesMax: ofLog,
  syslogReconnectMs: ofLog,
  debugDumpBytesMax: "the dump itself says that it is cut",
};
