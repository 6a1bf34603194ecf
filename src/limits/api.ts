/** Bounds of the HTTP API. */

// # Connections and requests

/** Open connections, streams included. Over it: a stranger's connection gives way, the oldest of the address with the most. */
export const apiConnectionsMax = 12_000;
/** Open connections over which no request had a session yet: each takes 20 to 60 KB. Over it: as above. */
export const apiStrangerConnectionsMax = 4_000;
/** Descriptors for files, the master and the log beside connections. */
export const apiDescriptorsSpare = 1_000;
/** A TLS handshake must be complete this soon, milliseconds. Over it: the connection is closed. */
export const apiHandshakeTimeoutMs = 10_000;
/** How long a client may take none of its answer, milliseconds. Over it: the connection is closed, and the job goes on. */
export const apiUnreadAnswerTimeoutMs = 30_000;
/** TCP keepalive of connections, so that the other end of one that is silent is asked three times within `apiUnreadAnswerTimeoutMs`. */
export const apiKeepalive = { isOn: true, idleSeconds: 15, intervalSeconds: 5, count: 3 } as const;
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
/** Body of `/login`, `/logout` and `/token`, bytes: it is read before its client is known. Over it: 413. */
export const apiLoginBodyBytesMax = 16 * 1024;
/** YAML of a body, all `arg` and `kwarg` of a form together, and `name=value` texts of one runner call together, bytes: reading 64 KiB occupies the process for 0.3 s. Over it: 413; JSON has the larger bound. */
export const apiYamlBodyBytesMax = 64 * 1024;
/** Bodies of all requests under way, bytes. Over it: 503 with `Retry-After`. */
export const apiBodiesBytesMax = 256 * 1024 * 1024;
/** Bodies of requests under way without a session, bytes. Over it: 503 with `Retry-After`. */
export const apiStrangerBodiesBytesMax = 32 * 1024 * 1024;
/** Bytes of bodies without a session that are parsed in a second: JSON takes a microsecond a byte, so that they get a fifth of the process. */
export const apiStrangerParseBytesPerSecond = 256 * 1024;
/** How many bytes of JSON take as long as one of YAML or of a form. */
export const apiYamlParseFactor = 8;
/** A body without a session that is parsed at once, bytes of JSON: logins are smaller. */
export const apiSmallStrangerBodyBytes = 2_048;
/** How long a larger body without a session waits until it is parsed, milliseconds. Over it: 503 with `Retry-After`. */
export const apiStrangerParseWaitMs = 5_000;
/** Bytes of all answers that wait for their clients, streams of events not included: a user may have 500, each of any size. Over it: the connections with the most are closed, and jobs go on. */
export const apiAnswersUnreadBytesMax = 512 * 1024 * 1024;
/** A token in a body or a query, characters: Salt's have 32 to 128. Over it: 401. */
export const apiTokenCharactersMax = 128;
/** Lists and maps within each other in a body. Over it: 400. */
export const apiBodyDepthMax = 64;
/** Members of lists and maps in a body of JSON, as many as the master reads (`sentValuesMax`): a list of 100,000 targets fits. Over it: 413. */
export const apiBodyValuesMax = 131_072;
/** Names in the maps of a body of JSON: each takes 2 µs. Over it: 413. */
export const apiBodyNamesMax = 32_768;
/** Lists and maps in a body of JSON, as many as the master reads (`sentCollectionsMax`). 4 MiB of empty maps would occupy the process for seconds. Over it: 413. */
export const apiBodyCollectionsMax = 16_384;
/** Values of a form: each `arg` is a document of YAML. Over it: 400. */
export const apiFormValuesMax = 1_000;
/** Commands of one request. Over it: 400. */
export const apiChunksMax = 1_000;
/** Query parameter or path, bytes. Over it: 414. */
export const apiParameterBytesMax = 1_024;
/** Requests under way at once, from the end of their body on, streams not included. Over it: 503 with `Retry-After`. */
export const apiRequestsMax = 1_000;
/** Requests of one user under way at once. Over it: 429 with `Retry-After`. */
export const apiRequestsOfUserMax = 500;
/** Requests without a session under way at once, logins above all. Over it: 503 with `Retry-After`. */
export const apiRequestsOfStrangersMax = 256;
/** Requests without a session under way at once of one address. Over it: 429 with `Retry-After`. */
export const apiRequestsOfAddressMax = 64;
/** Requests of the API to the master under way at once: each has a socket. Over it: 503. */
export const apiChannelsMax = 512;
/** A kind of error is logged once in this time, milliseconds: a flood of requests while the master is away must not fill the disk. */
export const apiSameErrorLogMs = 10_000;
/** How long the API uses the key that it has read, milliseconds: a master that starts makes a new one. */
export const apiKeyLookMs = 1_000;
/** What `Retry-After` says, seconds. */
export const apiRetryAfterSeconds = 2;
/** How long a stopping API waits for requests under way, milliseconds. */
export const apiDrainMs = 5_000;

// # Sessions

/** Sessions that are kept, as many as tokens. Over it: logins are refused with 503 until some have expired. */
export const apiSessionsMax = 100_000;
/** Sessions of one user since the API's start. Over it: the one that was not used for the longest time is closed. */
export const apiSessionsOfUserMax = 1_000;
/** Sessions in memory; the others are read from their files. */
export const apiSessionsInMemoryMax = 10_000;
/** One session's file, bytes: names and the permissions that a login shows. */
export const apiSessionBytesMax = 256 * 1024;
/** ID token that a session keeps for the logout at the OpenID provider, bytes. Over it: the provider is not told which login ends, and may ask the user. */
export const apiIdTokenBytesMax = 8 * 1024;
/** Time from the begin of a login at an OpenID provider to its end, milliseconds: the user types a password there. Over it: 400, and begins again. */
export const apiOidcVisitMs = 600_000;
/** Logins that wait for an OpenID provider at once, at their begin or to exchange a code: each waits up to two answers of the provider. Over it: 503 with `Retry-After`. */
export const apiOidcExchangesMax = 32;
/** Of these, logins of one address. Over it: 429 with `Retry-After`. */
export const apiOidcExchangesOfAddressMax = 16;
/** How often files of expired sessions are removed, milliseconds. */
export const apiSessionSweepMs = 600_000;

// # Streams of events

/** Open streams of events. Over it: 503 with `Retry-After`. */
export const apiStreamsMax = 5_000;
/** Open streams of one user, of events and answers line by line: a quarter of all. Over it: 429 with `Retry-After`. */
export const apiStreamsOfUserMax = 1_250;
/** Bytes that wait for all readers of events together; events that several did not read count for each. Over it: the one with the most is closed. */
export const apiStreamsUnreadBytesMax = 512 * 1024 * 1024;
/** Bytes that wait for one reader of events. Over it: its stream is closed, and it may go on after its last event. */
export const apiStreamUnreadBytesMax = 2 * 1024 * 1024;
/** Latest events that are kept for readers that come back with `Last-Event-ID`, bytes; the oldest are dropped. */
export const apiStreamKeptBytesMax = 16 * 1024 * 1024;
/** Events are written together after this time, milliseconds: to few readers at once, to many with fewer system calls. */
export const apiStreamFlushMs = { few: 5, many: 50, manyReaders: 50 } as const;
/** How often a stream gets a comment, milliseconds: proxies close a connection that is silent for 30 or 60 s. */
export const apiStreamPingMs = 20_000;
/** How long the client of a WebSocket may send nothing, answers to pings included, milliseconds: two pings and 5 s. Over it: the connection is closed. */
export const apiSocketSilentMs = 45_000;
/** How often streams are compared with their sessions, milliseconds: a stream ends this soon after a logout or the token's end. */
export const apiStreamLookMs = 1_000;
/** One message of a WebSocket's client, bytes: clients send a short text. Over it: the connection is closed with 1009. */
export const apiSocketMessageBytesMax = 4_096;
/** Summaries of jobs, and of minions, for readers of `/ws?format_events`, bytes each. Over it: the oldest jobs and grains are left out. */
export const apiDigestBytesMax = 1024 * 1024;
/** How long after a change a summary is sent, milliseconds: the changes of this time make one message. */
export const apiDigestMs = 250;
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

/** How soon after a look at a job's minions the next one follows, milliseconds: after an event, and without one. */
export const apiJobLookMs = { least: 250, most: 5_000 } as const;
/** Bytes that wait for a client that reads its answer line by line. Over it: its connection is closed, and the job goes on. */
export const apiLinesUnreadBytesMax = 16 * 1024 * 1024;
/** Bytes that wait for such a client from which on all unread answers are added up after each line: few clients leave more. */
export const apiLinesLookBytes = 1024 * 1024;
