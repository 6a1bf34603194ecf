/** Bounds of what requests may hold, and of connections to the request port. */

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
/** Least size of a sealed request that a worker gets in shared memory, bytes. A smaller one is copied into its batch, which costs less. */
export const sharedFrameBytesMin = 16 * 1024;
/** Bytes of a request that must have come before it is read into shared memory: one that announces much and stops holds none. */
export const sharedHeadBytes = sharedFrameBytesMin / 2;
/** Largest such request, bytes. A larger one gets memory of its own: one burst of them would fill what is shared. */
export const sharedFrameBytesMax = 2 * 1024 * 1024;
/**
 * Shared memory for large requests, used and spare, bytes. Requests beyond it get memory of their own. Holds `largeBodiesBytesMax.proven` of requests
 * that are read, and half as much of requests that wait for a worker.
 */
export const sharedFramesBytesMax = 96 * 1024 * 1024;
/**
 * Least time between two times that smaller spare buffers of shared memory give way to a larger one, milliseconds. The garbage collector frees them
 * later than they are given up, so this bounds what is beyond `sharedFramesBytesMax` until then.
 */
export const spareForLargerMs = 1_000;
/** Largest read from a request connection, bytes. All connections share one buffer of this size. */
export const readChunkBytes = 128 * 1024;
/** Largest read of a connection that is not in the middle of a request, bytes: what a large request takes of memory while it waits for its turn. */
export const firstReadBytes = 16 * 1024;
/**
 * Announced bytes of requests over `largeRequestBytes` that unproven, and that proven connections bring at a time. Connections beyond it are not read
 * until others have brought theirs.
 */
export const largeBodiesBytesMax = { strangers: 32 * 1024 * 1024, proven: 64 * 1024 * 1024 } as const;
/** While others wait, a request's bytes count this long, milliseconds: a quick network brings 1 MB in a tenth of it. A slow client goes on. */
export const largeTurnMs = 2_000;
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
