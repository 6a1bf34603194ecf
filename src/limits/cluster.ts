/** Bounds of a cluster of masters. */

// # Cluster

/** Log of a member's `nats-server`, bytes, before it is replaced; its former ones are `clusterServerLogsMax`. */
export const clusterServerLogBytesMax = 10 * 1024 * 1024;
/** Logs of a member's `nats-server` that are kept. */
export const clusterServerLogsMax = 3;
/** One message in NATS, bytes: its own default of 1 MiB is less than a batch of returns. */
export const natsMessageBytesMax = 8 * 1024 * 1024;
/** Streams of returns. A message goes to the next one that answers, so that a server that is gone stalls about a third of them until others lead. */
export const returnStreamsCount = 8;
/**
 * Returns in one message to the streams, bytes: a batch of usual returns is less. A larger return travels in pieces of this size, because a server that
 * replicates megabytes at once is late with the others' messages.
 */
export const returnMessageBytesMax = 1_000_000;
/** Pieces of a large return that are under way to a stream at once. */
export const returnPiecesUnderWayMax = 4;
/** How long the streams keep returns, milliseconds. A member that was away for longer lacks the older ones. */
export const returnStreamAgeMs = 24 * 3_600_000;
/** Bytes of a stream of returns on each server. Over it the oldest are dropped; a member that lags so far misses them, and counts them as `lost`. */
export const returnStreamBytesMax = 256 * 1024 * 1024;
/** How long a stream remembers the ids of messages, milliseconds: the same message, sent again in this time, is not stored twice. */
export const returnRepeatWindowMs = 120_000;
/** How long one stream may take to acknowledge a message, milliseconds. After it the next stream is tried. With a loaded disk it takes 20. */
export const returnAckMs = 1_500;
/** How long a batch of returns waits for any stream, milliseconds. Over it the returns are refused, and the minions send them again. */
export const returnSendMs = 4_000;
/**
 * How long a return that travels in pieces may take, milliseconds. Over it the return is refused, and the minion sends it again. Less than
 * `workerTaskTimeoutMs`, so that the worker is not taken for one that hangs.
 */
export const returnLargeSendMs = 7_000;
/** Times that repair sends a large return which takes too long each time. Then it is left out and counted: each try fills the streams. */
export const returnRepairTriesMax = 5;
/** How long a stream is left out after it did not acknowledge, milliseconds. Each time is twice the one before. */
export const returnStreamRestMs = { first: 250, longest: 4_000 } as const;
/** Messages of one stream that wait to be stored, and as many that a member takes from its server ahead: bounds the memory of one that is slow. */
export const returnMessagesAheadMax = 8;
/** Wait before returns that could not be stored are tried again, milliseconds, and before a stream that ended is opened again. */
export const returnRetryMs = 500;
/** How often the log says of one stream that its returns cannot be read, milliseconds. */
export const returnFaultLogMs = 60_000;
/** How often the log says of one kind of records that another release wrote some which this one does not read, milliseconds. */
export const otherVersionLogMs = 60_000;
/** Pieces of large returns that wait for the rest, bytes. Over it the oldest are dropped and counted; the member that has the return keeps it. */
export const returnPiecesBytesMax = 256 * 1024 * 1024;
/** How often a member notes how far it has read the streams, milliseconds. After a crash it reads the rest again, and drops what it has. */
export const returnPlacesSaveMs = 5_000;
/** Age of a message, milliseconds, from which on its returns fire no events: they are old news to a member that was away. */
export const returnEventAgeMs = 60_000;
/** How much further back than the noted time a member looks for returns that the streams may lack, milliseconds. */
export const returnRepairMarginMs = 60_000;
/** How long before its returns a job may have begun so that repair finds them, milliseconds. */
export const returnRepairJobAgeMs = 2 * 86_400_000;
/** Returns that repair reads in one step of a worker, some 2 ms. */
export const returnsRepairedPerStep = 500;
/** Refused returns of which a worker remembers that no event told of them. The oldest is forgotten first; then its event is missing here. */
export const untoldReturnsMax = 50_000;
/** One request to NATS, milliseconds. One that comes while no server leads gets no answer, and is tried again. */
export const clusterRequestMs = 5_000;
/** Wait between two tries to reach the cluster's servers, milliseconds. */
export const clusterRetryMs = 500;
/** How long a former `nats-server` of this member may take to end, milliseconds, before it is killed. */
export const clusterServerEndMs = 10_000;
/** Validity of a member's certificate, days. Each start of the master makes a new one. */
export const clusterCertificateDays = 3_650;
/** Servers that keep a copy of each record. Two of three acknowledge a write. */
export const clusterReplicasMax = 3;
/** How long a nats-server may take to tell its version, milliseconds: it takes 20, and a loaded machine's disk takes seconds to read it. */
export const natsServerLookMs = 10_000;
/** Key entries on their way to the bucket at once. More wait for their turn; 64 keep a bucket of three replicas busy. */
export const keyPutsUnderWayMax = 64;
/** Key entries that are written as one batch, which costs one sync: from `idsMin` on, because a batch takes two round trips, up to `idsMax` (NATS: 1,000). */
export const keyBatch = { idsMin: 32, idsMax: 500 } as const;
/** One write of a key entry, milliseconds: longer than most elections. After it the write counts as failed, and is tried again. */
export const keyPutTimeoutMs = 5_000;
/** Wait before failed key entries are tried again, milliseconds. Each is twice the one before, with jitter. */
export const keyPutRetryMs = { first: 250, longest: 5_000 } as const;
/** One key entry, bytes: four keys of `publicKeyBytesMax`, the minion's id and a member's name. A larger one is ignored, with a warning. */
export const keyEntryBytesMax = 65_536;
/** How long the bucket keeps the mark of a deleted key, milliseconds: a member that was away longer sees that the entry is missing. */
export const keyMarkKeptMs = 30 * 86_400_000;
/** Ports of 127.0.0.1 that a member chooses for its own server at the start. The server listens on the first one that no other program has taken. */
export const clusterClientPorts = 4;
/** Wait for the bucket's stream, its watch, or its next entries at the start, milliseconds. */
export const keyBucketAnswerMs = 30_000;
/** Ids that are compared in one turn of the event loop. Each reads up to four files, some 50 µs. */
export const keysPerTurnMax = 50;
/** Quiet time after which a touched key file is read, and the longest wait from the first event on, milliseconds: one command moves a file in two steps. */
export const keyTouchSettleMs = { quiet: 20, longest: 100 } as const;
/** Quiet time after which removed keys are reported, and the longest wait, milliseconds: each report may rotate the AES key. */
export const keyRemovalSettleMs = { quiet: 50, longest: 500 } as const;
/** How soon a change is in the record of keys, milliseconds. Until then it is in the journal beside it, which a loss of power voids. */
export const keyRecordSaveMs = 1_000;
/** Keys of which none is left in the directories, from which number on they count as lost and not as deleted. */
export const keysLostMin = 3;
/** How long `saltworks cluster status` waits for the servers, milliseconds. A server that works answers at once. */
export const clusterStatusWaitMs = 2_000;
/**
 * A sealed request, bytes, up to which a member tries the sessions that other members may have given: each try costs a digest of it. The minion of a larger
 * one authenticates again.
 */
export const sharedSessionTryBytesMax = 256 * 1024;
/** How often the log says of the same refusal by an operator's NATS, milliseconds. */
export const natsFaultLogMs = 60_000;
/** An operator's NATS server that the leader of a stream has not heard of for this long, milliseconds, counts as one that takes no part. */
export const clusterReplicaSilentMs = 10_000;
/** How often a member looks at the cluster's servers and at the records that it shares, milliseconds. */
export const clusterLookMs = 10_000;
/** Memory for data of a member's own nats-server, bytes: it ends when it asks for more, and is started again. */
export const clusterServerMemoryBytesMax = 4 * 1024 * 1024 * 1024;
/** The most that this may be of the machine's memory, or of what a container may have. */
export const clusterServerMemoryShareMax = 1 / 2;
/**
 * The part of its bound from which on a member's nats-server collects garbage more often (GOMEMLIMIT). Less than all, because Go gives no address range
 * back: with three quarters servers with a bound of 256 MiB ended under returns of 1 MB, with five eighths they did not.
 */
export const clusterServerMemoryCollectedShare = 5 / 8;
/** Free space on its disk that a server whose store is off needs before its member starts it again, bytes. */
export const clusterStoreRoomBytes = 256 * 1024 * 1024;
/** Least time between two such starts of one server, milliseconds. */
export const clusterStoreAgainMs = 60_000;
/**
 * How long a member that has joined before waits, when the cluster's AES key is not recorded, before it gives its own, milliseconds: a member that
 * runs gives the present one within `clusterLookMs`.
 */
export const clusterSecretsLostMs = 30_000;
/** Wait before a member that could not join tries again, milliseconds. */
export const clusterAttachRetryMs = 5_000;
/** One job in the cluster's sequence, bytes: a message of `natsMessageBytesMax` less its headers. A larger one is refused with WIRE_TOO_LARGE. */
export const jobRecordBytesMax = natsMessageBytesMax - 65_536;
/** Names of a job's minions in the sequence, bytes: 100,000 names of 40. With more they are left out, and each member matches the target itself. */
export const jobNamesBytesMax = 4 * 1024 * 1024;
/** How long the sequence keeps jobs, milliseconds: a member that was away longer does not know the jobs in between. */
export const jobsKeptMs = 60 * 60_000;
/** Size of the sequence of jobs, bytes. Beyond it the oldest go. */
export const jobsKeptBytesMax = 256 * 1024 * 1024;
/** How long a publish waits until the sequence has it, milliseconds: then it is refused with CLUSTER_UNAVAILABLE, while the client still waits. */
export const jobAppendMs = 4_000;
/** One try to append a job, milliseconds. It is tried again until `jobAppendMs` have passed, under the same message id. */
export const jobAppendTryMs = 1_500;
/** Wait between two tries to append a job, milliseconds. */
export const jobAppendRetryMs = 100;
/** How long the sequence knows the ids of jobs, milliseconds, so that none comes twice. */
export const jobIdsKnownMs = 120_000;
/** Ids of jobs of which this member does not know whether the sequence has them. Beyond it the oldest is forgotten. */
export const unsureJobsMax = 1_000;
/** A job that is older when a member reads it is not sent to that member's minions, milliseconds: longer than the election of a leader takes. */
export const jobFreshMs = 20_000;
/** Jobs that a member stores at once while it sends an earlier one. More wait in the stream. */
export const jobsUnderWayMax = 16;
/** Latest appends that a member knows again, by digest: those of the 4 s in which one is tried, many times over. */
export const jobAppendsKnownMax = 10_000;
/** How long a publish waits until its own member has sent it, milliseconds, after the sequence has it. Then it counts as published. */
export const jobTakenMs = 10_000;
/** Wait before the sequence of jobs is read again after a fault, milliseconds. */
export const jobReopenMs = 250;
/** How often a member compares the end of the sequence with what it has read, milliseconds. */
export const jobSequenceLookMs = 5_000;
/** How long the end of a member waits for jobs that are being sent, milliseconds. */
export const jobCloseMs = 5_000;
/** How long a member waits until its own consumer delivers a job that the sequence has, milliseconds, before it opens another one. */
export const jobReadMs = 1_000;
/** Answer of the sequence of jobs to a question about itself, milliseconds. Without a leader none comes, and the question is asked again. */
export const jobSequenceAnswerMs = 1_500;

// # Owners of jobs in a cluster

/**
 * How long a member may act for the batch jobs and waiting jobs that it owns, milliseconds, after it sent the latest renewal of its lease that the
 * cluster confirmed: longer than the election of a leader. After it these jobs rest.
 */
export const jobLeaseMs = 15_000;
/**
 * How much longer the other members wait, milliseconds, from when they saw that renewal. So a member that died is replaced 20 s after its last renewal,
 * or a second later.
 */
export const jobLeaseMarginMs = 5_000;
/** How often a member renews its lease, milliseconds. */
export const jobLeaseRenewMs = 2_500;
/** How often a member looks for jobs whose owner's lease has ended, milliseconds. */
export const jobLeaseLookMs = 1_000;
/** Jobs that a member claims, gives to the cluster or removes from it at once. More wait for the next look. */
export const jobClaimsUnderWayMax = 256;
/** How long the bucket keeps the lease of a member that is gone, milliseconds. */
export const jobLeaseKeptMs = 7 * 86_400_000;
/** How often the log says that leases cannot be renewed or read, and that a message about jobs cannot be read, milliseconds. */
export const jobLeaseFaultLogMs = 10_000;
/** One entry in the bucket of leases, bytes. A waiting job of more stays with the member that published it, which counts it as `too_large`. */
export const ownedEntryBytesMax = natsMessageBytesMax - 65_536;
/** How long the bucket keeps the mark of a waiting job that is over, milliseconds. */
export const ownedMarkKeptMs = 3_600_000;
/** Part of a batch job's log in one message, bytes. More goes into further parts. */
export const sharedLogPartBytesMax = 1_000_000;
/** How long the cluster keeps the parts of a batch job's log, milliseconds. A job that takes longer cannot be taken over by a member that is new. */
export const sharedLogKeptMs = 30 * 86_400_000;
/** How long a member looks for its own write in the bucket after another one of the same number, milliseconds. Then it tries the write again. */
export const ownWriteLookMs = 5_000;
/**
 * Parts of other members' batch logs that wait because the disk refuses them, bytes in all. Over it this member does not copy the log to its end, and
 * cannot go on with its job.
 */
export const refusedPartsBytesMax = 64 * 1_048_576;
/** How often a member writes such parts again, and jobs of the cluster that its store did not take, milliseconds. */
export const refusedPartsRetryMs = 5_000;
/** Wait before copies of other members' batch logs that lack a part are read anew from the cluster, milliseconds. */
export const copyRepairRetryMs = 5_000;
/** Tries to mend such a copy that the cluster answers. After them the copy of a job that is over stays as it is. A full disk here does not count. */
export const copyRepairTriesMax = 60;
/** Batch jobs that a member knows to be over, the latest ones. Parts of their logs that come back into the cluster begin none of them again. */
export const endedBatchesMax = 10_000;
/** Jobs of the cluster that wait because this member's store refuses them, bytes in all. One over it is not in this member's job cache. */
export const refusedLoadsBytesMax = 64 * 1_048_576;
/** Tries to store such a job that fail for another reason than the store's refusal. After them it is not in this member's job cache. */
export const refusedLoadTriesMax = 12;
/** How long a member that ends tries to store such jobs, milliseconds. It reads the rest from the cluster again after its next start. */
export const refusedLoadsEndMs = 5_000;
/** How long the owner of a job may take to answer another member, milliseconds. Then the operator is told to try again. */
export const ownerAnswerMs = 10_000;
/** How far the time of such a question may be from the owner's clock on an operator's NATS, milliseconds. An older one may be a copy, and is refused. */
export const ownerQuestionMs = 30_000;
/** Questions of that time whose nonces an owner knows. On an operator's NATS more are refused. On the members' own servers the oldest is forgotten. */
export const ownerNoncesMax = 10_000;
/** How long a member that ends waits until the cluster has what its jobs wrote, milliseconds, before it hands them over. */
export const jobHandOverMs = 5_000;
/** How long a member gathers minions that came back, milliseconds, before it tells the owners of jobs that wait for them. */
export const appearedGatherMs = 250;
/** Minions in one such message. More go into further ones. */
export const appearedIdsMax = 5_000;

// # Presence in a cluster

/** How often a member tells the others which minions came or went, milliseconds. It tells so without a change, too, so that a silent member is noticed. */
export const presenceTickMs = 1_000;
/** How long `saltworks cluster check` listens which members are there, with an operator's own NATS, milliseconds: two of their ticks. */
export const presenceHeardMs = 2_500;
/** A member that was not heard of for this long, milliseconds, counts as gone, and its minions as not connected. */
export const presenceSilentMs = 10_000;
/** How often a member tells its whole list of minions, milliseconds: `usual`, and at most when others ask. */
export const presenceListMs = { usual: 60_000, asked: 2_000 } as const;
/** Ids in one presence message: with the longest ids it is a quarter of `natsMessageBytesMax`. A longer message is ignored. */
export const presenceIdsOfMessageMax = 5_000;
/** Minions of one other member that are remembered, some 100 bytes each. Further ones are dropped. */
export const presenceIdsOfMemberMax = 500_000;
/** Other members whose minions are remembered. Further ones are dropped. */
export const presenceMembersMax = 16;
/** Each second a member looks for minions that are gone in one of this many parts of its minions. */
export const presenceLookShare = 5;

// # Minions' data in a cluster

/** Parts of minions' data (grains with pillar, or a mine) that a worker hands out at once to be sent. */
export const sharedTakenMax = 256;
/** Bytes of such parts, after which no further one is added. */
export const sharedTakenBytesMax = 4 * 1024 * 1024;
/** Minions that a worker looks at in one task when it marks what it had before it joined. */
export const sharedMarksScanned = 1_000;
/** Writes of other members' parts into the store at once: each reserves some 300 KB of the disk, four times. */
export const sharedWritesMax = 32;
/** How often a member looks for changes of its minions' data, milliseconds: the data is with the others after about this time. */
export const sharedTakeMs = 250;
/** Messages with minions' data on their way to the stream at once. */
export const sharedPutsUnderWayMax = 64;
/** One message to the stream, milliseconds: longer than most elections. After it the part counts as unsent, and is sent again. */
export const sharedPutMs = 5_000;
/** Wait after a failure to send, milliseconds. Each is twice the one before, with jitter. */
export const sharedRetryMs = { first: 250, longest: 5_000 } as const;
/** Room in a message for its head and seal, bytes. A part that is larger than `natsMessageBytesMax` without it is left out: only this member has it. */
export const sharedMessageRoomBytes = 65_536;
/** Messages that are written into the store at once, and their bytes, after which no further one is added. */
export const sharedBatch = { messages: 256, bytes: 4 * 1024 * 1024 } as const;
/** Bytes that are read ahead of the store: the largest message fits twice. */
export const sharedReadAheadBytes = 2 * natsMessageBytesMax;
/** How often the place in the stream is saved, milliseconds. A crash makes the next start read more. */
export const sharedPlaceMs = 1_000;
/** Wait before a stream that was lost is opened again, milliseconds. */
export const sharedReopenMs = 2_000;
/** How often a member compares its place with the stream's end, milliseconds. A watch that is behind twice is opened anew. */
export const sharedCheckMs = 30_000;
/** Messages that are remembered by their subject to be read again: of minions without an accepted key, until it comes. Further ones are dropped. */
export const sharedKeylessMax = 20_000;
/** How long the stream keeps the removal of a minion's data, milliseconds. */
export const sharedRemovalKeptMs = 30 * 86_400_000;
/** How long `saltworks cluster join` waits for a peer's server, milliseconds, before it writes the configuration unchecked. */
export const clusterProbeMs = 3_000;
/** How long `saltworks cluster leave` waits until the cluster answers, and until it has forgotten the server, milliseconds: longer than two elections. */
export const clusterLeaveMs = 20_000;
/** Difference of two members' clocks that `saltworks cluster check` reports, milliseconds. Ages of keys and tokens are in seconds. */
export const clusterClockMs = 1_000;
/** One question of another member, bytes: a path and some names. A larger one is ignored. */
export const likenessQuestionBytesMax = 16_384;
/** Questions of other members that wait: one of each of four, twice. Further ones are refused. */
export const likenessQuestionsMax = 8;
/** How long a member may take to tell its clock, milliseconds: its main thread answers. */
export const likenessClockAnswerMs = 5_000;
/** How long a member reads its files for `saltworks cluster check`, milliseconds. What it has not read by then is not compared. */
export const likenessReadMs = 60_000;
/** How long an answer about files may take, milliseconds: the reading, once for the own question and once for another member's before it. */
export const likenessStateAnswerMs = 150_000;
/** Files of a tree that are compared: an answer names a tree with more as too large. */
export const likenessFilesMax = 100_000;
/** A file's bytes that are compared. Larger files are compared by their size. */
export const likenessFileBytesMax = 64 * 1024 * 1024;
/** Files that are read at once. */
export const likenessFilesAtOnce = 8;
/** Files of one answer. With paths of 4 KiB such an answer fits into `natsMessageBytesMax`. */
export const likenessPageFilesMax = 1_000;
/** Answers with files of one tree that are taken from a member: more than a tree of `likenessFilesMax` files has. */
export const likenessPagesMax = 200;
/** Differences that one report names. It counts the others. */
export const likenessDifferencesMax = 1_000;
/** How long the thread that has read files for a comparison stays, milliseconds: the questions about their paths come next. */
export const likenessThreadMs = 120_000;
