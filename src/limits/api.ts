/** Bounds of the HTTP API. */

// # Connections and requests

/** Open connections, streams included. Over it: the newest is answered with 503 and closed. */
export const apiConnectionsMax = 12_000;
/** Header of a request, bytes: cookies and tokens are short. Over it: 431. */
export const apiHeaderBytesMax = 16_384;
/** Names and values in a header. Over it, the rest is not read. */
export const apiHeadersMax = 100;
/** A header must be complete this soon after the connection's first byte, milliseconds. Over it: 408. */
export const apiHeadersTimeoutMs = 10_000;
/** A whole request must be complete this soon, milliseconds: a body of the largest size at 1 Mbit/s takes 34 s. Over it: 408. */
export const apiRequestTimeoutMs = 60_000;
/** How long an unused connection stays open, milliseconds: browsers and SaltGUI ask again within seconds. */
export const apiIdleTimeoutMs = 65_000;
/** Body of a request, bytes, unless `max_request_body_size` says otherwise. Lists of 10,000 targets take 200,000. Over it: 413. */
export const apiBodyBytesMax = 4 * 1024 * 1024;
/** A body with a password, bytes: it is read before its client is known. The master refuses larger ones, too. */
export const apiCredentialBodyBytesMax = 256 * 1024;
/** A body in YAML, bytes: reading 1 MiB occupies the process for a second. Over it: 413; JSON has the larger bound. */
export const apiYamlBodyBytesMax = 256 * 1024;
/** Lists and maps within each other in a body. Over it: 400. */
export const apiBodyDepthMax = 64;
/** Commands of one request. Over it: 400. */
export const apiChunksMax = 1_000;
/** Query parameter or path, bytes. Over it: 414. */
export const apiParameterBytesMax = 1_024;
/** Requests under way at once, streams not included. Over it: 503 with `Retry-After`. */
export const apiRequestsMax = 1_000;
/** Requests of the API to the master under way at once: each has a socket. Over it: 503. */
export const apiChannelsMax = 512;
/** What `Retry-After` says, seconds. */
export const apiRetryAfterSeconds = 2;
/** How long a stopping API waits for requests under way, milliseconds. */
export const apiDrainMs = 5_000;

// # Sessions

/** Sessions that are kept, as many as tokens. Over it: logins are refused with 503 until some have expired. */
export const apiSessionsMax = 100_000;
/** Sessions in memory; the others are read from their files. */
export const apiSessionsInMemoryMax = 10_000;
/** One session's file, bytes: names and the permissions that a login shows. */
export const apiSessionBytesMax = 256 * 1024;
/** How often files of expired sessions are removed, milliseconds. */
export const apiSessionSweepMs = 600_000;

// # Streams of events

/** Open streams of events. Over it: 503 with `Retry-After`. */
export const apiStreamsMax = 5_000;
/** Bytes that wait for one reader of events. Over it: its stream is closed, and it may go on after its last event. */
export const apiStreamUnreadBytesMax = 2 * 1024 * 1024;
/** Latest events that are kept for readers that come back with `Last-Event-ID`, bytes; the oldest are dropped. */
export const apiStreamKeptBytesMax = 16 * 1024 * 1024;
/** Events are written together after this time, milliseconds: to few readers at once, to many with fewer system calls. */
export const apiStreamFlushMs = { few: 5, many: 50, manyReaders: 50 } as const;
/** How often a stream gets a comment, milliseconds: proxies close a connection that is silent for 30 or 60 s. */
export const apiStreamPingMs = 20_000;
/** How often streams are compared with their sessions, milliseconds: a stream ends this soon after a logout or the token's end. */
export const apiStreamLookMs = 1_000;
/** Patterns of tags for one stream. Over it: 400. */
export const apiStreamTagsMax = 20;

// # The API as a part of the master

/** Wait before a master starts its API again, milliseconds: doubled each time that it ends soon. */
export const watchedRestartMs = { first: 500, longest: 60_000 } as const;
/** An API that ran this long, milliseconds, is started again after the shortest wait. */
export const watchedSteadyMs = 60_000;
/** How long the API has to end with its master before it is killed, milliseconds. */
export const watchedStopMs = 8_000;

// # Answers line by line

/** Bytes that wait for a client that reads its answer line by line. Over it: its connection is closed, and the job goes on. */
export const apiLinesUnreadBytesMax = 16 * 1024 * 1024;
