/** Bounds of logins, commands, our minion, metrics and logs. */

// # Credentials and tokens

/** Checks of external authentication under way at once. A failed login occupies its place for one second, which also limits guesses per second. */
export const credentialChecksMax = 32;
/** Checks of credentials that wait, by address and user in turn. Over it: one of the address with the most is refused unchecked. */
export const credentialChecksWaitingMax = 256;
/** One check of credentials, milliseconds: a web service or a login rule that takes longer counts as a refusal. */
export const credentialCheckTimeoutMs = 30_000;
/** How long a refusal of credentials takes, milliseconds, at random: as long for a wrong name as for a wrong password. */
export const refusedCredentialMs = { min: 750, max: 1_250 } as const;
/** Name, password or token in a request, bytes: any host on the network may send one. An ID token with groups has some thousand. */
export const credentialTextBytesMax = 16_384;
/**
 * A request with a password, bytes: it is held until the password is checked, and lists of 10,000 targets take 200,000. Over it: refused, also by the
 * main thread. A token is looked up at once.
 */
export const credentialLoadBytesMax = 256 * 1024;
/** A file of users and passwords, bytes: it is read at each check. */
export const credentialFileBytesMax = 16 * 1024 * 1024;
/** Rounds of a password's hash: a million take a second. A hash with more is not checked. */
export const cryptRoundsMax = 1_000_000;
/** Cost of a password's bcrypt hash, a power of two of rounds: 14 takes two to four seconds. A hash with more is not checked. */
export const bcryptCostMax = 14;
/** Memory of one check of an argon2id hash, KiB; checks run one at a time. A hash with more is not checked. */
export const argon2MemoryKibMax = 256 * 1024;
/** Memory of an argon2id hash times its passes, KiB: a million takes one to two seconds. A hash with more is not checked. */
export const argon2WorkKibMax = 1024 * 1024;
/** One answer of an LDAP directory, milliseconds. */
export const ldapTimeoutMs = 10_000;
/** All questions to an LDAP directory about one login, milliseconds. Over it: the login counts as refused, and the log says so. */
export const ldapLoginMs = 20_000;
/** Entries of one answer of an LDAP directory: a user's groups, or the computers below a place. */
export const ldapEntriesMax = 20_000;
/** Computers below one place of an LDAP directory that a grant names. Over it: the login fails, and the log says so. */
export const ldapMinionsMax = 10_000;
/** Connection to a database of users and its answer, milliseconds. Over it: the login counts as refused, and the log says so. */
export const mysqlLoginMs = 10_000;
/** One answer of an OpenID provider, milliseconds. */
export const oidcTimeoutMs = 10_000;
/** One answer of an OpenID provider, bytes: keys, what it says of itself, or a token. Over it: the login fails. */
export const oidcAnswerBytesMax = 256 * 1024;
/** How long a failure to learn what an OpenID provider says of itself is remembered, milliseconds: logins in this time fail at once. */
export const oidcFailureMs = 5_000;
/** Keys of an OpenID provider, milliseconds: at the least between two fetches for unknown keys, and at the most that they are used. */
export const oidcKeysMs = { least: 30_000, most: 600_000 } as const;
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
/** Tokens of one user since the master's start. Over it: the one that was not used for the longest time is removed. */
export const tokensOfUserMax = 1_000;
/** File of one token, bytes: names and, with `keep_acl_in_token`, permissions. */
export const tokenFileBytesMax = 4 * 1024 * 1024;
/** Files of tokens or sessions that one step of a sweep looks at or removes: a hundred take a millisecond. Other work runs between steps. */
export const expiredPerStepMax = 100;
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
/** One reply of the master to a client, bytes, which the client holds as a whole. Over it the connection is closed. */
export const replyBytesMax = 1024 * 1024 * 1024;
/** How often a client with a request tries to connect to a request port without a listener, milliseconds: ZeroMQ's interval. */
export const requestReconnectMs = 100;
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
/** Lines of `audit_log` that wait for the disk, bytes. Over it: lines are lost and counted, and the next line says how many. */
export const auditWaitingBytesMax = 4 * 1024 * 1024;
/** Lines of `audit_log` about refusals: at once, then one each `lineMs`, because strangers can cause them. Over it: the next line counts them. */
export const auditRefusals = { burstLines: 100, lineMs: 100 } as const;
/** Lines of `audit_log` about commands of minions, and as many about calls of the reactor: minions can cause both. Over it: as above. */
export const auditMachineLines = { burstLines: 1_000, lineMs: 10 } as const;
/** Wrong keys of one batch of requests that a worker tells the master for `audit_log`. Over it: they are only counted. */
export const auditWrongKeysOfBatchMax = 8;
/** One name, function or target in `audit_log`, characters; the rest is cut. */
export const auditTextLengthMax = 2_048;
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
/**
 * Waits for a reader of standard error whose pipe is full: their number, and the milliseconds of each. The daemon stands still meanwhile. Then lines are
 * lost and counted, without another wait, until the reader reads.
 */
export const consoleLogWait = { tries: 50, ms: 100 } as const;
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

// # The site's own Python

/** Start of Python with Salt, and the question what it has, milliseconds: a loaded machine needs ten seconds. */
export const sidecarStartTimeoutMs = 60_000;
/** One answer of Python, bytes: a pillar, or what a runner found. Over it: the caller gets an error. */
export const sidecarAnswerBytesMax = 64 * 1024 * 1024;
/** What one function in Python prints, characters; the rest is dropped. */
export const sidecarPrintedMax = 256 * 1024;
/** Events of one function in Python that its caller sees in order. Further ones go to the event bus only. */
export const sidecarEventsMax = 1_000;
/** Wait for events that a function in Python fired before it ended, milliseconds: they are under way between two threads. */
export const sidecarEventsWaitMs = 1_000;
/** What Python writes to its standard error during one request, characters, for the log; the rest is dropped. */
export const sidecarComplaintMax = 16_384;
/** Requests that wait for a Python process, for calls of runners and for all others apart. Over it: refused. */
export const sidecarWaitingMax = 1_000;
/** How long an idle Python process stays, milliseconds: starting one takes a second or two, and it keeps 100 MB. */
export const sidecarIdleMs = 300_000;
/** How soon after a question the figures of Python are looked at, milliseconds. */
export const sidecarLookMs = 1_000;
/** After Python failed to start: how long all requests fail at once, milliseconds. */
export const sidecarRestMs = 5_000;
/** Longest wait for an answer of a file server's backend in Python, milliseconds. */
export const sidecarFilesMs = 30_000;
/** Longest fetch of such a backend, milliseconds. */
export const sidecarUpdateMs = 600_000;
/** Time between two fetches, milliseconds: Salt's default of `*_update_interval`. */
export const sidecarUpdateEveryMs = 60_000;
/** Reactions of the kind `caller` at once. Others wait, up to `reactor_worker_hwm`. */
export const callerReactionsMax = 2;
/** Longest `caller` reaction, milliseconds: the minion that it makes may wait for a master that is not there. */
export const sidecarCallerMs = 300_000;
/** Minions whose pillars needed Python, so that they are rendered beside it at once. Over it: the one that asked longest ago is forgotten. */
export const pythonMinionsMax = 100_000;
/** Pillars that wait for a thread beside Python, which waits with them. Over it: refused. */
export const pythonPillarsWaitingMax = 1_000;

// # Report before a takeover

/** Pillar files below one root that the report reads: a second for each few thousand. The report says if there are more. */
export const checkedFilesMax = 100_000;
