/** Bounds of what is kept: stores, Salt's own files, databases. */

// # Stores

/** Wait for a store's last writes when it closes, milliseconds. Over it the disk has failed. */
export const storeCloseTimeoutMs = 5_000;
/** Steps in which an LMDB data file grows ahead of its last page, bytes: each costs a write, and other programs cannot use the space ahead. */
export const lmdbRoomStepBytes = 1024 * 1024;
/** Records that one step of a trim removes: it is one transaction of some milliseconds, so that it hardly delays returns. */
export const trimmedPerStepMax = 200;
/**
 * How far a job id may be ahead of the clock and still count as the job's time, milliseconds: a day covers time zones. Jobs further ahead leave
 * the cache `keep_jobs_seconds` after they were stored.
 */
export const jobIdAheadMs = 86_400_000;
/** Jobs that one look for ids far ahead dates at once, in one transaction. The next trim goes on. */
export const datedPerStepMax = 1_000;
/** Damaged returns that a reader reports one by one; `saltworks check-store` reports all. */
export const damagedNotesMax = 1_000;
/** Faults of one file that are reported one by one; a damaged disk has thousands. */
export const walkedFaultsMax = 20;
/** Returns of a job in one page from the store. A job with more takes several pages. */
export const returnsPerPage = 4_096;
/** Bodies of the returns on one page, bytes. The page ends with the return that reaches it, so that a page exceeds it by at most one return. */
export const returnPageBytesMax = 16 * 1024 * 1024;
/**
 * Bodies of a batch of returns, bytes, from which on it goes into LMDB at once and not through the log. Its bytes are then written and synced once. A
 * smaller batch costs less in the log, because a transaction writes some 20 pages besides.
 */
export const unloggedBatchBytesMin = 512 * 1024;
/** A worker's log of returns, bytes: holds `returnsPerTransaction` returns of a block each. The file is written in full when it is made. */
export const returnLogBytes = 4 * 1024 * 1024;
/** Returns in one transaction from a worker's log into the job cache: it blocks the worker for some 3 ms. Twice as many save 0.3 µs a return. */
export const returnsPerTransaction = 1_024;
/**
 * How long returns wait in a worker's log at most, milliseconds, while they are fewer than `returnsPerTransaction`: a transaction for each small
 * batch would cost more than the log saves.
 */
export const returnTransactionDelayMs = 1_000;
/**
 * After a migration into a database, or after a start, time for which the database is asked for each row, milliseconds. Returns that the migration read
 * from the workers' logs are in the feed by then: ten times `returnTransactionDelayMs`.
 */
export const broughtRowsSettleMs = 10 * returnTransactionDelayMs;
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

// # Databases

/** Entries of a file's feed that wait for the database, 60 bytes each. Over it the oldest stay, and later jobs are added when those have left. */
export const feedEntriesMax = 10_000_000;
/** Rows of jobs and returns in one transaction of the database. Each costs a sync of the database and one of our store, whatever it holds. */
export const databaseCopyRowsMax = 2_048;
/** Events, or old rows that leave, in one transaction of the database: more cost no less each, and would be lost together. */
export const databaseRowsMax = 512;
/** One step of the removal of old rows, milliseconds, apart from its last transaction: jobs that are to be copied wait meanwhile. */
export const databaseExpiryMs = 100;
/** Index entries that one step of the removal of old rows looks at, so that no statement of it takes long. */
export const databaseLooksMax = 10_000;
/** The largest difference between the clocks of database and master at which old rows are removed, milliseconds. Over it: DATABASE_FAILED. */
export const databaseClockMsMax = 3_600_000;
/** Failures of one batch that end the connection, before halves of it are tried: a row in it may be the cause. */
export const databaseCutsMax = 3;
/** Connections that one row alone must end, each just after the database was found healthy, until it counts as the cause: crashes may coincide with its turn. */
export const databaseTrialsMax = 3;
/** One statement of the database, milliseconds. Over it the connection is closed and the transaction tried again. */
export const databaseStatementMs = 15_000;
/** Time that one write gives to a returner in Python, milliseconds: rows that it has not written by then are asked for again. */
export const pythonJobsWriteMs = 5_000;
/** Longest removal of old rows by a returner in Python (`clean_old_jobs`), milliseconds. Others do not wait for it. */
export const pythonJobsCleanMs = 1_800_000;
/** A wait for a lock of the database, milliseconds. Over it the transaction is rolled back and tried again. */
export const databaseLockMs = 5_000;
/** Connecting to the database, milliseconds. */
export const databaseConnectMs = 5_000;
/** The longest wait after a failure of the database, milliseconds. */
export const databaseRetryMsMax = 30_000;
/** How long the answer to a publish of Salt's clients waits until the database of jobs has the job, milliseconds: they ask it for the job next. */
export const jobCopyWaitMs = 2_000;
/** Bytes of events on their way to the thread of `event_return`. Over it, because that thread has no turn, new events are dropped. */
export const eventsHandedBytesMax = 16 * 1024 * 1024;
/** Time that a stopping master gives to copying what waits, milliseconds; the next start copies the rest. */
export const databaseStopMs = 3_000;

// # Migrations

/** Rows in one transaction of a migration: the workers wait for it if they write the same store. */
export const migrationRowsMax = 256;
/** Bytes of requests and returns in one transaction of a migration. A larger return is in a transaction of its own. */
export const migrationBatchBytesMax = 2 * 1024 * 1024;
/** One step of a migration, milliseconds, apart from its last transaction. Jobs that are to be copied wait meanwhile. */
export const migrationStepMs = 500;
/** Job ids that a migration reads at once. */
export const migrationJidsAtOnce = 1_000;
/** Failures in a row after which a migration ends. The same command goes on from its mark. */
export const migrationFailuresMax = 10;
/** The longest wait after a failure of a migration, milliseconds. */
export const migrationRetryMsMax = 5_000;
/** What a migration left out that its summary and its mark name. The log names the rest. */
export const migrationNamedMax = 100;
