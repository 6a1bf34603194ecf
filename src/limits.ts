/**
 * Every bound and timeout that is not an option: unit in the name, reason beside it.
 * docs/limits.md lists them; a test compares. Options (src/config/schema.ts) carry the bounds that operators set.
 */
import assert from "node:assert/strict";

// # Decoding

/** Nesting of decoded values. Salt's own data stays under 30; recursion at 128 is safe on any stack. */
export const nestingDepthMax = 128;
/** Values that one decoding may build. Salt's largest (file lists, pillars of big sites) stay under 500,000; a frame of 100 MiB could name 100 million. */
export const decodedValuesMax = 2_000_000;
/** Map keys that are numbers, in one decoding. A Map hashes numbers without a secret, so that chosen ones make it quadratic: this many cost 0.3 s. */
export const numericKeysMax = 16_384;
/** Entries of one map that are listed without decoding it: loads have 20, so this only stops bombs. */
export const mapEntriesMax = 65_536;
/** Members of a request's envelope: Salt sends six. Over it: "bad load". */
export const envelopeMembersMax = 16;
/** Members of a request's load: Salt's have some twenty. Over it: refused from its header, because each that is listed becomes an object of the worker. */
export const loadMembersMax = 256;
/** Members of a clear load that the main thread looks through for its command, id and key: Salt's have some fifteen. With more only a worker reads it. */
export const headMembersMax = 64;
/** Values within one member of a clear load that the main thread reads: lists of 4,000 targets, which take 40 µs. With more only a worker reads the load. */
export const headValuesMax = 4_096;
/** Command, id or user that the main thread reads, bytes. A longer one counts as absent. */
export const headTextBytesMax = 1_024;
/** Values that one word of a command line may hold once its YAML aliases are followed: aliases of aliases would double without end. */
export const wordValuesMax = 100_000;
/** Minion id, bytes of UTF-8. A file name on Linux holds 255, and ids are file names in the key directories. */
export const minionIdBytesMax = 255;
/** Name of an environment for which `__env__` stands, bytes of UTF-8: with an extension it is still a file name, of which Linux takes 255. */
export const environmentNameBytesMax = 200;

// # Configuration

/** Files of a configuration that include each other: real ones nest twice. Over it: CONFIG_UNREADABLE. */
export const configIncludeDepthMax = 16;
/** Values that aliases of one YAML text of a configuration or pillar unfold to, for each alias: aliases of aliases would multiply without end. */
export const configAliasesMax = 100;
/** `hostname -f` at a start, milliseconds: a resolver that does not answer must not hold up the start. */
export const hostNameTimeoutMs = 10_000;

// # Unproven requests

/**
 * A clear request without a valid key, token or password, `ping` among them, bytes of the frame: what Salt's tools send unauthenticated
 * has some hundred.
 * Over it: refused. A worker counts it as `refused.clearTooLarge`, the main thread as `saltworks_unproven_refused_total{reason="size"}`.
 */
export const clearFrameBytesMax = 65_536;
/** Requests of strangers that wait for one worker, bytes: 16 of the largest, thousands of `ping`. Over it: refused; they never make the master stop reading. */
export const strangerQueueBytesMax = 1024 * 1024;
/**
 * Bytes a second of unproven requests that a worker looks at and finds forged, 0.3 % of its time. Over it the next large one waits, and
 * unproven requests
 * have half of the queue; proven requests do not count. What the main thread refuses unread has a count of its own with the same bound: over
 * it only huge ones are refused.
 */
export const forgedBytesPerSecondMax = 1024 * 1024;
/** Most forged bytes that are remembered: after a flood honest large requests on new connections wait 15 s at most. */
export const forgedBytesOwedMax = 16 * 1024 * 1024;
/** An unproven request beyond this, bytes, is refused while forgeries come: neither read to its end nor kept waiting. Below it one waits for its turn. */
export const hugeRequestBytes = 1024 * 1024;
/** How long small requests go before a large unproven one, milliseconds; it keeps the worker 2.5 ms for each MiB. */
export const largeHoldMsMax = 50;

// # Request port

/** Parts of one message on the request port: Salt's clients send two, an empty one and the request. Over it the connection is closed. */
export const requestPartsMax = 4;
/** Commands of one connection to the request port in a minute: a client of ZMTP 3.1 sends heartbeats at most, 600 at ten a second. Over it the connection is closed. */
export const commandsPerMinuteMax = 1_024;
/** A command of ZMTP on the request port, bytes: READY names a type of socket and an identity, some 60 bytes. Over it the connection is closed. */
export const zmtpCommandBytesMax = 4_096;
/** Largest read of a request connection, bytes. All connections share one such buffer. */
export const readChunkBytes = 128 * 1024;
/** Requests of one unproven connection in one turn of the event loop: 64 take some 4 ms. Further ones wait for the next turn. */
export const strangerTurn = { messagesMax: 64, bytesMax: 256 * 1024 } as const;
/** Requests of all unproven connections in one turn. */
export const strangersTurnMessagesMax = 256;
/** Requests of one proven connection in one turn. */
export const provenTurn = { messagesMax: 256, bytesMax: 1024 * 1024 } as const;
/** A reply of at most this many bytes is copied behind its frame's head: one write of one buffer is cheaper than one write of two. */
export const smallReplyBytes = 16 * 1024;
/** A request part beyond this, bytes, is checked at its first bytes, unless its connection is proven. */
export const largeRequestBytes = 65_536;
/** How long a connection may take for its greeting, milliseconds. libzmq sends it within a round trip. */
export const greetingTimeoutMs = 15_000;
/** How long a request may take from its first byte to its last, milliseconds. Salt's clients give up after 60 s at most. */
export const messageTimeoutMs = 60_000;
/** How often the request port looks for overdue connections, milliseconds. */
export const overdueLookMs = 1_000;
/** Requests of one proven connection that wait for their reply. A REQ socket has one; programs that pipeline, such as a load generator, have some hundred. */
export const provenUnansweredMax = 16_384;
/** Requests of one unproven connection that wait for their reply. */
export const strangerUnansweredMax = 1_024;
/** Requests of all unproven connections that wait for their reply: a fleet of 200,000 that authenticates at once. */
export const strangersUnansweredMax = 200_000;
/**
 * Bytes of requests that all unproven connections hold: unfinished ones, and those read before reading was paused.
 * One of `request_max_bytes` always fits. Over it the oldest is closed.
 */
export const strangersHeldBytesMax = 128 * 1024 * 1024;
/** Bytes of requests that all proven connections hold; two of `request_max_bytes` always fit. */
export const provenHeldBytesMax = 384 * 1024 * 1024;
/**
 * Share of `queue_max_bytes` at which strangers' connections are read no more, when every worker has so much waiting. Proven ones are read
 * until they alone have brought all of it.
 */
export const strangersPauseShare = 1 / 2;
/**
 * Bytes a second of messages that one address may begin and not finish, beyond one of `request_max_bytes`. While it owes more, its unproven connections may send no part beyond `largeRequestBytes`, and are `owingConnectionsMax` at most. Addresses of proven connections owe nothing.
 */
export const unfinishedBytesPerSecondMax = 1024 * 1024;
/** Most such bytes that are remembered: an address owes for 16 s at most after it has stopped. */
export const unfinishedBytesOwedMax = 16 * 1024 * 1024;
/** Unproven connections of an address that owes: together they hold 4 MiB at most. */
export const owingConnectionsMax = 64;
/** Addresses whose unfinished bytes are remembered, 150 bytes each; beyond it the one that was charged longest ago is forgotten. */
export const owingAddressesMax = 16_384;
/** Addresses of proven connections that are remembered, 150 bytes each; beyond it the one whose proof is oldest is forgotten. */
export const provenAddressesMax = 65_536;
/** How long an address counts as proven after its last proven connection is gone, milliseconds: minions make connections for single returns. */
export const provenAddressMs = 3_600_000;
/** Replies that one connection has not read, bytes: the largest answer of a runner, twice. Over it the connection is closed. */
export const provenUnreadBytesMax = 128 * 1024 * 1024;
/** Replies that one unproven connection has not read, bytes; one has 3 KB. */
export const strangerUnreadBytesMax = 1024 * 1024;
/** Replies that all unproven connections have not read, bytes: 3 KB for each of 20,000 minions that authenticate. */
export const strangersUnreadBytesMax = 64 * 1024 * 1024;
/** Replies that all connections have not read, bytes. Over it the connection that holds most is closed. */
export const allUnreadRepliesBytesMax = 512 * 1024 * 1024;
/** File descriptors that connections leave to files, stores and programs; of the rest each port may take half, since each minion has a connection of each kind. */
export const reservedDescriptors = 256;
/** How long clients are given to take their last replies when the master stops, milliseconds. */
export const replyLingerMs = 1_000;
/** Requests that wait behind the one under way on a REQ socket; a minion's processes share one. */
export const requestChannelQueueMax = 1_024;
/** The first connection of a command to the request port, milliseconds: it is local, so only a hung machine needs longer. Then MASTER_UNREACHABLE. */
export const requestConnectTimeoutMs = 5_000;
/** A look at one port before the master starts, milliseconds: only the look-up of a name takes time. Over it: PORT_UNUSABLE. */
export const portCheckTimeoutMs = 3_000;

// # Publish port

/** A subscription on the publish port, bytes: Salt's minions send none longer than 40. Over it the connection is closed. */
export const subscriptionBytesMax = 64;
/** Subscriptions of one connection: a minion has one, or with `zmq_filtering` two or three. Over it the connection is closed. */
export const subscriptionsMax = 8;
/** Copies of one publish that one subscriber gets when its topics match those of several minions (`zmq_filtering`). Over it further ones are dropped for it. */
export const publishCopiesMax = 16;
/**
 * Messages and commands of one subscriber in a minute: it says what it wants when it connects, and may then send a sign of life each second.
 * Over it the connection is closed.
 */
export const subscriberMessagesPerMinuteMax = 1_024;
/** Largest read of a subscriber's connection, bytes; this much of a chunk may wait for its turn. All connections share one such buffer. */
export const subscriberReadBytes = 4_096;
/** Publishes that one subscriber has not read, bytes. Over it further ones are dropped for it, as they are over `pub_hwm`; one of any size always fits. */
export const subscriberUnreadBytesMax = 32 * 1024 * 1024;
/**
 * Publishes that are kept because some subscriber has not read them, bytes, each counted once; two of the largest always fit. Over it the
 * connections are
 * closed that have not read the oldest.
 */
export const heldPublishesBytesMax = 256 * 1024 * 1024;
/** Publishes that a subscriber who was behind is given with one write, bytes. */
export const catchUpBytes = 256 * 1024;
/** Publishes that the publish thread was given and has not sent: beyond it the next one waits on the main thread. */
export const publishesHandedMax = 256;
/** Bytes of those publishes; one of any size always fits. */
export const publishesHandedBytesMax = 64 * 1024 * 1024;
/** Heap that the publish thread may have, MiB, also where `worker_heap_mb` is less: 50,000 connections with all the subscriptions they may have take 400. */
export const publishHeapMbMin = 1_024;
/** One publish in the publish thread, or a sign of life, milliseconds: to 200,000 subscribers a publish takes two seconds. Over it the thread hangs and is replaced. */
export const publishThreadTimeoutMs = 60_000;
/** How often the publish thread is asked for a sign of life, milliseconds: minions that connect need it though nothing is published. */
export const publishThreadLookMs = 10_000;
/** How long a publish thread that hangs may take to end, milliseconds. Over it, it hangs in a call of the system, and the master ends. */
export const publishThreadEndMs = 10_000;
/** A publish thread that ends sooner than this after its start ends the master, milliseconds: a new one would end, too. */
export const publishThreadSettleMs = 10_000;
/** How long subscribers are given to take the last publishes when the master stops, milliseconds. */
export const publishLingerMs = 1_000;
/** Publishes waiting to be sealed. Over it: QUEUE_FULL to the client. */
export const publishQueueMax = 10_000;
/** Serials reserved durably at once: a crash skips at most this many, and none is ever used twice. */
export const serialBlockCount = 1_024;

// # Event bus

/** Tag of a minion's event, bytes: Salt's own stay under 400. */
export const minionEventTagBytesMax = 1_024;
/** Events that one request of a minion lists, each fired a second time with its `pretag`; a second's beacons are some tens. Further ones are dropped and counted. */
export const minionEventsMax = 1_000;
/** Bytes that one request of a minion fires, or twice `max_event_size` if that is more. Further ones are dropped and counted. */
export const minionEventBytesMax = 4 * 1024 * 1024;
/** One event frame on the IPC bus, bytes: the largest event plus its envelope. */
export const ipcFrameBytesMax = 128 * 1024 * 1024;
/** What may surround the body in one event frame on the IPC bus, bytes: Salt sends an empty head. */
export const ipcHeadBytesMax = 65_536;
/** Connections to one socket of the event bus: each is a process of this machine. Over it, new ones are closed. */
export const ipcConnectionsMax = 4_096;
/** Connecting to the event bus or firing into it, milliseconds: it is local, so only a hung process needs longer. */
export const ipcConnectTimeoutMs = 5_000;
/** Time that subscribers get to read what waits for them when the bus closes, milliseconds. */
export const ipcCloseGraceMs = 500;
/** Path of a Unix socket, bytes: what `sockaddr_un` holds on Linux. */
export const socketPathBytesMax = 107;

// # Keys and authentication

/** Public key PEM text, bytes: a 16,384-bit RSA key needs 2,900. */
export const publicKeyBytesMax = 8_192;
/** Smallest RSA modulus accepted from a minion, bits. Salt refuses to make smaller ones. */
export const rsaModulusBitsMin = 1_024;
/** Largest RSA modulus accepted, bits: OpenSSL's own limit, above which one verification takes seconds. */
export const rsaModulusBitsMax = 16_384;
/** How often pending keys are counted anew while they are at their bound, milliseconds: listing 20,000 takes 10. */
export const keyRecountMs = 1_000;
/** Key-file changes are gathered this long, milliseconds, so that one command causes one rotation. */
export const keyChangeSettleMs = 200;
/** The key directory is listed again this often, milliseconds, in case the kernel lost an event. */
export const keyRescanMs = 10_000;
/** Key files whose size and time are read at each `keyRescanMs`, in turn: 2 ms for 1,000. */
export const keyRescanFilesMax = 1_000;
/** A mark that keeps a deleted minion's data counts for so long, milliseconds: a master that runs sees the deletion within a second or two. */
export const keepMarkMs = 60_000;
/** Requests parked for a slow lane (RSA, runners). Over it: refused, with an answer. */
export const laneQueueMax = 20_000;
/** Frame of an `_auth`, bytes: key, token and grains take 4,000. Over it: refused unread, since the sender has proved nothing yet. */
export const authFrameBytesMax = 65_536;
/** Authentications waiting, bytes: `auth_queue_max` of Salt's own size take 26 MB. Over it: strangers' oldest are dropped first, then others'. */
export const authQueueBytesMax = 64 * 1024 * 1024;
/** Authentications that a worker and then the RSA lane take at once: enough to make a thread hop cheap, and 6 to 11 ms that a publish's signature may wait behind. */
export const authsPerBatchMax = 16;
/** Minions' public keys that an RSA thread keeps ready, 3.4 KB each: a larger fleet's are imported anew each time, for 20 µs. */
export const laneKeysMax = 1_024;
/** While returns wait, a worker is given authentications once in this time, milliseconds: 16 of them cost it half a millisecond. */
export const authHoldMsMax = 50;

// # Threads

/**
 * One task in a worker thread, milliseconds. Over it: the worker is replaced and its batches are tried once more. A batch takes some 10 ms, and a
 * stall of the disk seconds; a minion waits 5 to 10 s for a return's answer, three times, so that the second try is answered.
 */
export const workerTaskTimeoutMs = 10_000;
/**
 * The first task of a thread waits for its code to load and its stores to open, milliseconds: on a machine under load that is not yet a hang.
 * A shard that has no thread for so long ends the master.
 */
export const workerStartTimeoutMs = 60_000;
/** A lane's thread that is not kept ends after this time without work, milliseconds: it holds some 15 MB. */
export const idleThreadMs = 20_000;
/** Ciphers of a session that was not used between two looks so far apart are let go, milliseconds: they hold 2 KB a minion and are made again in 3 µs. */
export const idleCiphersMs = 15_000;
/** How often a thread looks whether it has come to rest, in order to collect the garbage of its last burst, milliseconds. */
export const idleLookMs = 5_000;
/** Heap for young objects of a shard worker or runner thread, MiB: V8's own 48 stays resident once used, and a batch makes little garbage. */
export const workerYoungHeapMb = 12;
/** Heap for young objects of an RSA thread, MiB: it makes next to no garbage. */
export const laneYoungHeapMb = 6;
/** Old heap of an RSA thread, MiB: some keys. */
export const laneOldHeapMb = 256;
/** One RSA task, milliseconds: a private operation takes 0.3 ms, so this only catches a hung thread. */
export const laneTaskTimeoutMs = 60_000;
/** How often a lane's thread whose tasks share it counts a turn of its event loop, and how often the main thread looks at that count, milliseconds. */
export const laneTurnMs = 10_000;
/** Looks in a row that find no turn. Then the thread hangs: it is ended, and its tasks fail. Five minutes, because a runner may read 100,000 files of Salt's in one turn. */
export const laneStillLooksMax = 30;
/** Time that TERM gives to requests under way before the master closes its sockets, milliseconds. */
export const drainDeadlineMs = 10_000;

// # Jobs

/** Jobs that the tracker follows at once; the oldest is let go beyond it. */
export const trackedJobsMax = 10_000;
/** Jobs whose minions' states the master keeps in memory; the oldest job without a follower goes first. */
export const jobRecordsMax = 20_000;
/** Rounds of a job in which find_job may fail to be published (a full disk, too many publishes) before silence counts as an answer. */
export const unaskedRoundsMax = 5;
/** Minions of jobs in `jobRecordsMax`, ten bytes for each job of each; beyond it the oldest jobs go first. */
export const trackedMinionsMax = 2_000_000;
/** How long the states of a job's minions are kept, milliseconds; later only the job cache has them. */
export const jobRecordKeptMs = 3_600_000;
/** Minions that `jobs.status` and `jobs.pending` name of one job, unless told otherwise: more would fill the terminal. */
export const listedMinionsMax = 1_000;
/** Jobs with `nocache` that a worker remembers; returns of earlier ones would be kept. Such jobs are over within minutes. */
export const noCacheJobsMax = 10_000;
/**
 * Functions, target names or metadata pairs of one job that the job cache's index lists. A job with more is found by looking at its load, so
 * that a target of a whole fleet's names costs no entry each.
 */
export const indexedTextsMax = 64;
/**
 * After the wall clock was set forward, jobs and tokens are not removed for their age for so long, milliseconds: an operator sees the
 * warning, or the clock is set right again.
 */
export const clockTrustMs = 3_600_000;

// # Jobs for absent minions

/** Jobs that wait for minions which are away. Over it: QUEUE_FULL to the client; each is looked at for every minion that comes back. */
export const pendingJobsMax = 1_000;
/** Minions of jobs in `pendingJobsMax`, some 100 bytes in memory and on disk for each job of each. Over it: QUEUE_FULL to the client. */
export const pendingMinionsMax = 1_000_000;
/** Longest time that a job may wait for minions, seconds: a month; later the job is unlikely to be wanted still. */
export const deliverWithinSecondsMax = 30 * 86_400;
/** How often a job is sent to one minion that came back; one that fails so often under it will not do better. */
export const deliveryTriesMax = 10;
/** How often a minion that came back is asked whether it runs a job, until it answers. */
export const deliveryAsksMax = 3;
/** Minions that have come back and are asked at once: their ids make one publish of some 20 KB. */
export const deliveryBatchMax = 500;
/** Publishes a second for minions that have come back: each goes to the whole fleet, as all publishes do. */
export const deliveryPublishesPerSecondMax = 50;
/** Jobs for which minions that came back are asked at the same time, each for up to `gather_job_timeout`. */
export const deliveryRoundsMax = 64;

// # Batch jobs

/** Batches that run at once in the master; each holds its minions' ids and an open file. Over it: QUEUE_FULL. */
export const batchesRunningMax = 64;
/** Steps of one batch that are under way at once: each is a job that the tracker follows. Over it free slots are gathered until a step is over. */
export const batchStepsMax = 128;
/** Returns of a batch that come within this time make one next step, milliseconds: what one minion after the other would cost a publish each. */
export const batchGatherMs = 50;
/** Logs of finished batches that are kept; the oldest go first. Those older than `keep_jobs_seconds` go, too. */
export const batchLogsMax = 1_000;
/** One line of a batch's log, bytes: the ids of 200,000 minions. */
export const batchEntryBytesMax = 16 * 1024 * 1024;
/** What a follower of a batch is given at once, bytes: of the log, and of the returns that belong to it. */
export const batchPageBytes = { log: 256 * 1024, returns: 8 * 1024 * 1024 } as const;
/** How often a follower of a batch looks into its log when the event bus is silent, milliseconds: a master that fell over in the middle is noticed then. */
export const batchLookMs = 5_000;
/** Return bodies that wait in a follower of a batch until they are shown, bytes; what is beyond is fetched from the store. */
export const batchFeedBytesMax = 64 * 1024 * 1024;
/** After a restart the minions of unfinished batches are pinged: how often, and how long each time, milliseconds. A stock minion connects again within 10 s. */
export const batchReconnect = { rounds: 5, roundMs: 3_000 } as const;
/**
 * How long a batch waits each time before it tries again to send a step that the master could not publish, milliseconds. After the last it
 * stops, and the next start takes it up.
 */
export const batchSendWaitsMs: readonly number[] = [1_000, 2_000, 4_000, 8_000, 16_000];
/** How long a minion that did not answer a batch's ping may still join it, milliseconds. */
export const batchLateMs = 86_400_000;

// # Stores

/** Waiting for a store's last writes when it closes, milliseconds. Over it the disk has failed. */
export const storeCloseTimeoutMs = 5_000;
/** A data file of LMDB is filled ahead of its last page in steps of this, bytes: each costs a write, and what is ahead is disk that other programs cannot use. */
export const lmdbRoomStepBytes = 1024 * 1024;
/** Damaged returns that a reader tells of one by one; `saltworks check-store` tells of all. */
export const damagedNotesMax = 1_000;
/** Faults of one file that are told one by one; a damaged disk has thousands. */
export const walkedFaultsMax = 20;
/** Returns of a job that a reader asks its store for at once. A job with more takes several pages. */
export const returnsPerPage = 4_096;
/** A worker's log of returns, bytes: holds `returnsPerTransaction` of them if each came alone and took a block. Written in full when it is made. */
export const returnLogBytes = 4 * 1024 * 1024;
/** Returns brought from a worker's log into the job cache at once: some 3 ms in which the worker does nothing else. Twice as many save 0.3 µs a return. */
export const returnsPerTransaction = 1_024;
/** Returns wait in a worker's log at most this long, milliseconds, unless they are many: a transaction for each small batch would cost more than the log saves. */
export const returnTransactionDelayMs = 1_000;
/** Returns that a worker remembers in order to tell duplicates; beyond it the store is asked, about 1 µs each. An entry takes some 100 bytes. */
export const knownReturnsMax = 50_000;

// # Salt's own files

/** One file of Salt's that is taken over, bytes: grains and pillar of one minion, or a job's load. Over it: named in the log and left out. */
export const saltFileBytesMax = 128 * 1024 * 1024;
/** Minions whose files are read before what they hold is stored: bounds the memory of a takeover. */
export const takeOverAtOnce = 64;
/** How often a takeover tells how far it is, milliseconds. */
export const takeOverProgressMs = 2_000;
/** How often a master marks for the next takeover that it is alive, milliseconds. */
export const aliveMarkEveryMs = 2_000;
/** How much later than its last mark a master that was killed may have written a file, milliseconds. Salt's master needs longer to start. */
export const aliveMarkMarginMs = 3_000;
/** A job id that is taken over from Salt, bytes: with a minion's id it is a key of our store. Over it: named in the log and left out. */
export const takenJidBytesMax = 1_024;
/** How often a running master looks for jobs that were copied into Salt's job directory, milliseconds: a look asks the file system for the times of each job directory. */
export const saltJobsLookEveryMs = 600_000;
/** The longest wait before the takeover of Salt's jobs is tried again, milliseconds: it begins with `saltMirrorRetryMs` and doubles. */
export const saltTakeJobsRetryMsMax = 60_000;
/** Longest time of a return in a worker's log if Salt's files are kept current, milliseconds, so that it appears in them within a second. */
export const saltReturnDelayMs = 500;
/** How often the salt lane looks for returns to write into Salt's files, milliseconds. */
export const saltMirrorEveryMs = 200;
/** One step of the salt lane, milliseconds: bounds what must be done again after its thread dies. */
export const saltMirrorStepMs = 100;
/** How long the salt lane waits after a failed write, milliseconds. */
export const saltMirrorRetryMs = 2_000;
/** Returns taken from the feed at once. */
export const saltMirrorAtOnce = 256;
/** Returns that wait to be written into Salt's files, 100 bytes each. Over it the oldest are left out there and counted: our store has them. */
export const saltReturnsWaitingMax = 1_000_000;
/** Time that a stopping master gives to Salt's files, milliseconds; the next start writes the rest. */
export const saltMirrorStopMs = 20_000;

// # Runners and wheel functions

/** Answer of one runner or wheel function, bytes: caller and master each decode it at once. Over it: the call fails with FUNCTION_FAILED and a message. */
export const runnerAnswerBytesMax = 64 * 1024 * 1024;
/**
 * Result of a runner or wheel call that its last event holds, bytes: a subscriber's queue (`event_subscriber_max_bytes`) has room for some.
 * Over it the event shows VALUE_TRIMMED; our own clients get the whole, and Salt's must ask for less at a time.
 */
export const runnerEventBytesMax = 16 * 1024 * 1024;
/** Result of a runner call as it is kept in the job cache, bytes. A larger one is left out of it: lists of jobs would fill the cache with themselves. */
export const storedResultBytesMax = 1024 * 1024;
/** A file that wheel functions of `file_roots` and `pillar_roots` read, bytes. A larger one is refused: it is held in memory and travels in one reply. */
export const rootsFileBytesMax = 16 * 1024 * 1024;
/** Files and directories in one list of an environment by these functions. Over it the call fails. */
export const rootsFilesListedMax = 100_000;
/** Loads of the jobs in one answer of `jobs.list_jobs`, bytes. Over it the list is cut and says so. */
export const listedBytesMax = 32 * 1024 * 1024;
/**
 * The same where the caller takes the answer from an event (salt-api's `GET /jobs`): the rest of `runnerEventBytesMax` is for what is around
 * the jobs. Over it the list is cut, and the log says so.
 */
export const listedInEventBytesMax = 15 * 1024 * 1024;
/** Values in one answer of `jobs.list_jobs`: what one decoding may build, with room for what is around them. Over it the list is cut and says so. */
export const listedValuesMax = 1_500_000;
/** A runner that a client waits for, milliseconds: some orchestrate for hours, and a master that dies is noticed by its event bus. */
export const runnerReplyTimeoutMs = 86_400_000;
/** One wheel call, milliseconds: it reads or changes what the master holds. */
export const wheelReplyTimeoutMs = 60_000;
/**
 * Pairs of equal lines that a comparison of two texts (`survey.diff`, `file.replace`) looks at, half a second. Beyond, the texts differ from
 * their first to their last difference.
 */
export const diffStepsMax = 5_000_000;

// # Targets

/** A target expression, bytes of UTF-8: a list that names a fleet of 100,000 by ids of 40 characters. */
export const targetExpressionBytesMax = 4 * 1024 * 1024;
/** One glob, regular expression or `key:value` term, characters: ids have at most 255, so nothing longer helps. */
export const targetPatternLengthMax = 16_384;
/** Terms of one compound target; the set of a term is evaluated once per minion. */
export const targetTermsMax = 10_000;
/** Parentheses within parentheses of a compound, groups within groups of a regular expression, parts of `key:key:value`. */
export const targetDepthMax = 64;
/** Steps of one regular expression once its counted repeats are written out: to compile it takes 0.4 s, and 0.3 s to try on an id, at worst. */
export const patternStepsMax = 20_000;
/** Steps of all regular expressions of one target: 5,000 terms of 20; to compile them takes 1 s. */
export const targetPatternStepsMax = 100_000;
/** Largest counted repeat of a regular expression, `x{1000}`: the bound of the linear-time engine. */
export const patternRepeatMax = 1_000;
/** Ways to read one `key:key:value` expression, wildcards stepping into any child included, that the index follows. Over it each minion is asked in turn. */
export const targetReadingsMax = 256;
/** Pairs of minion and value that the index keeps of one grain path in one worker, about 12 bytes each and the texts. Over it each minion is asked in turn. */
export const targetPathEntriesMax = 2_000_000;
/** Grain and pillar paths that a worker keeps indexed; each is looked up again at every refresh. The one asked longest ago goes first. */
export const targetPathsMax = 128;
/** Estimated bytes of all path indexes of one worker: of 50,000 minions 8 MB for a value that each has its own, 0.5 MB for others. */
export const targetIndexBytesMax = 96 * 1024 * 1024;
/** Paths of one target that are indexed by the same reading of all minions. */
export const targetPathsTogetherMax = 64;
/** Verdicts that the index keeps for each path, a bitmap each. The one asked longest ago is made anew. */
export const textVerdictsMax = 64;
/** Gathered sets that the index keeps for each path beside its verdicts, a bitmap each. */
export const gatheredVerdictsMax = 16;
/** How long a worker matches targets or builds their index before it looks for batches again, milliseconds: no return waits longer for it. */
export const matchSliceMs = 2;
/** Minions, unknown names and terms that an explained target shows of each sort; how many there are is counted. */
export const explainedMax = 50;
/**
 * CPU time that one target may take in one worker, milliseconds. A first use reads every minion's grains, 1 s for 50,000; over this it is
 * refused, before its client gives up.
 */
export const matchCpuMsMax = 10_000;
/** Parsed targets that a thread remembers: a compiled regular expression holds some 100 KB at most. */
export const parsedTargetsMax = 128;
/** A target that is remembered in parsed form, characters: longer ones are lists, whose parsing costs little. */
export const parsedTargetLengthMax = 4_096;
/** Packed lists of matched minions that a worker keeps, bytes: eight of 50,000 ids. */
export const keptListsBytesMax = 12 * 1024 * 1024;
/** Targets that one worker works on at once. Over it: QUEUE_FULL. */
export const matchesPendingMax = 64;
/** An answer that its client did not fetch goes after this, milliseconds. */
export const matchKeptMs = 10_000;
/** How long a publish waits for its expected minions, milliseconds: workers that are busy with batches index slowly. */
export const matchWaitMsMax = 120_000;
/** How long the main thread waits before it asks again for a target's answer that was not ready, milliseconds: first and longest. */
export const matchPollMs = { first: 1, longest: 20 } as const;

// # Pillars and templates

/** Text that one pillar template may render to, bytes: far above any real one; a loop that multiplies it ends here. */
export const pillarTextBytesMax = 16 * 1024 * 1024;
/** One pillar file, bytes: it is read whole and kept in memory. */
export const pillarFileBytesMax = 4 * 1024 * 1024;
/** Pillar files kept in memory by one rendering thread, with their parsed templates; the one used longest ago goes first. */
export const pillarFilesMax = 4_096;
/** Directories within each other below a root of pillars: links that lead in circles end here. */
export const pillarDirectoryDepthMax = 32;
/** Calls of macros, includes and imports within each other; a template that includes itself ends here. */
export const templateDepthMax = 48;
/** Calls of functions in one rendered command: each begins the rendering anew, so that the time grows with their square. */
export const templateCallsMax = 200;
/** Elements of one `range()`: what Jinja's own sandbox allows. */
export const templateRangeMax = 100_000;
/** Width to which a template's filter or method pads a text, characters. */
export const templateWidthMax = 1_000_000;
/** Bits of the result of a template's `**`: a larger one would take seconds. */
export const templatePowerBitsMax = 65_536;
/** Width or precision in a format (`%10s`, `{:10}`): Python's own bound is the memory. */
export const formatWidthMax = 100_000;
/** SLS files of one pillar, each include counted: real ones have some hundred. */
export const pillarSlsMax = 10_000;
/** A minion's question that has waited this long for its pillar is not worth rendering, milliseconds: it asks three times for 60 s each. */
export const pillarWaitMs = 180_000;
/** Different questions of one minion that wait for a pillar; a further one is refused. A minion asks for one at its start, and for one in each state run. */
export const pillarsWaitingOfMinionMax = 4;
/** Pillars of one minion under way at once, so that slow ones leave places to other minions. */
export const pillarsUnderWayOfMinionMax = 2;
/** What one external source of pillar (`ext_pillar`) may give, bytes: a command's output, or the files of a tree together. Over it: an error in the pillar. */
export const extPillarBytesMax = 16 * 1024 * 1024;
/** Of what a command of `ext_pillar` writes to stderr, characters that the master's log gets. */
export const extPillarComplaintMax = 300;
/** Files and directories below one directory of the external pillar `file_tree`. */
export const fileTreeEntriesMax = 20_000;
/** Directories within each other in the external pillar `file_tree`: links that lead in circles end here. */
export const fileTreeDepthMax = 32;
/** Sources that a minion may ask for in one question (`pillar.ext`): it names one as a rule. */
export const onDemandSourcesMax = 16;
/** Environments of one minion whose pillars `pillar_cache` keeps: the minion chooses their names. The one kept longest goes first. */
export const pillarCacheEnvironmentsMax = 16;
/** One minion's file in `cachedir/pillar_cache`, bytes. A larger pillar is not kept. */
export const pillarCacheFileBytesMax = 32 * 1024 * 1024;
/** All pillars that `pillar_cache_backend: memory` keeps, bytes; the one kept longest goes first. */
export const pillarCacheMemoryBytesMax = 256 * 1024 * 1024;
/** Counts of forgotten pillars, shared by all minions: a rendering is not kept if its minion's count rose meanwhile. More of them: fewer that rise for another. */
export const forgetCountsMax = 65_536;

// # Files

/** Files and directories of one environment: a list of this length takes 60 MB. Over it: FILES_FAILED. */
export const listedFilesMax = 1_000_000;
/** Environments whose lists a thread keeps ready; others are read from the cache directory. */
export const fileListsKeptMax = 16;
/** Hashes of files that a thread keeps, 200 bytes each. The one asked for longest ago goes first. */
export const fileHashesMax = 65_536;
/** Age from which a file's times are taken for exact, milliseconds: file systems round them to as much as two seconds. */
export const fileTimesSettledMs = 2_000;
/** Requests for files that are worked on at once: enough to keep a disk busy. */
export const fileRequestsMax = 32;
/** Requests for files that wait for their turn, some 500 bytes each without what `cp.push` carries. Over it: QUEUE_FULL. */
export const fileRequestsWaitingMax = 20_000;
/** What waiting requests for files may carry in all, bytes: pieces of `cp.push`. Over it: QUEUE_FULL. */
export const fileRequestsWaitingBytesMax = 128 * 1024 * 1024;
/** A request for files that has waited this long is not worth answering, milliseconds: its minion asks again after 60 s. */
export const fileWaitMs = 55_000;
/** One request for files in its thread, milliseconds: hashing 20 GB. What a hash takes longer is kept for the minion's next try. */
export const fileTaskTimeoutMs = 55_000;
/** Answers about files that are on their way to minions, bytes: ZeroMQ holds them until their connections have taken them. */
export const fileBytesOnTheirWayMax = 256 * 1024 * 1024;
/** An answer counts as delivered when its connection asks again, and at the latest after so long, milliseconds: a piece of 1 MiB over 4 Mbit/s. */
export const fileDeliveryMs = 2_000;
/** One piece of a file that a master sends compressed, unfolded, bytes: the largest that `file_buffer_size` may be set to. */
export const filePieceBytesMax = 64 * 1024 * 1024;
/** Minions whose pushed files' number and size are remembered; others are counted at their next push. */
export const pushedUsagesMax = 1_000;
/** How often a minion's pushed files are counted anew while they are at their bound, milliseconds: an operator may have removed some. */
export const pushedRecountMs = 5_000;
/** How often the pushed files of all minions are counted anew while they are at their bound, milliseconds, unless that takes a tenth of the time. */
export const pushedTotalRecountMs = 30_000;
/** Rest between two counts of all pushed files, as a multiple of the time of the last count. */
export const pushedRecountRest = 10;
/** How long a push waits for a count of all pushed files, milliseconds: 1,000,000 files take some 20 s. Over it the push is refused and counted. */
export const pushedCountWaitMs = 5_000;
/** Pushes of all minions that wait for a count: each holds one of the places of `fileRequestsMax`. Over it a push is refused and counted. */
export const pushesWaitingMax = 4;

// # Mines

/** Functions in one question for mines; a minion's mine has a dozen. */
export const mineFunctionsMax = 1_000;
/** One answer of mines, bytes: those of 16,000 minions with 2 KiB each. The master holds a few of them at once. */
export const mineAnswerBytesMax = 32 * 1024 * 1024;
/** Answers of mines that are put together at once: more do not come sooner, but each takes memory. */
export const mineReadsMax = 4;
/** Questions for mines that wait for their turn, some 500 bytes each. */
export const mineReadsWaitingMax = 20_000;
/** A question for mines that has waited this long is not worth answering, milliseconds: its minion asks again after 60 s. */
export const mineWaitMs = 60_000;
/** Time that reading mines may keep a worker from its batches, milliseconds; one batch takes some 10. */
export const mineSliceMs = 2;
/** Mines that one slice gathers, bytes. */
export const mineSliceBytes = 256 * 1024;
/** Ids that a worker is given for one slice, bytes: a few hundred, which is what 2 ms suffice for. */
export const mineWindowBytes = 4_096;

// # Publishes and runner calls of minions

/** Arguments that a minion may send with a publish or a runner call, bytes: their texts are read as YAML between others' requests. Over it: refused. */
export const peerArgumentBytesMax = 64 * 1024;
/** Name of a function or returner in a minion's publish or runner call, characters. Over it: refused. */
export const peerNameLengthMax = 256;
/** Requests of minions for publishes, runners and returns that are under way at once, a few kB each. Over it they are answered with a sentence. */
export const peerRequestsMax = 1_000;
/** Runner calls of minions that run at once: half of what runs at once at all, so that operators' calls find room. Over it they are answered with a sentence. */
export const peerRunsMax = 32;
/** How long `minion_publish` waits for returns at most, milliseconds: its minion asks again after 60 s. */
export const peerWaitMsMax = 55_000;
/** How often refused publishes and runner calls of minions are written to the log, milliseconds; others are counted. */
export const peerRefusalLogMs = 1_000;

// # Credentials and tokens

/** Credentials of external authentication that are checked at once. A refused one keeps its place for a second, so that this is also the number of guesses a second. */
export const credentialChecksMax = 32;
/** Credentials that wait for their check, by address and user in turn. Over it: one of the address with the most is refused unasked. */
export const credentialChecksWaitingMax = 256;
/** One check of credentials, milliseconds: a web service or a login rule that takes longer has not agreed. */
export const credentialCheckTimeoutMs = 30_000;
/** How long a refusal of credentials takes, milliseconds, at random: the same for a wrong name as for a wrong password. */
export const refusedCredentialMs = { min: 750, max: 1_250 } as const;
/** Name, password or token in a request, bytes: anybody on the network may send one. */
export const credentialTextBytesMax = 4_096;
/**
 * A request that comes with a password, bytes: it is held until that is checked, and lists of 10,000 targets take 200,000. Over it: refused,
 * by the main thread as well; a token is looked up at once.
 */
export const credentialLoadBytesMax = 256 * 1024;
/** A file of users and passwords, bytes: it is read at each check. */
export const credentialFileBytesMax = 16 * 1024 * 1024;
/** Rounds of a password's hash: a million take a second. One that asks for more is not checked. */
export const cryptRoundsMax = 1_000_000;
/** A web service that is asked for a user, milliseconds. */
export const restTimeoutMs = 20_000;
/** Answer of such a web service, bytes: a list of permissions. */
export const restAnswerBytesMax = 1024 * 1024;
/** The system's own login rules for one user, milliseconds: some wait two seconds after a wrong password. */
export const pamTimeoutMs = 20_000;
/** Output of the program that checks a login, characters: a user's groups. */
export const pamOutputBytesMax = 65_536;
/** Tokens that are kept. Over it: no more are made until some have expired. */
export const tokensMax = 100_000;
/** File of one token, bytes: names and, with `keep_acl_in_token`, permissions. */
export const tokenFileBytesMax = 4 * 1024 * 1024;
/** Compiled patterns of permissions that are remembered; over it all are forgotten. */
export const permissionPatternsMax = 1_000;
/** Local users who may have a key by `publisher_acl`. */
export const localKeysMax = 10_000;

// # Commands and clients

/** Events about jobs that a client keeps until it knows its job's id; the oldest go first and are fetched from the store. */
export const earlyEventsMax = 10_000;
/** Return bodies that wait in a client until they are shown, bytes; what is beyond is fetched from the store. */
export const jobFeedBytesMax = 64 * 1024 * 1024;
/** How long a client hears nothing of its job before it asks the master whether that is over, milliseconds: the event that said so may have been lost. */
export const jobLookMs = 10_000;
/** Sockets of one client to the master's request port: requests under way at once. */
export const clientChannelsMax = 64;
/**
 * How long a client waits, after a runner's result, for what the runner said before it, milliseconds: both go different ways, and a new
 * subscriber waits for the master to learn how it reads, seconds on a busy machine.
 */
export const runnerTellingWaitMs = 15_000;
/** Events that wait for the terminal of `state.event`, bytes; beyond it the oldest are left out. */
export const watchedEventsBytesMax = 64 * 1024 * 1024;
/** How long `state.event` waits before it looks again for a master that went away, milliseconds. */
export const watchReconnectMs = 1_000;
/** Whole files that one job carries, bytes: the master and each minion hold them in memory several times over. Larger ones go in pieces. */
export const copiedFilesBytesMax = 16 * 1024 * 1024;
/** Files and directories of one copy: each is a job of its own at least. Links that lead back to their own directory end here. */
export const copiedFilesMax = 10_000;
/** Candidates that a shell is offered for one word: operators read no more, and a shell takes a second for 10,000. */
export const completionCandidatesMax = 2_000;

// # Minions

/** Output of one command of `cmd.*` that is kept, bytes of stdout and of stderr each: both together fit a request of 100 MiB. The rest is dropped and said. */
export const commandOutputBytesMax = 40 * 1024 * 1024;
/** Files that one `file.find` names: beyond, the answer would be of no use to anybody, and would not fit a return. */
export const foundFilesMax = 100_000;
/** A system program asked for facts (`ip`, `getent`, `df`), milliseconds: local, so only a hung one needs longer. */
export const probeTimeoutMs = 10_000;
/** Output of a system program, bytes: `ps` of a large machine prints some megabytes. */
export const probeOutputBytesMax = 32 * 1024 * 1024;
/** What one compressed piece of a copied file may unfold to on a minion, bytes: `salt_cp_chunk_size` is 98,304 unless an operator raises it. */
export const copiedChunkBytesMax = 64 * 1024 * 1024;
/** A script that a minion fetches from its master to run, bytes: it is held in memory. */
export const masterFileBytesMax = 64 * 1024 * 1024;
/** A web server's whole answer to a minion's `cp.get_url`, milliseconds. */
export const urlWaitMs = 600_000;
/** Jobs that wait on a minion for a job process (`process_count_max`, or processes that are still starting). Over it: refused, with a return that says so. */
export const minionJobQueueMax = 10_000;
/** Job processes that a minion starts at once: a start costs a tenth of a second of CPU, and a burst of quick jobs needs few. */
export const jobProcessStartsMax = 4;
/** Job processes that a minion keeps for the next job. */
export const jobProcessesIdleMax = 1;
/** Failed starts of job processes in a row after which waiting jobs are answered with an error. */
export const jobProcessStartTriesMax = 3;
/** Time that a stopping minion gives its job processes to end after TERM, milliseconds. */
export const jobProcessEndMs = 2_000;
/** Returns that wait on a minion for its master; over it the newest is lost, with a log line, as it would be after all retries. */
export const minionReturnQueueMax = 1_024;
/** The same in bytes: a master that is down for minutes must not cost a minion its memory. */
export const minionReturnQueueBytesMax = 256 * 1024 * 1024;
/** Scheduled jobs of a minion that run or wait for a process at once; one more is skipped. `maxrunning` bounds each by itself, `jid_include: False` lifts that. */
export const scheduledJobsRunningMax = 100;
/** How often a minion looks at its schedule when nothing is due sooner, milliseconds: a clock that was set, or a machine that slept, shows then. */
export const scheduleLookMs = 60_000;
/** How late a job with an appointed moment (`when`, `once`) still runs, milliseconds: a busy machine's delay, not a night's sleep. */
export const scheduleLateMs = 10_000;
/** A clock that is set back by more, milliseconds, has scheduled jobs run again at times of day at which they ran: cron's measure. */
export const scheduleCorrectionMsMax = 3 * 3_600_000;
/** How long a function of `schedule` waits for the minion's scheduler, milliseconds: Salt's time. */
export const scheduleAnswerMs = 30_000;
/** Shortest and longest wait of a minion whose key is rejected before it ends, seconds: a service manager restarts it at once. */
export const rejectedExitDelaySeconds = { min: 10, max: 20 } as const;

// # Metrics

/** How long one look at the metrics waits for a busy worker, milliseconds; after it the worker's last values are shown. A batch takes some 10. */
export const metricsWorkerTimeoutMs = 500;
/** Connections to the metrics endpoint: a few Prometheus servers and a person. */
export const metricsConnectionsMax = 16;
/** Header of a request for metrics, bytes: nothing in it is used. */
export const metricsHeaderBytesMax = 8_192;
/** A request for metrics must be there this soon after it began, milliseconds. */
export const metricsRequestTimeoutMs = 5_000;
/** An unused connection to the metrics endpoint is kept this long, milliseconds: Prometheus asks every 15 or 60 seconds. */
export const metricsIdleTimeoutMs = 90_000;
/** One look of `saltworks top`, milliseconds: it waits behind the worker that checks its key. */
export const topReplyTimeoutMs = 5_000;

// # Logs, daemons and the demo

/** Lines of one sentence that the master's log takes at once; strangers and minions can cause some of them. Over it: counted as `logLinesSuppressed`. */
export const logBurstLines = 10;
/** After `logBurstLines` one line of a sentence in this time, milliseconds, with the number of suppressed lines. */
export const logLineMs = 1_000;
/** Sentences with an allowance of their own. The master has some 80, and refusals, which hold a stranger's text, take none of these places. Beyond it all others share one. */
export const logSentencesMax = 512;
/** One text in a line of the log, characters: a stack has 1,500. The rest is left out, which is said. */
export const logTextLengthMax = 2_048;
/** Members of one list or map in a line of the log. */
export const logItemsMax = 32;
/** How often a daemon looks whether its log file was moved away, milliseconds: a call of 2 us, and the lines of a second may follow the moved file. */
export const logFileLookMs = 1_000;
/** One line sent to the system's log, bytes: what its daemons take by default (8 KiB of rsyslog's and journald's 48 KiB). The rest of the line is cut. */
export const syslogLineBytesMax = 8_192;
/** Bytes that wait for a log host that does not read. Over it lines are dropped, counted and reported with the next that is taken. */
export const syslogWaitingBytesMax = 1024 * 1024;
/** Wait before a lost log host is tried again, milliseconds: doubled each time, spread at random. */
export const syslogReconnectMs = { least: 1_000, most: 60_000 } as const;
/** How long `-d` waits for its daemon to be up, milliseconds: a large job cache may be brought into form meanwhile. */
export const backgroundStartTimeoutMs = 300_000;
/** Answers of the threads before systemd is told that a master is alive, at most this part of the time between two messages. */
export const watchdogAnswerShare = 0.9;
/** How long a thread may take to report its stack, milliseconds: a thread that waits or runs native code does not report. */
export const debugPauseTimeoutMs = 1_000;
/** One dump of stacks and state, bytes; the rest is cut. */
export const debugDumpBytesMax = 1024 * 1024;
/** Names that are tried for a dump's file, of which others may have made some. */
export const debugFileTriesMax = 100;
/** Minions of one demo: each is a process of some 70 MB. */
export const demoMinionsMax = 100;
/** How long a demo waits for its processes to come up, milliseconds: a slow machine needs a second or two per process. */
export const demoStartTimeoutMs = 120_000;
/** How long a demo's processes have to end before they are killed, milliseconds. */
export const demoStopTimeoutMs = 15_000;

// # Relations

/** Fails the start of any program whose bounds contradict each other. */
function fits(inner: number, outer: number, why: string): void {
  assert(inner <= outer, `${why}: ${inner} > ${outer}`);
}

fits(envelopeMembersMax, loadMembersMax, "an envelope is smaller than a load");
fits(headMembersMax, loadMembersMax, "the main thread reads no more of a load than workers do");
fits(loadMembersMax, mapEntriesMax, "a load is a map");
fits(mapEntriesMax, decodedValuesMax, "a map is a part of a message");
fits(numericKeysMax, mapEntriesMax, "numeric keys are entries of a map");
fits(wordValuesMax, decodedValuesMax, "a word's value travels in a message");
fits(minionIdBytesMax, headTextBytesMax, "the main thread reads whole ids");
fits(environmentNameBytesMax, minionIdBytesMax, "both are names of files");
fits(clearFrameBytesMax, strangerQueueBytesMax, "one clear request fits into the queue");
fits(forgedBytesPerSecondMax, forgedBytesOwedMax, "a second of forgeries is remembered");
fits(largeRequestBytes, hugeRequestBytes, "huge requests are large");
fits(strangerTurn.messagesMax, strangersTurnMessagesMax, "one connection's turn fits into that of all");
fits(strangerTurn.messagesMax, provenTurn.messagesMax, "proof never lowers a bound");
fits(strangerTurn.bytesMax, provenTurn.bytesMax, "proof never lowers a bound");
fits(strangerUnansweredMax, provenUnansweredMax, "proof never lowers a bound");
fits(strangerUnansweredMax, strangersUnansweredMax, "one connection fits into the bound of all");
fits(strangersHeldBytesMax, provenHeldBytesMax, "proof never lowers a bound");
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
fits(ipcHeadBytesMax, ipcFrameBytesMax, "a head is a part of a frame");
fits(rsaModulusBitsMin, rsaModulusBitsMax, "some key is accepted");
fits(publicKeyBytesMax, authFrameBytesMax, "a key fits into an authentication");
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
fits(returnsPerTransaction, knownReturnsMax, "returns of a transaction are remembered");
fits(aliveMarkEveryMs, aliveMarkMarginMs, "a master that lives marks within the margin");
fits(saltMirrorEveryMs, saltReturnDelayMs, "a return is looked for before it is late");
fits(saltMirrorRetryMs, saltTakeJobsRetryMsMax, "waits grow");
fits(storedResultBytesMax, runnerEventBytesMax, "what is stored was shown");
fits(runnerEventBytesMax, runnerAnswerBytesMax, "an event holds no more than the answer");
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
