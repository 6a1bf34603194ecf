/** Bounds of the publish port and the event bus, of keys, authentications and presence. */

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
/** Age of a change of the key directories from which on a kept list of keys stands for them, milliseconds: some file systems count time in steps of seconds. */
export const keyListSettleMs = 3_000;
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

/** Silent minions that a round pings, or a third of the fleet if that is more: they answer at once. */
export const presencePingsMax = 2_000;
/** Publishes of a round in a large fleet: each goes to every minion. A publish pings a share of the round's, and up to `presencePingsMax` more. */
export const presencePublishes = 3;
/** Rounds of pings in one `presence_timeout`. */
export const presenceRounds = 6;
/** Rounds that are left until the timeout of a minion that has been silent for half of it. */
export const presenceRoundsSilent = 3;
/** Largest age of the count of connected minions, milliseconds: `max_minions` asks for it at every authentication, also in a storm. */
export const connectedCountAgeMsMax = 250;
