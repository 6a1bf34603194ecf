/** Bounds of what minions ask for: pillars, files, mines, publishes and runner calls. */

// # Pillars and templates

/** Text that one pillar template may render to, bytes: far above any real one; it stops a loop that multiplies its text. */
export const pillarTextBytesMax = 16 * 1024 * 1024;
/** One pillar file, bytes: it is read whole and kept in memory. */
export const pillarFileBytesMax = 4 * 1024 * 1024;
/** Pillar files kept in memory by one rendering thread, with their parsed templates; the one used longest ago goes first. */
export const pillarFilesMax = 4_096;
/** A text of YAML whose value a pillar thread keeps, characters. */
export const keptTextCharsMax = 32 * 1024;
/** All texts whose values a pillar thread keeps, characters. The least recently used goes first. */
export const keptTextsCharsMax = 512 * 1024;
/** How long gpg may take for one message of a pillar, milliseconds: it takes some 10, and its agent's start a second. */
export const gpgTimeoutMs = 10_000;
/** One encrypted message of a pillar, characters: as large as a pillar file. */
export const gpgMessageBytesMax = 4 * 1024 * 1024;
/** What gpg may write for one message, bytes: it unpacks, so that a small message can hold much. */
export const gpgOutputBytesMax = 4 * 1024 * 1024;
/** Decrypted messages that `gpg_cache` keeps in one rendering thread, bytes; the one kept longest goes first. */
export const gpgCacheBytesMax = 16 * 1024 * 1024;
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
/** SLS files of one state run, each include counted: real runs have some hundred. */
export const stateFilesMax = 10_000;
/** Parallel states of one run that run at once: each may start a program. */
export const parallelStatesMax = 16;
/** A minion's request for its pillar that has waited this long is no longer rendered, milliseconds: the minion asks three times for 60 s each. */
export const pillarWaitMs = 180_000;
/** Different pillar requests of one minion that wait; a further one is refused. A minion asks once at its start, and once in each state run. */
export const pillarsWaitingOfMinionMax = 4;
/** Pillars of one minion that render at once, so that slow ones leave places to other minions. */
export const pillarsUnderWayOfMinionMax = 2;
/** Output of one external source of pillar (`ext_pillar`), bytes: a command's output, or all files of a tree. Over it: an error in the pillar. */
export const extPillarBytesMax = 16 * 1024 * 1024;
/**
 * Bytes that a database of an external source may send before its rows are counted, and memory of a key that a Redis server may report. Over it the
 * connection ends, with an error in the pillar. Twice `extPillarBytesMax`, because rows travel with more than their values.
 */
export const extPillarReceivedBytesMax = 2 * extPillarBytesMax;
/** How much longer than a command the process that starts commands may take to answer, milliseconds. Then it is replaced, and its commands fail. */
export const launcherGraceMs = 10_000;
/** Redirects that an `http_json` or `http_yaml` source of pillar follows, as Tornado, which Salt uses. */
export const extPillarRedirectsMax = 5;
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

/** Requests for states of `master_tops` under way or waiting, some 500 bytes each. */
export const topsWaitingMax = 20_000;
/** How long a request for states of `master_tops` may wait for its command, milliseconds: the minion asks again after 60 s. */
export const topsWaitMs = 60_000;

// # Files

/** Files and directories of one environment: a list of 1,000,000 takes 60 MB. Over it: FILES_FAILED. */
export const listedFilesMax = 1_000_000;
/** Environments whose file lists a thread keeps in memory; others are read from the cache directory. */
export const fileListsKeptMax = 16;
/** How long the file lane's thread stays without work, milliseconds: fleets apply their states every half an hour, and the hashes of all files are in it. */
export const idleFileThreadMs = 3_600_000;
/** Hashes of files that a thread keeps, 200 bytes each. The hash used longest ago goes first. */
export const fileHashesMax = 65_536;
/** Age from which a file's times count as exact, milliseconds: file systems round them to as much as two seconds. */
export const fileTimesSettledMs = 2_000;
/** A file whose content is kept with its hash, bytes: most sls files and templates. It goes to the worker with the hash, so that no minion waits for it. */
export const smallFileBytesMax = 8_192;
/** Contents of small files that a thread keeps, bytes: some 2,000 files. The one kept longest goes first. */
export const smallFilesKeptBytesMax = 8 * 1024 * 1024;
/**
 * How long a worker gives the answer to one minion's request for files to every other, milliseconds, from the time of the request on. A minion needs
 * longer from a publish to its first request for a file, so that it sees what an operator changed before the publish.
 */
export const fileAnswerFreshMs = 500;
/** How long it gives the answer to minions that have begun their run of states before the request, if no job was published since, milliseconds. */
export const fileAnswerOfRunMs = 5_000;
/** Largest answer that a worker keeps, bytes: a list of 1,000 files has 30 KB. Larger ones are paced, so that slow readers hold few of them. */
export const fileAnswerKeptBytesMax = 32 * 1024;
/** Answers to requests for files that a worker keeps, bytes. The oldest goes first. */
export const fileAnswersKeptBytesMax = 16 * 1024 * 1024;
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

// # Git repositories

/** Output of one `git` program, bytes: the list of a commit's files, some 100 bytes each. */
export const gitOutputBytesMax = 256 * 1024 * 1024;
/** Characters of git's complaint in an error. */
export const gitComplaintMax = 500;
/** How long one fetch of a repository may take, milliseconds: the first one brings all of it. */
export const gitFetchTimeoutMs = 600_000;
/** Repositories that one thread fetches at the same time. */
export const gitFetchesAtOnceMax = 4;
/** How long git may take to answer one question about a repository on this machine, milliseconds. */
export const gitReadTimeoutMs = 60_000;
/** How long a program that reads objects stays without a question, milliseconds. */
export const gitIdleMs = 60_000;
/** Questions about objects of one repository that wait. */
export const gitObjectsWaitingMax = 100_000;
/** Files in the lists of one repository's commits that stay in memory, some 200 bytes each; the commit used longest ago goes first. */
export const gitTreeFilesKeptMax = 500_000;
/** Links of a git repository that one name may lead through: what Salt follows. */
export const gitLinksFollowedMax = 100;
/** Largest file of a git repository that is read into memory as a whole; larger ones become files of their own. */
export const gitSmallFileBytesMax = 1024 * 1024;
/** Contents of small files of one git repository that stay in memory, bytes; the one used longest ago goes first. */
export const gitContentsKeptBytesMax = 64 * 1024 * 1024;
/** Files of one commit that become files of a pillar's directory. */
export const gitExportFilesMax = 20_000;
/** How long the directory of a former commit stays after its last use, milliseconds: pillars that render may still read it. */
export const gitExportsKeptMs = 3_600_000;
/** Repositories of pillars that one thread keeps open; the one used longest ago goes first. */
export const gitRepositoriesMax = 64;
/** Sets of directories whose parsed templates one rendering thread keeps for `ext_pillar: git`; the one used longest ago goes first. */
export const pillarTreeRenderersMax = 64;
/** How long a large file stays beside its repository after its last use, milliseconds. */
export const gitLargeFilesKeptMs = 24 * 3_600_000;
