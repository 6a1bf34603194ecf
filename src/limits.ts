/**
 * Every bound and timeout that is not an option: unit in the name, reason beside it.
 * docs/limits.md lists them; a test compares. Options (src/config/schema.ts) carry the bounds that operators set.
 */
import assert from "node:assert/strict";

/** Nesting of decoded values. Salt's own data stays under 30; recursion at 128 is safe on any stack. */
export const nestingDepthMax = 128;
/** Values that one decoding may build. Salt's largest (file lists, pillars of big sites) stay under 500,000; a frame of 100 MiB could name 100 million. */
export const decodedValuesMax = 2_000_000;
/** Map keys that are numbers, in one decoding. A Map hashes numbers without a secret, so that chosen ones make it quadratic: this many cost 0.3 s. */
export const numericKeysMax = 16_384;
/** Entries of one map that are listed without decoding it: loads have 20, so this only stops bombs. */
export const mapEntriesMax = 65_536;
/** Minion id, bytes of UTF-8. A file name on Linux holds 255, and ids are file names in the key directories. */
export const minionIdBytesMax = 255;
/** Public key PEM text, bytes: a 16,384-bit RSA key needs 2,900. */
export const publicKeyBytesMax = 8_192;
/** Smallest RSA modulus accepted from a minion, bits. Salt refuses to make smaller ones. */
export const rsaModulusBitsMin = 1_024;
/** One event frame on the IPC bus, bytes: the largest event plus its envelope. */
export const ipcFrameBytesMax = 128 * 1024 * 1024;
/** What may surround the body in one event frame on the IPC bus, bytes: Salt sends an empty head. */
export const ipcHeadBytesMax = 65_536;
/** Largest RSA modulus accepted, bits: OpenSSL's own limit, above which one verification takes seconds. */
export const rsaModulusBitsMax = 16_384;
/** Commands drained from the request socket in one turn of the event loop, so that timers and replies get their share. */
export const requestDrainMax = 256;
/** Replies that wait for the request socket; each is one client's, so this follows the connection count. */
export const replyQueueMax = 200_000;
/** Requests parked for a slow lane (RSA, runners). Over it: refused, with an answer. */
export const laneQueueMax = 20_000;
/** Frame of an `_auth`, bytes: key, token and grains take 4,000. Over it: refused unread, since nobody has proved anything yet. */
export const authFrameBytesMax = 65_536;
/** Publishes waiting to be sealed. Over it: QUEUE_FULL to the client. */
export const publishQueueMax = 10_000;
/** Serials reserved durably at once: a crash skips at most this many, and none is ever used twice. */
export const serialBlockCount = 1_024;
/** One batch in a worker thread, milliseconds. Over it: the worker is replaced and the batch retried once. */
export const workerTaskTimeoutMs = 30_000;
/** One RSA task, milliseconds: a private operation takes 0.3 ms, so this only catches a hung thread. */
export const laneTaskTimeoutMs = 60_000;
/** Time that TERM gives to requests under way before the master closes its sockets, milliseconds. */
export const drainDeadlineMs = 10_000;
/** Jobs that the tracker follows at once; the oldest is let go beyond it. */
export const trackedJobsMax = 10_000;
/** Key-file changes are gathered this long, milliseconds, so that one command causes one rotation. */
export const keyChangeSettleMs = 200;
/** Waiting for a store's last writes when it closes, milliseconds. Over it the disk has failed. */
export const storeCloseTimeoutMs = 5_000;
/** Returns acknowledged but not yet committed under `job_cache_durability: async`, bytes in one thread. Over it the caller waits. */
export const asyncPendingBytesMax = 64 * 1024 * 1024;
/** Returns waiting to be written in Salt's `local_cache` layout, bytes in one thread. Over it they are left out there and counted. */
export const localCacheQueueBytesMax = 64 * 1024 * 1024;
/** The key directory is listed again this often, milliseconds, in case the kernel lost an event. */
export const keyRescanMs = 10_000;
/** A target expression, bytes of UTF-8: a list that names a fleet of 100,000 by ids of 40 characters. */
export const targetExpressionBytesMax = 4 * 1024 * 1024;
/** One glob, regular expression or `key:value` term, characters: ids have at most 255, so nothing longer helps. */
export const targetPatternLengthMax = 16_384;
/** Terms of one compound target; the set of a term is evaluated once per minion. */
export const targetTermsMax = 10_000;
/** Parentheses within parentheses of a compound, groups within groups of a regular expression, parts of `key:key:value`. */
export const targetDepthMax = 64;
/** Steps of one regular expression once its counted repeats are written out: what its automaton costs in memory. */
export const patternStepsMax = 100_000;
/** Largest counted repeat of a regular expression, `x{1000}`: the bound of the linear-time engine. */
export const patternRepeatMax = 1_000;
/** Requests that wait behind the one under way on a REQ socket; a minion's processes share one. */
export const requestChannelQueueMax = 1_024;
/** Connections to one socket of the event bus: each is a process of this machine. Over it, new ones are closed. */
export const ipcConnectionsMax = 4_096;
/** Connecting to the event bus or firing into it, milliseconds: it is local, so only a hung process needs longer. */
export const ipcConnectTimeoutMs = 5_000;
/** Time that subscribers get to read what waits for them when the bus closes, milliseconds. */
export const ipcCloseGraceMs = 500;
/** Path of a Unix socket, bytes: what `sockaddr_un` holds on Linux. */
export const socketPathBytesMax = 107;
/** Output of one command of `cmd.*` that is kept, bytes of stdout and of stderr each: both together fit a request of 100 MiB. The rest is dropped and said. */
export const commandOutputBytesMax = 40 * 1024 * 1024;
/** A system program asked for facts (`ip`, `getent`, `df`), milliseconds: local, so only a hung one needs longer. */
export const probeTimeoutMs = 10_000;
/** What such a program may print, bytes: `ps` of a large machine prints some megabytes. */
export const probeOutputBytesMax = 32 * 1024 * 1024;
/** A script that a minion fetches from its master to run, bytes: it is held in memory. */
export const masterFileBytesMax = 64 * 1024 * 1024;
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
/** Shortest and longest wait of a minion whose key is rejected before it ends, seconds: a service manager restarts it at once. */
export const rejectedExitDelaySeconds = { min: 10, max: 20 } as const;
/** Values that one word of a command line may hold once its YAML aliases are followed: aliases of aliases would double without end. */
export const wordValuesMax = 100_000;
/** Events about jobs that a client keeps until it knows its job's id; the oldest go first and are fetched from the store. */
export const earlyEventsMax = 10_000;
/** Return bodies that wait in a client until they are shown, bytes; what is beyond is fetched from the store. */
export const jobFeedBytesMax = 64 * 1024 * 1024;
/** Sockets of one client to the master's request port: requests under way at once. */
export const clientChannelsMax = 64;
/** A runner that a client waits for, milliseconds: some orchestrate for hours, and a master that dies is noticed by its event bus. */
export const runnerReplyTimeoutMs = 86_400_000;
/** One wheel call, milliseconds: it reads or changes what the master holds. */
export const wheelReplyTimeoutMs = 60_000;
/** Minions of one demo: each is a process of some 70 MB. */
export const demoMinionsMax = 100;
/** How long a demo waits for its processes to come up, milliseconds: a slow machine needs a second or two per process. */
export const demoStartTimeoutMs = 120_000;
/** How long a demo's processes have to end before they are killed, milliseconds. */
export const demoStopTimeoutMs = 15_000;

assert(requestDrainMax <= replyQueueMax, "one drain's replies must fit the reply queue");
assert(keyChangeSettleMs < 1_000, "a key change must take effect within a second");
