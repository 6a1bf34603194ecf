/** Bounds of threads, jobs, jobs for absent minions and batch jobs. */

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
/** How often the master checks whether it rests, to give free memory back to the system, milliseconds. */
export const freeMemoryLookMs = 5_000;
/** Looks at rest at which the master gives free memory back: once its threads have collected their garbage, and once idle lanes have ended. */
export const freeMemoryRestLooks: readonly number[] = [2, 6];
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
/** What a lane's first thread may take to start beyond the time limit of the task that waits for it, milliseconds: a loaded machine takes seconds. */
export const laneStartMs = 15_000;
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
/** A minion that has not answered, and stays connected, counts as coming back after this time, milliseconds. */
export const deliveryUnansweredMs = 60_000;
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
