/** Bounds of targets, runners and wheel functions. */

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
/** Jobs of one page of `jobs.list_jobs paged=True` and of `GET /jobs`, unless the caller asks for fewer or more; over `most` it is refused. */
export const listedPageJobs = { usual: 100, most: 1_000 } as const;
/** Minions of one page of `jobs.minions` and of `GET /jobs/JID/minions`, as `listedPageJobs`. */
export const listedPageMinions = { usual: 1_000, most: 5_000 } as const;
/** Values in one answer of `jobs.list_jobs`: the bound of one decoding, less the answer's other fields. Over it the list is cut and says so. */
export const listedValuesMax = 1_500_000;
/** Runner and wheel calls under way at once. Most of them only wait for minions; others wait for their turn. */
export const runnersAtOnceMax = 64;
/** One runner or wheel call in its thread, milliseconds: it waits for minions as long as its caller asked, so that this only ends calls that hang. */
export const runnerTaskTimeoutMs = 24 * 3_600_000;
/** Answer of a web server to `http.query`, bytes, if `http_max_body` is not less: it takes some ten times as much memory. Over it: an error in the result. */
export const httpQueryBytesMax = 16 * 1024 * 1024;
/** Longest `http.query`, milliseconds, if `http_request_timeout` is not less: silent servers must not keep all places of runners. Over it: an error in the result. */
export const httpQueryMsMax = 300_000;
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
