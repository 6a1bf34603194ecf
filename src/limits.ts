/**
 * Every bound and timeout that is not an option: unit in the name, reason beside it.
 * docs/limits.md lists them; a test compares. Options (src/config/schema.ts) carry the bounds that operators set.
 */
import assert from "node:assert/strict";

// # Decoding

/** Nesting of decoded values. Salt's own data stays under 30; recursion at 128 is safe on any stack. */
export const nestingDepthMax = 128;
/** Values that one decoding may build. Salt's largest messages (file lists, big pillars) have under 500,000; 100 MiB could name 100 million. */
export const decodedValuesMax = 2_000_000;
/** Numeric map keys in one decoding. A Map hashes numbers without a secret, so that chosen keys make it quadratic: 16,384 cost 0.3 s. */
export const numericKeysMax = 16_384;
/** Values that one request of a minion or of a restricted user may make its reader build: a list target may name 100,000 ids. Over it: refused, or the rest of its events dropped. */
export const sentValuesMax = 131_072;
/** Lists and maps among them. An empty map costs 0.7 µs and 200 bytes, some twenty times as much as a number: 16,384 cost 10 ms. */
export const sentCollectionsMax = 16_384;
/** Numeric map keys among them. Salt's own requests have none; 1,024 that all collide cost 1 ms, and the cost grows with the square. */
export const sentNumericKeysMax = 1_024;
/** Entries of one map that a reader lists without decoding the map. A load has some 20 entries; the bound stops hostile frames. */
export const mapEntriesMax = 65_536;
/** Members of a request's envelope: Salt sends six. Over it: "bad load". */
export const envelopeMembersMax = 16;
/**
 * Members of a request's load: Salt's have some twenty. Over it: refused from its header, because the worker makes an object of each; the main thread
 * refuses clear loads, as `size` of `saltworks_unproven_refused_total`.
 */
export const loadMembersMax = 256;
/** Members of a clear load that the main thread searches for command, id and key: Salt's have some fifteen. Only workers read larger ones. */
export const headMembersMax = 64;
/** Values within one member of a clear load that the main thread reads: a list of 4,000 targets takes 40 µs. Only workers read larger loads. */
export const headValuesMax = 4_096;
/** Command, id or user that the main thread reads, bytes. A longer one counts as absent. */
export const headTextBytesMax = 1_024;
/** Values that one word of a command line may hold once its YAML aliases are resolved: aliases of aliases would double without end. */
export const wordValuesMax = 100_000;
/** Minion id, bytes of UTF-8. A file name on Linux holds 255, and ids are file names in the key directories. */
export const minionIdBytesMax = 255;
/** Name of an environment for which `__env__` stands, bytes of UTF-8. With an extension it must still fit a file name, which Linux bounds at 255. */
export const environmentNameBytesMax = 200;

// # Configuration

/** Files of a configuration that include each other: real ones nest twice. Over it: CONFIG_UNREADABLE. */
export const configIncludeDepthMax = 16;
/** Values to which each alias of one YAML text (configuration, pillar) may expand: aliases of aliases would multiply without end. */
export const configAliasesMax = 100;
/** `hostname -f` at a start, milliseconds: a resolver that does not answer must not delay the start for longer. */
export const hostNameTimeoutMs = 10_000;

// # Unproven requests

/**
 * Frame of a clear request without a valid key, token or password, `ping` among them, bytes: what Salt's tools send unauthenticated has some hundred.
 * Over it: refused. A worker counts it as `refused.clearTooLarge`, the main thread as `saltworks_unproven_refused_total{reason="size"}`.
 */
export const clearFrameBytesMax = 65_536;
/**
 * Requests of strangers that wait for one worker, bytes: 16 of the largest, thousands of `ping`. Over it: refused; strangers'
 * requests never make the master stop reading.
 */
export const strangerQueueBytesMax = 1024 * 1024;
/**
 * Bytes a second of unproven requests that a worker finds forged. Over it unproven requests get half of the queue, large ones an eighth, and huge ones
 * are refused. Proven requests do not count. The main thread counts separately what it refuses unread, with the same bound: over it only huge requests
 * are refused.
 */
export const forgedBytesPerSecondMax = 1024 * 1024;
/** Bound of remembered forged bytes. At most 15 s after a flood, huge requests on new connections are read again. */
export const forgedBytesOwedMax = 16 * 1024 * 1024;
/**
 * Bytes a second of forged large requests that a worker examines, from addresses of one rank: 4 % of its time. Over it the next large unproven request
 * from an address of that rank waits. In a full row the address with the most bytes gives way.
 */
export const largeForgedBytesPerSecondMax = 16 * 1024 * 1024;
/** Bound of remembered forged bytes of large requests. After a flood a large honest request on a new connection waits at most 1 s. */
export const largeForgedBytesOwedMax = 32 * 1024 * 1024;
/** How long an address comes last with large requests after one of them was found forged, milliseconds. */
export const forgerAddressMs = 60_000;
/** Addresses of forged large requests that are remembered, 150 bytes each; beyond it the one whose forgery is oldest is forgotten. */
export const forgerAddressesMax = 16_384;
/** An unproven request beyond this, bytes, is refused while forgeries come: the master does not read it to its end. A smaller one waits. */
export const hugeRequestBytes = 1024 * 1024;
/** A large unproven request waits at most this long behind small ones, milliseconds: it keeps the worker 2.5 ms for each MiB. */
export const largeHoldMsMax = 50;

/** A worker's queue may grow to this multiple of `queue_max_bytes`: reading stops only when the queues of all workers are at their bound. */
export const queueGrowthMax = 2;
/**
 * Shares of a batch that a row keeps while it has requests, so that a long row of proven requests does not starve it. Strangers' requests never take
 * more than their share, because proven requests wait for the end of the batch before them.
 */
export const batchSharesKept = { named: 1 / 4, stranger: 1 / 8 } as const;
/** Shares of `queue_max_bytes` for unproven requests, and for large ones among them, while forgeries come. Over it: refused. */
export const forgedQueueShares = { unproven: 1 / 2, large: 1 / 8 } as const;

// # Request port

/** Parts of one message on the request port: Salt's clients send two, an empty delimiter and the request. Over it the connection is closed. */
export const requestPartsMax = 4;
/**
 * ZMTP commands of one connection to the request port in a minute: a client of ZMTP 3.1 sends only heartbeats, 600 at ten a
 * second. Over it the connection is closed.
 */
export const commandsPerMinuteMax = 1_024;
/** ZMTP commands of a new connection to the request port, so that reconnecting gains a flood nothing. Over it the connection is closed. */
export const commandsAtOnceMax = 64;
/** ZMTP commands that a connection may send in addition to `commandsAtOnceMax`, for each second since it began. */
export const commandsPerSecondMax = 20;
/** One ZMTP command on the request port, bytes: READY names a socket type and an identity, some 60 bytes. Over it the connection is closed. */
export const zmtpCommandBytesMax = 4_096;
/** Largest message body that is assembled in a reused buffer, bytes. A larger one that comes in pieces gets memory of its own. */
export const lentBodyBytesMax = 1024 * 1024;
/** Buffers of message bodies that the main thread keeps for reuse, bytes. The garbage collector takes further ones. */
export const spareBodiesBytesMax = 8 * 1024 * 1024;
/** Largest read from a request connection, bytes. All connections share one buffer of this size. */
export const readChunkBytes = 128 * 1024;
/** Requests of one unproven connection in one turn of the event loop: 64 take some 4 ms. Further ones wait for the next turn. */
export const strangerTurn = { messagesMax: 64, bytesMax: 256 * 1024 } as const;
/** Requests of all unproven connections in one turn of the event loop. */
export const strangersTurnMessagesMax = 256;
/** Requests of one proven connection in one turn of the event loop. */
export const provenTurn = { messagesMax: 256, bytesMax: 1024 * 1024 } as const;
/** A reply of at most this many bytes is copied behind its frame's head: one write of one buffer is cheaper than one of two. */
export const smallReplyBytes = 16 * 1024;
/** The master checks the first bytes of a request part beyond this, bytes, before it reads the rest, unless the connection is proven. */
export const largeRequestBytes = 65_536;
/** How long a connection may take for its greeting, milliseconds. libzmq sends it within a round trip. */
export const greetingTimeoutMs = 15_000;
/** How long a request may take from its first byte to its last, milliseconds. Salt's clients give up after 60 s at most. */
export const messageTimeoutMs = 60_000;
/** How often the request port closes overdue connections, milliseconds. */
export const overdueLookMs = 1_000;
/** Unanswered requests of one proven connection. A REQ socket has one; programs that pipeline, such as a load generator, have some hundred. */
export const provenUnansweredMax = 16_384;
/** Unanswered requests of one unproven connection. */
export const strangerUnansweredMax = 1_024;
/** Unanswered requests of all unproven connections: a fleet of 200,000 that authenticates at once. */
export const strangersUnansweredMax = 200_000;
/**
 * Bytes of requests that all unproven connections hold: unfinished ones, and those read before reading was paused. One request of `request_max_bytes`
 * always fits. Over it the oldest connection is closed.
 */
export const strangersHeldBytesMax = 128 * 1024 * 1024;
/** Bytes of requests that all proven connections hold; two requests of `request_max_bytes` always fit. */
export const provenHeldBytesMax = 384 * 1024 * 1024;
/**
 * Share of `queue_max_bytes`. When every worker's queue has reached it, the master pauses reading from unproven connections. It pauses proven ones
 * only when their requests alone fill `queue_max_bytes`.
 */
export const strangersPauseShare = 1 / 2;
/**
 * Bytes a second of messages that one address may begin and not finish, beyond one of `request_max_bytes`. While an address owes more, its unproven
 * connections may send no part beyond `largeRequestBytes`, and number at most `owingConnectionsMax`. Addresses of proven connections owe nothing.
 */
export const unfinishedBytesPerSecondMax = 1024 * 1024;
/** Bound of remembered unfinished bytes. An address that has stopped owes for at most 16 s. */
export const unfinishedBytesOwedMax = 16 * 1024 * 1024;
/** Unproven connections of an address that owes unfinished bytes: together they hold 4 MiB at most. */
export const owingConnectionsMax = 64;
/** Addresses whose unfinished bytes are remembered, 150 bytes each; beyond it the one charged longest ago is forgotten. */
export const owingAddressesMax = 16_384;
/** Addresses of proven connections that are remembered, 150 bytes each; beyond it the one whose proof is oldest is forgotten. */
export const provenAddressesMax = 65_536;
/** How long an address counts as proven after its last proven connection is gone, milliseconds: minions open a connection for a single return. */
export const provenAddressMs = 3_600_000;
/** Replies that one proven connection has not read, bytes: twice the largest answer of a runner. Over it the connection is closed. */
export const provenUnreadBytesMax = 128 * 1024 * 1024;
/** Replies that one unproven connection has not read, bytes; one reply has 3 KB. */
export const strangerUnreadBytesMax = 1024 * 1024;
/** Replies that all unproven connections have not read, bytes: 3 KB for each of 20,000 minions that authenticate. */
export const strangersUnreadBytesMax = 64 * 1024 * 1024;
/** Replies that all connections have not read, bytes. Over it the connection with the most unread bytes is closed. */
export const allUnreadRepliesBytesMax = 512 * 1024 * 1024;
/** File descriptors left to files, stores and programs. Each port may take half of the rest, since each minion connects to both. */
export const reservedDescriptors = 256;
/** How long a stopping master waits for clients to read their last replies, milliseconds. */
export const replyLingerMs = 1_000;
/** Requests that wait on a REQ socket behind the one under way; a minion's processes share one socket. */
export const requestChannelQueueMax = 1_024;
/** A command's first connection to the request port, milliseconds: it is local, so only a hung machine needs longer. Then MASTER_UNREACHABLE. */
export const requestConnectTimeoutMs = 5_000;
/** The check of one port before the master starts, milliseconds: only a name's resolution takes time. Over it: PORT_UNUSABLE. */
export const portCheckTimeoutMs = 3_000;

// # Publish port

/** A subscription on the publish port, bytes: Salt's minions send none longer than 40. Over it the connection is closed. */
export const subscriptionBytesMax = 64;
/** Subscriptions of one connection: a minion has one, or with `zmq_filtering` two or three. Over it the connection is closed. */
export const subscriptionsMax = 8;
/**
 * Copies of one publish that one subscriber gets when its topics match those of several minions
 * (`zmq_filtering`). Over it further ones are dropped for it.
 */
export const publishCopiesMax = 16;
/**
 * Messages and commands of one subscriber in a minute: it subscribes when it connects, and may then send a heartbeat each
 * second. Over it the connection is closed.
 */
export const subscriberMessagesPerMinuteMax = 1_024;
/** Largest read from a subscriber's connection, bytes, and the most of it that may wait for its turn. All connections share one such buffer. */
export const subscriberReadBytes = 4_096;
/** Publishes that one subscriber has not read, bytes. Over it further ones are dropped for it, as over `pub_hwm`; one always fits. */
export const subscriberUnreadBytesMax = 32 * 1024 * 1024;
/**
 * Publishes that are kept because some subscriber has not read them, bytes, each counted once; two of the largest always fit. Over it connections
 * that have not read the oldest are closed.
 */
export const heldPublishesBytesMax = 256 * 1024 * 1024;
/** Publishes in one write to a subscriber that was behind, bytes. */
export const catchUpBytes = 256 * 1024;
/** Publishes that the publish thread has received and not sent. Beyond it the next one waits on the main thread. */
export const publishesHandedMax = 256;
/** Bytes of the publishes of `publishesHandedMax`; one of any size always fits. */
export const publishesHandedBytesMax = 64 * 1024 * 1024;
/** Least bound of the publish thread's heap, MiB, also where `worker_heap_mb` is less: 50,000 connections with the most subscriptions take 400. */
export const publishHeapMbMin = 1_024;
/**
 * One publish in the publish thread, or its answer to a probe, milliseconds: a publish to 200,000 subscribers takes two seconds.
 * Over it the thread hangs and is replaced.
 */
export const publishThreadTimeoutMs = 60_000;
/** How often the main thread probes the publish thread, milliseconds: minions that connect need the thread also when nothing is published. */
export const publishThreadLookMs = 10_000;
/** How long a hung publish thread may take to end, milliseconds. Over it, it hangs in a system call, and the master ends. */
export const publishThreadEndMs = 10_000;
/** A publish thread that ends sooner than this after its start ends the master, milliseconds: its successor would end too. */
export const publishThreadSettleMs = 10_000;
/** How long a stopping master waits for subscribers to read the last publishes, milliseconds. */
export const publishLingerMs = 1_000;
/** Publishes that wait to be sealed. Over it: QUEUE_FULL to the client. */
export const publishQueueMax = 10_000;
/** Serials that one durable write reserves: a crash skips at most this many, and none is ever used twice. */
export const serialBlockCount = 1_024;

// # Event bus

/** Tag of a minion's event, bytes: Salt's own stay under 400. */
export const minionEventTagBytesMax = 1_024;
/** Events in one request of a minion, each fired again with its `pretag`; beacons fire some tens a second. Further ones are dropped and counted. */
export const minionEventsMax = 1_000;
/** Bytes of events that one request of a minion fires; twice `max_event_size` if that is more. Further ones are dropped and counted. */
export const minionEventBytesMax = 4 * 1024 * 1024;
/** One event frame on the IPC bus, bytes: the largest event plus its envelope. */
export const ipcFrameBytesMax = 128 * 1024 * 1024;
/** Bytes of one event frame on the IPC bus besides its body: Salt sends an empty head. */
export const ipcHeadBytesMax = 65_536;
/** Connections to one socket of the event bus: each is a process on this machine. Over it, new ones are closed. */
export const ipcConnectionsMax = 4_096;
/** Connecting to the event bus or firing into it, milliseconds: it is local, so only a hung process needs longer. */
export const ipcConnectTimeoutMs = 5_000;
/** How long a closing bus waits for subscribers to read their queued events, milliseconds. */
export const ipcCloseGraceMs = 500;
/** Path of a Unix socket, bytes: what `sockaddr_un` holds on Linux. */
export const socketPathBytesMax = 107;

// # Keys and authentication

/** Public key PEM text, bytes: a 16,384-bit RSA key needs 2,900. */
export const publicKeyBytesMax = 8_192;
/** Grains in one `_auth` for `autosign_grains_dir`: operators name a few. With more, none of them counts. */
export const autosignGrainsMax = 256;
/** Smallest RSA modulus accepted from a minion, bits. Salt refuses to make smaller ones. */
export const rsaModulusBitsMin = 1_024;
/** Largest RSA modulus accepted, bits: OpenSSL's own limit, above which one verification takes seconds. */
export const rsaModulusBitsMax = 16_384;
/** How often pending keys are recounted while they are at their bound, milliseconds: listing 20,000 takes 10. */
export const keyRecountMs = 1_000;
/** How long key-file changes are gathered, milliseconds, so that one command causes one rotation. */
export const keyChangeSettleMs = 200;
/** How often the key directory is listed again, milliseconds, in case the kernel lost an event. */
export const keyRescanMs = 10_000;
/** Key files whose size and time are read again every `keyRescanMs`, in turn: 1,000 take 2 ms. */
export const keyRescanFilesMax = 1_000;
/** How long a mark that keeps a deleted minion's data is valid, milliseconds: a running master sees the deletion within a second or two. */
export const keepMarkMs = 60_000;
/** Requests that wait for a slow lane (RSA, runners). Over it: refused, with an answer. */
export const laneQueueMax = 20_000;
/** Frame of an `_auth`, bytes: key, token and grains take 4,000. Over it: refused unread, since the sender has proved nothing yet. */
export const authFrameBytesMax = 65_536;
/** Authentications that wait, bytes: `auth_queue_max` of Salt's own size take 26 MB. Over it: the oldest are dropped, strangers' before others'. */
export const authQueueBytesMax = 64 * 1024 * 1024;
/** Authentications that a worker and then the RSA lane take at once. 16 make a thread hop cheap, and delay a publish's signature by 6 to 11 ms. */
export const authsPerBatchMax = 16;
/**
 * Places in `authsPerBatchMax` that strangers get while ids with a key wait: new minions are served during a storm, and a flood of made-up ids gets
 * no more.
 */
export const strangerAuthsPerBatch = 4;
/** Minions' public keys that an RSA thread keeps imported, 3.4 KB each. In a larger fleet others are imported at each use, in 20 µs. */
export const laneKeysMax = 1_024;
/** While returns wait, a worker gets authentications once in this time, milliseconds: 16 of them take it half a millisecond. */
export const authHoldMsMax = 50;

// # Presence

/** Silent minions that one round pings: a publish carries their ids, and their returns cost work. Others follow in later rounds. */
export const presencePingsMax = 2_000;
/** Rounds of pings in one `presence_timeout`. */
export const presenceRounds = 6;
/** Largest age of the count of connected minions, milliseconds: `max_minions` asks for it at every authentication, also in a storm. */
export const connectedCountAgeMsMax = 250;

// # Threads

/**
 * One task in a worker thread, milliseconds. Over it: the worker is replaced and its batches are tried once more. A batch takes some 10 ms, a stall
 * of the disk seconds. A minion waits 5 to 10 s for a return's answer, three times, so that the second try is in time.
 */
export const workerTaskTimeoutMs = 10_000;
/**
 * First task of a thread, milliseconds: it includes loading code and opening stores, which is slow on a machine under load. A worker without a thread
 * for this long ends the master.
 */
export const workerStartTimeoutMs = 60_000;
/** A lane's thread that need not stay ends after this time without work, milliseconds: it holds some 15 MB. */
export const idleThreadMs = 20_000;
/** How often ciphers unused since the last look are let go, milliseconds: they take 2 KB a minion and are made again in 3 µs. */
export const idleCiphersMs = 15_000;
/** How often a thread checks whether it is idle, milliseconds. Once idle it collects the garbage of its last burst. */
export const idleLookMs = 5_000;
/** Heap for young objects of a worker or runner thread, MiB: V8's default of 48 stays resident once used, and a batch makes little garbage. */
export const workerYoungHeapMb = 12;
/** Between two full collections a thread's heap may grow by this share of what lives, percent. docs/decisions/0029-heap-growth.md */
export const heapGrowthPercent = 300;
/** Heap for young objects of an RSA thread, MiB: it makes almost no garbage. */
export const laneYoungHeapMb = 6;
/** Old heap of an RSA thread, MiB: it holds some keys. */
export const laneOldHeapMb = 256;
/** One RSA task, milliseconds: a private operation takes 0.3 ms, so this only catches a hung thread. */
export const laneTaskTimeoutMs = 60_000;
/** How often a shared lane thread counts a turn of its event loop, and how often the main thread reads that count, milliseconds. */
export const laneTurnMs = 10_000;
/**
 * Looks in a row at an unchanged count of turns, after which the thread hangs: it is ended, and its tasks fail. Five minutes, because a runner may
 * read 100,000 files of Salt's in one turn.
 */
export const laneStillLooksMax = 30;
/**
 * Threads of a shared lane that were replaced and have not ended: one that hangs in a system call ends only after the call. Over it the lane keeps
 * its thread, so that a file system that hangs does not cost a thread a minute.
 */
export const threadsEndingMax = 2;
/** Time that a master after TERM gives to requests under way before it closes its sockets, milliseconds. */
export const drainDeadlineMs = 10_000;

// # Jobs

/** Jobs that the tracker follows at once; beyond it the tracker stops following the oldest. */
export const trackedJobsMax = 10_000;
/** Jobs whose minions' states the master keeps in memory; the oldest job without a follower goes first. */
export const jobRecordsMax = 20_000;
/** Rounds of a job in which publishing find_job may fail (a full disk, too many publishes) before its minions count as silent. */
export const unaskedRoundsMax = 5;
/** Minions of all jobs in `jobRecordsMax`, ten bytes for each minion of each job; beyond it the oldest jobs go first. */
export const trackedMinionsMax = 2_000_000;
/** How long the states of a job's minions are kept, milliseconds; later only the job cache has them. */
export const jobRecordKeptMs = 3_600_000;
/** Minions of one job that `jobs.status` and `jobs.pending` name by default: more would fill the terminal. */
export const listedMinionsMax = 1_000;
/** Jobs with `nocache` that a worker remembers; it would store the returns of earlier ones. Such jobs are over within minutes. */
export const noCacheJobsMax = 10_000;
/**
 * Functions, target names or metadata pairs of one job in the job cache's index. For a job with more a search reads its load, so that a target that
 * lists a whole fleet costs no entry for each name.
 */
export const indexedTextsMax = 64;
/**
 * How long jobs and tokens are not removed for their age after the wall clock was set forward, milliseconds: time for an operator to see the warning,
 * or for the clock to be set back.
 */
export const clockTrustMs = 3_600_000;

// # Jobs for absent minions

/** Jobs that wait for absent minions. Over it: QUEUE_FULL to the client. Each minion that comes back is looked up in every such job. */
export const pendingJobsMax = 1_000;
/** Minions of all jobs in `pendingJobsMax`, some 100 bytes in memory and on disk for each minion of each job. Over it: QUEUE_FULL to the client. */
export const pendingMinionsMax = 1_000_000;
/** Longest time that a job may wait for minions, seconds: a month. Later it is unlikely that the operator still wants it. */
export const deliverWithinSecondsMax = 30 * 86_400;
/** How often a job is sent to one minion that came back and does not return; further tries would not help. */
export const deliveryTriesMax = 10;
/** How often a minion that came back is asked by find_job whether it runs a job, until it answers. */
export const deliveryAsksMax = 3;
/** Returned minions that one find_job asks: their ids make one publish of some 20 KB. */
export const deliveryBatchMax = 500;
/** Minions that one look for returned minions examines: it takes some milliseconds. The next look takes up the others. */
export const deliveryScannedMax = 20_000;
/** Minions of a kept job that are compared with the job cache at once after a start. */
export const deliveryReconciledMax = 1_000;
/** Longest delay before minions are asked again after a fault of the master, milliseconds. */
export const deliveryFaultDelayMsMax = 60_000;
/** Publishes a second for minions that came back: each goes to the whole fleet, as all publishes do. */
export const deliveryPublishesPerSecondMax = 50;
/** Rounds of delivery (find_job, then the job) under way at once, each for up to `gather_job_timeout`. */
export const deliveryRoundsMax = 64;

// # Batch jobs

/** Batch jobs that run at once in the master; each holds its minions' ids and an open file. Over it: QUEUE_FULL. */
export const batchesRunningMax = 64;
/**
 * Steps of one batch job under way at once: each is a job that the tracker follows. Over it the next step waits until one is over, and takes all
 * slots that are free by then.
 */
export const batchStepsMax = 128;
/** Returns of a batch job within this time start one next step, milliseconds, instead of one publish for each. */
export const batchGatherMs = 50;
/** Logs of finished batch jobs that are kept; the oldest go first. Logs older than `keep_jobs_seconds` go, too. */
export const batchLogsMax = 1_000;
/** One line of a batch job's log, bytes: the ids of 200,000 minions. */
export const batchEntryBytesMax = 16 * 1024 * 1024;
/** One page for a follower of a batch job, bytes: of the log, and of the returns that belong to it. */
export const batchPageBytes = { log: 256 * 1024, returns: 8 * 1024 * 1024 } as const;
/** How often a follower of a batch job reads its log while the event bus is silent, milliseconds: it shows a master that crashed. */
export const batchLookMs = 5_000;
/** Return bodies that a follower of a batch job holds until they are shown, bytes; it fetches further ones from the store. */
export const batchFeedBytesMax = 64 * 1024 * 1024;
/** Pings to minions of unfinished batch jobs after a restart: how many, and how long each, milliseconds. Stock minions reconnect within 10 s. */
export const batchReconnect = { rounds: 5, roundMs: 3_000 } as const;
/**
 * Waits of a batch job before it sends again a step that the master failed to publish, milliseconds. After the last it stops, and
 * the next start of the master resumes it.
 */
export const batchSendWaitsMs: readonly number[] = [1_000, 2_000, 4_000, 8_000, 16_000];
/** How long a minion that did not answer a batch job's ping may still join it, milliseconds. */
export const batchLateMs = 86_400_000;

// # Stores

/** Wait for a store's last writes when it closes, milliseconds. Over it the disk has failed. */
export const storeCloseTimeoutMs = 5_000;
/** Steps in which an LMDB data file grows ahead of its last page, bytes: each costs a write, and other programs cannot use the space ahead. */
export const lmdbRoomStepBytes = 1024 * 1024;
/** Records that one step of a trim removes: it is one transaction of some milliseconds, so that it hardly delays returns. */
export const trimmedPerStepMax = 200;
/** Damaged returns that a reader reports one by one; `saltworks check-store` reports all. */
export const damagedNotesMax = 1_000;
/** Faults of one file that are reported one by one; a damaged disk has thousands. */
export const walkedFaultsMax = 20;
/** Returns of a job in one page from the store. A job with more takes several pages. */
export const returnsPerPage = 4_096;
/** Bodies of the returns on one page, bytes. The page ends with the return that reaches it, so that a page exceeds it by at most one return. */
export const returnPageBytesMax = 16 * 1024 * 1024;
/** A worker's log of returns, bytes: holds `returnsPerTransaction` returns of a block each. The file is written in full when it is made. */
export const returnLogBytes = 4 * 1024 * 1024;
/** Returns in one transaction from a worker's log into the job cache: it blocks the worker for some 3 ms. Twice as many save 0.3 µs a return. */
export const returnsPerTransaction = 1_024;
/**
 * How long returns wait in a worker's log at most, milliseconds, while they are fewer than `returnsPerTransaction`: a transaction for each small
 * batch would cost more than the log saves.
 */
export const returnTransactionDelayMs = 1_000;
/** Returns that a worker remembers to recognise duplicates, some 100 bytes each; beyond it the store is asked, about 1 µs each. */
export const knownReturnsMax = 50_000;

// # Salt's own files

/** One file of Salt's that a takeover reads, bytes: grains and pillar of one minion, or a job's load. Over it: named in the log and left out. */
export const saltFileBytesMax = 128 * 1024 * 1024;
/** Minions whose files a takeover reads before it stores them: bounds its memory. */
export const takeOverAtOnce = 64;
/** How often a takeover reports its progress, milliseconds. */
export const takeOverProgressMs = 2_000;
/** How often a master writes the mark that it is alive, for the next takeover, milliseconds. */
export const aliveMarkEveryMs = 2_000;
/** How long after its last mark a killed master may still have written a file, milliseconds. Salt's master needs longer to start. */
export const aliveMarkMarginMs = 3_000;
/** A job id in a takeover from Salt, bytes: together with a minion's id it is a key of our store. Over it: named in the log and left out. */
export const takenJidBytesMax = 1_024;
/** How often a running master looks for jobs copied into Salt's job directory, milliseconds: a look calls stat on each job directory. */
export const saltJobsLookEveryMs = 600_000;
/** The longest wait before the takeover of Salt's jobs is tried again, milliseconds: the first is `saltMirrorRetryMs`, each next is twice as long. */
export const saltTakeJobsRetryMsMax = 60_000;
/** Longest stay of a return in a worker's log while Salt's files are kept current, milliseconds: it appears in them within a second. */
export const saltReturnDelayMs = 500;
/** How often the salt lane looks for returns to write into Salt's files, milliseconds. */
export const saltMirrorEveryMs = 200;
/** One step of the salt lane, milliseconds: bounds what must be repeated after its thread dies. */
export const saltMirrorStepMs = 100;
/** How long the salt lane waits after a failed write, milliseconds. */
export const saltMirrorRetryMs = 2_000;
/** Returns that the salt lane takes from the queue at once. */
export const saltMirrorAtOnce = 256;
/** Returns that wait to be written into Salt's files, 100 bytes each. Over it the oldest are left out there and counted: our store has them. */
export const saltReturnsWaitingMax = 1_000_000;
/** Time that a stopping master gives to writing Salt's files, milliseconds; the next start writes the rest. */
export const saltMirrorStopMs = 20_000;

// Databases

/** Entries of a file's feed that wait for the database, 60 bytes each. Over it the oldest stay, and later jobs are added when those have left. */
export const feedEntriesMax = 10_000_000;
/** Rows in one transaction of the database: more cost no less each, and would be lost together. */
export const databaseRowsMax = 512;
/** One statement of the database, milliseconds. Over it the connection is closed and the transaction tried again. */
export const databaseStatementMs = 15_000;
/** Connecting to the database, milliseconds. */
export const databaseConnectMs = 5_000;
/** The longest wait after a failure of the database, milliseconds. */
export const databaseRetryMsMax = 30_000;
/** Time that a stopping master gives to copying what waits, milliseconds; the next start copies the rest. */
export const databaseStopMs = 3_000;

// # Runners and wheel functions

/** Answer of a runner or wheel function, bytes: caller and master each decode all of it. Over it: the call fails with FUNCTION_FAILED. */
export const runnerAnswerBytesMax = 64 * 1024 * 1024;
/**
 * Bodies of the returns that a call holds for its answer, bytes: twice an answer, because the answer omits parts of them. Over it: the call fails
 * with FUNCTION_FAILED and a message.
 */
export const heldReturnsBytesMax = 2 * runnerAnswerBytesMax;
/**
 * Result of a runner or wheel call in its last event, bytes: a subscriber's queue (`event_subscriber_max_bytes`) has room for some. Over it the event
 * shows VALUE_TRIMMED; our own clients get the whole result, Salt's clients must ask for less at a time.
 */
export const runnerEventBytesMax = 16 * 1024 * 1024;
/** Result of a runner call in the job cache, bytes. A larger one is left out of it: lists of jobs would fill the cache with themselves. */
export const storedResultBytesMax = 1024 * 1024;
/** A file that wheel functions of `file_roots` and `pillar_roots` read, bytes. A larger one is refused: it must fit memory and one reply. */
export const rootsFileBytesMax = 16 * 1024 * 1024;
/** Files and directories of an environment in one list of the wheel functions of `file_roots` and `pillar_roots`. Over it the call fails. */
export const rootsFilesListedMax = 100_000;
/** Loads of the jobs in one answer of `jobs.list_jobs`, bytes. Over it the list is cut and says so. */
export const listedBytesMax = 32 * 1024 * 1024;
/**
 * Loads of the jobs in an answer of `jobs.list_jobs` that the caller takes from an event (salt-api's `GET /jobs`), bytes: the rest of
 * `runnerEventBytesMax` is for the event's other fields. Over it the list is cut, and the log says so.
 */
export const listedInEventBytesMax = 15 * 1024 * 1024;
/** Values in one answer of `jobs.list_jobs`: the bound of one decoding, less the answer's other fields. Over it the list is cut and says so. */
export const listedValuesMax = 1_500_000;
/** Runner and wheel calls under way at once. Most of them only wait for minions; others wait for their turn. */
export const runnersAtOnceMax = 64;
/** One runner or wheel call in its thread, milliseconds: it waits for minions as long as its caller asked, so that this only ends calls that hang. */
export const runnerTaskTimeoutMs = 24 * 3_600_000;
/** A runner that a client waits for, milliseconds: some orchestrations take hours, and the event bus shows a master that dies. */
export const runnerReplyTimeoutMs = 86_400_000;
/** One wheel call, milliseconds: it reads or changes the master's own data. */
export const wheelReplyTimeoutMs = 60_000;
/**
 * Pairs of equal lines that a comparison of two texts (`survey.diff`, `file.replace`) examines, half a second. Beyond it the comparison shows one
 * difference from the first differing line to the last.
 */
export const diffStepsMax = 5_000_000;

// # Targets

/** A target expression, bytes of UTF-8: a list that names a fleet of 100,000 by ids of 40 characters. */
export const targetExpressionBytesMax = 4 * 1024 * 1024;
/** One glob, regular expression or `key:value` term, characters: ids have at most 255, so a longer one has no use. */
export const targetPatternLengthMax = 16_384;
/** Terms of one compound target; each term is evaluated once per minion. */
export const targetTermsMax = 10_000;
/** Nesting of a compound's parentheses, of a regular expression's groups, and parts of `key:key:value`. */
export const targetDepthMax = 64;
/** Steps of one regular expression with its counted repeats expanded: at worst it takes 0.4 s to compile and 0.3 s to try on an id. */
export const patternStepsMax = 20_000;
/** Steps of all regular expressions of one target: 5,000 terms of 20 take 1 s to compile. */
export const targetPatternStepsMax = 100_000;
/** Largest counted repeat of a regular expression, `x{1000}`: the bound of the linear-time engine. */
export const patternRepeatMax = 1_000;
/** Readings of one `key:key:value` expression that the index follows, wildcards included. Over it each minion is evaluated in turn. */
export const targetReadingsMax = 256;
/** Pairs of minion and value of one grain path in one worker's index, about 12 bytes each and the texts. Over it each minion is evaluated. */
export const targetPathEntriesMax = 2_000_000;
/** Grain and pillar paths that a worker keeps indexed; each refresh reads all of them. The path used longest ago goes first. */
export const targetPathsMax = 128;
/** Estimated bytes of all path indexes of one worker: for 50,000 minions 8 MB for a grain that differs on each, 0.5 MB for others. */
export const targetIndexBytesMax = 96 * 1024 * 1024;
/** One pass over all minions indexes at most this many paths of one target. */
export const targetPathsTogetherMax = 64;
/** Verdicts that the index keeps for each path, a bitmap each; the one used longest ago is removed, and made anew when needed. */
export const textVerdictsMax = 64;
/** Sets of minions that the index keeps for each path besides its verdicts, a bitmap each. */
export const gatheredVerdictsMax = 16;
/** How long a worker matches targets or builds their index before it looks for batches again, milliseconds: a return waits no longer than that. */
export const matchSliceMs = 2;
/** Minions, unknown names and terms of each sort that an explained target shows; the rest are only counted. */
export const explainedMax = 50;
/**
 * CPU time of one target in one worker, milliseconds. A first use reads every minion's grains, 1 s for 50,000. A target that takes longer is refused,
 * before its client gives up.
 */
export const matchCpuMsMax = 10_000;
/** Parsed targets that a thread remembers: a compiled regular expression holds at most some 100 KB. */
export const parsedTargetsMax = 128;
/** Longest target that is remembered in parsed form, characters: longer ones are lists, which are cheap to parse. */
export const parsedTargetLengthMax = 4_096;
/** Packed lists of matched minions that a worker keeps, bytes: eight of 50,000 ids. */
export const keptListsBytesMax = 12 * 1024 * 1024;
/** Targets that one worker works on at once. Over it: QUEUE_FULL. */
export const matchesPendingMax = 64;
/** How long an answer waits for its client to fetch it, milliseconds. */
export const matchKeptMs = 10_000;
/** How long a publish waits for its expected minions, milliseconds: workers that are busy with batches index slowly. */
export const matchWaitMsMax = 120_000;
/** Waits of the main thread before it asks again for a target's answer, milliseconds: first and longest. */
export const matchPollMs = { first: 1, longest: 20 } as const;

// # Pillars and templates

/** Text that one pillar template may render to, bytes: far above any real one; it stops a loop that multiplies its text. */
export const pillarTextBytesMax = 16 * 1024 * 1024;
/** One pillar file, bytes: it is read whole and kept in memory. */
export const pillarFileBytesMax = 4 * 1024 * 1024;
/** Pillar files kept in memory by one rendering thread, with their parsed templates; the one used longest ago goes first. */
export const pillarFilesMax = 4_096;
/** Nesting of directories below a root of pillars: stops symlinks that lead in circles. */
export const pillarDirectoryDepthMax = 32;
/** Nesting of macro calls, includes and imports: stops a template that includes itself. */
export const templateDepthMax = 48;
/** Calls of functions in one rendered command: each starts the rendering again, so that the time grows with the square of their number. */
export const templateCallsMax = 200;
/** Elements of one `range()`: what Jinja's own sandbox allows. */
export const templateRangeMax = 100_000;
/** Width to which a template's filter or method pads a text, characters. */
export const templateWidthMax = 1_000_000;
/** Bits of the result of a template's `**`: a larger one takes seconds. */
export const templatePowerBitsMax = 65_536;
/** Width or precision in a format (`%10s`, `{:10}`): Python is bounded only by its memory. */
export const formatWidthMax = 100_000;
/** SLS files of one pillar, each include counted: real pillars have some hundred. */
export const pillarSlsMax = 10_000;
/** A minion's request for its pillar that has waited this long is no longer rendered, milliseconds: the minion asks three times for 60 s each. */
export const pillarWaitMs = 180_000;
/** Different pillar requests of one minion that wait; a further one is refused. A minion asks once at its start, and once in each state run. */
export const pillarsWaitingOfMinionMax = 4;
/** Pillars of one minion that render at once, so that slow ones leave places to other minions. */
export const pillarsUnderWayOfMinionMax = 2;
/** Output of one external source of pillar (`ext_pillar`), bytes: a command's output, or all files of a tree. Over it: an error in the pillar. */
export const extPillarBytesMax = 16 * 1024 * 1024;
/** Characters of an `ext_pillar` command's stderr that go to the master's log. */
export const extPillarComplaintMax = 300;
/** Files and directories below one directory of the external pillar `file_tree`. */
export const fileTreeEntriesMax = 20_000;
/** Nesting of directories in the external pillar `file_tree`: stops symlinks that lead in circles. */
export const fileTreeDepthMax = 32;
/** Sources in one pillar request of a minion (`pillar.ext`): usually one. */
export const onDemandSourcesMax = 16;
/** Environments of one minion whose pillars `pillar_cache` keeps: the minion chooses their names. The pillar kept longest goes first. */
export const pillarCacheEnvironmentsMax = 16;
/** One minion's file in `cachedir/pillar_cache`, bytes. A larger pillar is not kept. */
export const pillarCacheFileBytesMax = 32 * 1024 * 1024;
/** All pillars that `pillar_cache_backend: memory` keeps, bytes; the pillar kept longest goes first. */
export const pillarCacheMemoryBytesMax = 256 * 1024 * 1024;
/** Counts of forgotten pillars: a rendering is not kept if its minion's count rose meanwhile. With more counts fewer minions share one. */
export const forgetCountsMax = 65_536;

// # Files

/** Files and directories of one environment: a list of 1,000,000 takes 60 MB. Over it: FILES_FAILED. */
export const listedFilesMax = 1_000_000;
/** Environments whose file lists a thread keeps in memory; others are read from the cache directory. */
export const fileListsKeptMax = 16;
/** Hashes of files that a thread keeps, 200 bytes each. The hash used longest ago goes first. */
export const fileHashesMax = 65_536;
/** Age from which a file's times count as exact, milliseconds: file systems round them to as much as two seconds. */
export const fileTimesSettledMs = 2_000;
/** File requests under way at once: enough to keep a disk busy. */
export const fileRequestsMax = 32;
/** File requests that wait, some 500 bytes each without the data of `cp.push`. Over it: QUEUE_FULL. */
export const fileRequestsWaitingMax = 20_000;
/** Data in all waiting file requests, bytes: pieces of `cp.push`. Over it: QUEUE_FULL. */
export const fileRequestsWaitingBytesMax = 128 * 1024 * 1024;
/** A file request that has waited this long is no longer answered, milliseconds: its minion asks again after 60 s. */
export const fileWaitMs = 55_000;
/** One file request in its thread, milliseconds: time to hash 20 GB. A hash that takes longer is kept for the minion's next try. */
export const fileTaskTimeoutMs = 55_000;
/**
 * How long overdue file requests may hold all places of their thread while others wait, milliseconds: a hash of 100 GB is then ready for all minions
 * that ask for it. Over it: the thread is replaced.
 */
export const fileOverdueGraceMs = 300_000;
/** File answers on their way to minions, bytes: ZeroMQ holds them until their connections have taken them. */
export const fileBytesOnTheirWayMax = 256 * 1024 * 1024;
/** A file answer counts as delivered when its connection asks again, at the latest after this time, milliseconds: 1 MiB over 4 Mbit/s. */
export const fileDeliveryMs = 2_000;
/** One piece of a file that a master sends compressed, bytes decompressed: the largest `file_buffer_size`. */
export const filePieceBytesMax = 64 * 1024 * 1024;
/** Minions for which the number and size of their pushed files are cached. Other minions' files are counted at the next push. */
export const pushedUsagesMax = 1_000;
/** How often a minion's pushed files are recounted while they are at their bound, milliseconds: an operator may have removed some. */
export const pushedRecountMs = 5_000;
/** How often all minions' pushed files are recounted while at their bound, milliseconds; less often if a count takes over a tenth of it. */
export const pushedTotalRecountMs = 30_000;
/** Least time between two counts of all pushed files, as a multiple of the last count's duration. */
export const pushedRecountRest = 10;
/** How long a push waits for a count of all pushed files, milliseconds: 1,000,000 files take some 20 s. Over it the push is refused and counted. */
export const pushedCountWaitMs = 5_000;
/** Pushes of all minions that wait for a count: each takes one of the `fileRequestsMax` places. Over it a push is refused and counted. */
export const pushesWaitingMax = 4;

// # Mines

/** Functions in one mine request; a minion's mine has a dozen. */
export const mineFunctionsMax = 1_000;
/** One mine answer, bytes: the mines of 16,000 minions with 2 KiB each. The master holds a few answers at once. */
export const mineAnswerBytesMax = 32 * 1024 * 1024;
/** Mine answers under construction at once: more would not be faster, and each takes memory. */
export const mineReadsMax = 4;
/** Mine requests that wait, some 500 bytes each. */
export const mineReadsWaitingMax = 20_000;
/** A mine request that has waited this long is no longer answered, milliseconds: its minion asks again after 60 s. */
export const mineWaitMs = 60_000;
/** Time that reading mines may keep a worker from its batches, milliseconds; one batch takes some 10. */
export const mineSliceMs = 2;
/** Mines that one slice gathers, bytes. */
export const mineSliceBytes = 256 * 1024;
/** Ids that a worker gets for one slice, bytes: a few hundred ids, as many as it reads in 2 ms. */
export const mineWindowBytes = 4_096;

// # Publishes and runner calls of minions

/** Arguments of a minion's publish or runner call, bytes: a worker reads them as YAML between other requests. Over it: refused. */
export const peerArgumentBytesMax = 64 * 1024;
/** Name of a function or returner in a minion's publish or runner call, characters. Over it: refused. */
export const peerNameLengthMax = 256;
/** Minions' requests for publishes, runners and returns under way at once, a few kB each. Over it the minion gets a sentence as its answer. */
export const peerRequestsMax = 1_000;
/** Runner calls of minions that run at once: half of all, so that operators' calls find room. Over it the minion gets a sentence as its answer. */
export const peerRunsMax = 32;
/** How long `minion_publish` waits for returns at most, milliseconds: its minion asks again after 60 s. */
export const peerWaitMsMax = 55_000;
/** How often refused publishes and runner calls of minions are written to the log, milliseconds; those between are counted. */
export const peerRefusalLogMs = 1_000;

// # Credentials and tokens

/** Checks of external authentication under way at once. A failed login occupies its place for one second, which also limits guesses per second. */
export const credentialChecksMax = 32;
/** Checks of credentials that wait, by address and user in turn. Over it: one of the address with the most is refused unchecked. */
export const credentialChecksWaitingMax = 256;
/** One check of credentials, milliseconds: a web service or a login rule that takes longer counts as a refusal. */
export const credentialCheckTimeoutMs = 30_000;
/** How long a refusal of credentials takes, milliseconds, at random: as long for a wrong name as for a wrong password. */
export const refusedCredentialMs = { min: 750, max: 1_250 } as const;
/** Name, password or token in a request, bytes: any host on the network may send one. */
export const credentialTextBytesMax = 4_096;
/**
 * A request with a password, bytes: it is held until the password is checked, and lists of 10,000 targets take 200,000. Over it: refused, also by the
 * main thread. A token is looked up at once.
 */
export const credentialLoadBytesMax = 256 * 1024;
/** A file of users and passwords, bytes: it is read at each check. */
export const credentialFileBytesMax = 16 * 1024 * 1024;
/** Rounds of a password's hash: a million take a second. A hash with more is not checked. */
export const cryptRoundsMax = 1_000_000;
/** A web service's answer about a user's credentials, milliseconds. */
export const restTimeoutMs = 20_000;
/** Answer of a web service about a user's credentials, bytes: a list of permissions. */
export const restAnswerBytesMax = 1024 * 1024;
/** PAM's check of one user, milliseconds: some of its rules wait two seconds after a wrong password. */
export const pamTimeoutMs = 20_000;
/** Output of the program that asks PAM, characters: a user's groups. */
export const pamOutputBytesMax = 65_536;
/** Tokens that are kept. Over it: none are made until some have expired. */
export const tokensMax = 100_000;
/** File of one token, bytes: names and, with `keep_acl_in_token`, permissions. */
export const tokenFileBytesMax = 4 * 1024 * 1024;
/** Compiled patterns of permissions that are remembered; over it all of them are forgotten. */
export const permissionPatternsMax = 1_000;
/** Local users who may have a key by `publisher_acl`. */
export const localKeysMax = 10_000;

// # Commands and clients

/** Events about jobs that a client keeps until it knows its job's id; the oldest go first, and the client fetches them from the store. */
export const earlyEventsMax = 10_000;
/** Return bodies that a client holds until they are shown, bytes; it fetches further ones from the store. */
export const jobFeedBytesMax = 64 * 1024 * 1024;
/** How long a client without events of its job waits before it asks the master for its end, milliseconds: the last event may have been lost. */
export const jobLookMs = 10_000;
/** Sockets of one client to the master's request port, and so its requests under way at once. */
export const clientChannelsMax = 64;
/**
 * How long a client that has a runner's result waits for the runner's earlier progress events, milliseconds. Result and events come by different
 * channels, and a new subscriber waits for the master to learn how it reads, on a busy machine for seconds.
 */
export const runnerTellingWaitMs = 15_000;
/** Events that wait for the terminal of `state.event`, bytes; beyond it the oldest are left out. */
export const watchedEventsBytesMax = 64 * 1024 * 1024;
/** How often `state.event` tries to reach a master that went away, milliseconds. */
export const watchReconnectMs = 1_000;
/** Whole files in one job, bytes: the master and each minion hold them in memory several times over. Larger ones go in pieces. */
export const copiedFilesBytesMax = 16 * 1024 * 1024;
/** Files and directories of one copy: each is at least one job. Also stops symlinks to a parent directory. */
export const copiedFilesMax = 10_000;
/** Candidates for one word that a shell gets: operators do not read more, and a shell takes a second for 10,000. */
export const completionCandidatesMax = 2_000;

// # Minions

/** Output of a `cmd.*` command that is kept, bytes of stdout and of stderr: both fit a request of 100 MiB. The rest is dropped, and it says so. */
export const commandOutputBytesMax = 40 * 1024 * 1024;
/** Files that one `file.find` names: a longer answer would not be of use, and would not fit a return. */
export const foundFilesMax = 100_000;
/** A system program that gives facts (`ip`, `getent`, `df`), milliseconds: it is local, so only a hung one needs longer. */
export const probeTimeoutMs = 10_000;
/** Output of a system program that gives facts, bytes: `ps` of a large machine prints some megabytes. */
export const probeOutputBytesMax = 32 * 1024 * 1024;
/** One compressed piece of a copied file, bytes decompressed on a minion: `salt_cp_chunk_size` is 98,304 by default. */
export const copiedChunkBytesMax = 64 * 1024 * 1024;
/** A script that a minion fetches from its master and runs, bytes: it is held in memory. */
export const masterFileBytesMax = 64 * 1024 * 1024;
/** A web server's whole answer to a minion's `cp.get_url`, milliseconds. */
export const urlWaitMs = 600_000;
/** Jobs that wait on a minion for a process: `process_count_max` run, or one is starting. Over it: refused, with a return that says so. */
export const minionJobQueueMax = 10_000;
/** Job processes that a minion starts at once: a start costs a tenth of a second of CPU, and a burst of quick jobs needs few. */
export const jobProcessStartsMax = 4;
/** Idle job processes that a minion keeps for the next job. */
export const jobProcessesIdleMax = 1;
/** Failed starts of job processes in a row after which waiting jobs are answered with an error. */
export const jobProcessStartTriesMax = 3;
/** How long a stopping minion waits for its job processes to end after TERM, milliseconds. */
export const jobProcessEndMs = 2_000;
/** Returns that wait on a minion for its master; over it the newest is lost, with a log line, as after all retries. */
export const minionReturnQueueMax = 1_024;
/** Bytes of those returns: a master that is down for minutes must not fill a minion's memory. */
export const minionReturnQueueBytesMax = 256 * 1024 * 1024;
/** How long one returner may take for one return, milliseconds. Over it: a failure of this returner, and the next one begins. */
export const returnerTimeoutMs = 30_000;
/** How long a returner waits for a connection, milliseconds: it fails, and says why, before `returnerTimeoutMs` ends it. */
export const returnerConnectMs = 10_000;
/** Answer of a service to a returner, bytes: services answer a return with a line, or with an error of a few kB. Over it: a failure. */
export const returnerAnswerBytesMax = 1024 * 1024;
/** Scheduled jobs of a minion that run or wait at once; one more is skipped. `maxrunning` bounds each alone; `jid_include: False` lifts that. */
export const scheduledJobsRunningMax = 100;
/** How often a minion looks at its schedule when no job is due sooner, milliseconds: it then notices a clock that was set, or a sleep. */
export const scheduleLookMs = 60_000;
/** How late a job with an appointed time (`when`, `once`) still runs, milliseconds: a busy machine's delay, not a suspended machine's. */
export const scheduleLateMs = 10_000;
/** A clock set back by more than this, milliseconds, makes scheduled jobs run again at times of day at which they already ran, as with cron. */
export const scheduleCorrectionMsMax = 3 * 3_600_000;
/** How long a function of `schedule` waits for the minion's scheduler, milliseconds: as long as Salt's. */
export const scheduleAnswerMs = 30_000;
/** Shortest and longest wait of a minion with a rejected key before it ends, seconds: a service manager restarts it at once. */
export const rejectedExitDelaySeconds = { min: 10, max: 20 } as const;

// # Metrics

/** How long a scrape waits for a busy worker, milliseconds; then it shows the worker's last values. A batch takes some 10. */
export const metricsWorkerTimeoutMs = 500;
/** Connections to the metrics endpoint: a few Prometheus servers and an operator. */
export const metricsConnectionsMax = 16;
/** Header of a request for metrics, bytes: the master reads nothing from it. */
export const metricsHeaderBytesMax = 8_192;
/** A request for metrics must be complete this soon after its first byte, milliseconds. */
export const metricsRequestTimeoutMs = 5_000;
/** How long an unused connection to the metrics endpoint stays open, milliseconds: Prometheus asks every 15 or 60 seconds. */
export const metricsIdleTimeoutMs = 90_000;
/** One query of `saltworks top`, milliseconds: it waits behind the worker that checks its key. */
export const topReplyTimeoutMs = 5_000;

// # Logs, daemons and the demo

/** Lines of one sentence in a burst in the master's log; strangers and minions can cause some of them. Over it: counted as `logLinesSuppressed`. */
export const logBurstLines = 10;
/** After `logBurstLines` the log takes one line of a sentence in this time, milliseconds, with the number of suppressed lines. */
export const logLineMs = 1_000;
/**
 * Sentences with an allowance of their own; all further ones share one allowance. The master has some 80, and refusals, which
 * hold a stranger's text, do not count here.
 */
export const logSentencesMax = 512;
/** One text in a line of the log, characters: a stack has 1,500. The rest is left out, and the line says so. */
export const logTextLengthMax = 2_048;
/** Members of one list or map in a line of the log. */
export const logItemsMax = 32;
/** How often a daemon checks whether its log file was moved, milliseconds: a check takes 2 µs; until then lines go to the moved file. */
export const logFileLookMs = 1_000;
/** One line to syslog, bytes: what its daemons take by default (8 KiB of rsyslog's and journald's 48 KiB). The rest of the line is cut. */
export const syslogLineBytesMax = 8_192;
/** Bytes that wait for a log host that does not read. Over it lines are dropped and counted; the next line that is sent reports their number. */
export const syslogWaitingBytesMax = 1024 * 1024;
/** Wait before the next connection to a lost log host, milliseconds: doubled each time, spread at random. */
export const syslogReconnectMs = { least: 1_000, most: 60_000 } as const;
/** Interval between two lookups of the name of a log host that is reached by UDP, milliseconds: a host that moved is found within a minute. */
export const syslogLookupMs = 60_000;
/** How long `-d` waits for its daemon to be up, milliseconds: the daemon may first convert a large job cache. */
export const backgroundStartTimeoutMs = 300_000;
/** Share of the interval between two messages to systemd (`WATCHDOG=1`) within which all threads must answer before one is sent. */
export const watchdogAnswerShare = 0.9;
/** How long a thread may take to report its stack, milliseconds: a thread that waits or runs native code never reports. */
export const debugPauseTimeoutMs = 1_000;
/** One dump of stacks and state, bytes; the rest is cut. */
export const debugDumpBytesMax = 1024 * 1024;
/** Names that are tried for a dump's file: other programs may have taken some. */
export const debugFileTriesMax = 100;
/** Minions of one demo: each is a process of some 70 MB. */
export const demoMinionsMax = 100;
/** How long a demo waits for its processes to start, milliseconds: a slow machine needs a second or two per process. */
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
fits(sentValuesMax, decodedValuesMax, "a request is one decoding");
fits(sentCollectionsMax, sentValuesMax, "lists and maps are values");
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
fits(2 * databaseStatementMs + 2 * databaseConnectMs, laneTaskTimeoutMs, "a step ends before its thread is replaced");
