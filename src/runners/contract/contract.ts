/** Types of runner and wheel functions, and of their context: the store's readers, and the running master. */

import type { MasterConfig } from "../../config/load.ts";
import type { MigrationProgress } from "../../databases/migration/migration.ts";
import type { MigrationNames } from "../../databases/migration/open.ts";
import type { JobDatabases } from "../../databases/open-reader.ts";
import type { JobCacheReader } from "../../store/jobs/job-cache.ts";
import type { JobState } from "../../store/jobs/job-states.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import type { BatchCounts } from "../../wire/batch-options.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** The part of a job cache that runners read; also works while the master is down. */
export type RunnerJobReader = Omit<JobCacheReader, "list">;

/**
 * How far the database of jobs is behind the local store. `state`: "none" if no database gets jobs. `isMissing`: so much waited that some of it is in
 * the local store only, until the rest is copied. `nextTrySeconds`: while the database fails.
 */
export type CacheStatus = {
  /** Undefined if no row is removed for its age. */
  readonly expiry: ExpiryStatus | undefined;
  readonly name: string | undefined;
  readonly place: string;
  readonly state: "none" | "starting" | "current" | "behind" | "failing";
  readonly waiting: number;
  readonly lagSeconds: number;
  readonly rowsPerSecond: number;
  readonly isMissing: boolean;
  readonly fault: string | undefined;
  readonly lastFault: string | undefined;
  readonly failingSeconds: number;
  readonly nextTrySeconds: number | undefined;
  readonly counters: Readonly<Record<string, number>>;
  readonly eventReturns: readonly EventReturnStatus[];
  /** The last migration since the master's start. */
  readonly migration: MigrationStatus | undefined;
};

/** A migration of jobs. `state`: "failed" if it ended before all jobs were copied. `total`: about how many jobs there are. */
export type MigrationStatus = {
  readonly from: string;
  readonly to: string;
  readonly state: "running" | "done" | "failed";
  readonly progress: MigrationProgress | undefined;
  readonly fault: string | undefined;
};

/** How far one returner of `event_return` is behind. `nextTrySeconds`: while it fails. */
export type EventReturnStatus = {
  readonly name: string;
  readonly place: string;
  readonly state: "starting" | "writing" | "failing";
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly lagSeconds: number;
  readonly eventsPerSecond: number;
  readonly fault: string | undefined;
  readonly lastFault: string | undefined;
  readonly failingSeconds: number;
  readonly nextTrySeconds: number | undefined;
  readonly counters: Readonly<Record<string, number>>;
};

/** The removal of old rows from the database. The counts are of rows that left since the master's start. */
export type ExpiryStatus = {
  readonly keepSeconds: number;
  readonly archives: boolean;
  readonly jobs: number;
  readonly returns: number;
  readonly events: number;
  readonly isUnderWay: boolean;
  readonly fault: string | undefined;
};

/** A runner call that the master is executing. */
export type RunningCall = { readonly jid: string; readonly fun: string; readonly user: string; readonly pid: number };

export type JobRequest = Omit<AskedTarget, "delimiter"> & {
  readonly fun: string;
  readonly arg: readonly Encodable[];
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
};

/** `returns`: the return value of each minion that answered. `retcodes`: its exit code. `silent`: why a minion did not answer, by id. */
export type JobOutcome = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: ReadonlyMap<string, Value>;
  readonly retcodes?: ReadonlyMap<string, number>;
  readonly silent: Readonly<Record<string, string>>;
};

/** Data of minions that the master keeps and can forget. `mine`: the whole mine, or these functions of it. */
export type ForgottenFacts = {
  readonly ids: readonly string[];
  readonly hasGrains: boolean;
  readonly hasPillar: boolean;
  readonly mine: "whole" | readonly string[];
};

/**
 * Calls that only a running master can answer; undefined when a runner reads the store of a master that is down. Arguments and answers are plain
 * data, because they travel between threads; values of operators and minions travel packed. `src/master/operators/runner-asks.ts` answers.
 */
export type MasterAccess = {
  runJob(request: JobRequest): Promise<JobOutcome>;
  connected(): Promise<readonly string[]>;
  counters(): Promise<Encodable>;
  cacheStatus(): Promise<CacheStatus>;
  /** Tries a failing database of jobs again at once. */
  retryDatabase(): Promise<void>;
  /** Starts a migration of jobs. @throws SaltworksError FUNCTION_FAILED if it cannot start */
  migrate(names: MigrationNames): Promise<void>;
  /** The last migration since the master's start. */
  migration(): Promise<MigrationStatus | undefined>;
  runningCalls(): Promise<readonly RunningCall[]>;
  /** Shows or changes the reactor's entries. @returns a value, packed in the new flavour. @throws SaltworksError FUNCTION_FAILED without a reactor */
  reactor(question: ReactorQuestion): Promise<Uint8Array>;
  /** The accepted minions that a target names. @throws SaltworksError FUNCTION_FAILED for a target that cannot be read */
  match(question: {
    readonly target: string | readonly string[];
    readonly targetKind: string;
  }): Promise<readonly string[]>;
  /** `data`: a map, packed in the new flavour. `isOperators`: the caller chose tag and data, and the master does not vouch for them. */
  fire(event: { readonly tag: string; readonly data: Uint8Array; readonly isOperators?: boolean }): Promise<void>;
  /** @returns the number of minions with data to forget */
  forget(facts: ForgottenFacts): Promise<number>;
  /** Renders a minion's pillar now, as the master would send it, or only the top files that decide it. Maps in the new flavour. */
  renderPillar(question: {
    readonly id: string;
    readonly grains: Uint8Array;
    readonly saltenv: string | undefined;
    readonly pillarenv: string | undefined;
    readonly isTopOnly: boolean;
  }): Promise<{ readonly pillar: Uint8Array; readonly faults: readonly string[] }>;
  /** A minion's pillars in `pillar_cache`, in the new flavour. `isForgotten`: forgets them and returns undefined. */
  keptPillar(question: {
    readonly id: string;
    readonly pillarenv: string | undefined;
    readonly isForgotten: boolean;
  }): Promise<Uint8Array | undefined>;
  /** The jobs that are not over, with their state. A job whose minions the master has forgotten is over. */
  openJobs(): Promise<ReadonlyMap<string, JobState>>;
  /** The batch jobs that run, by job id. */
  batches(): Promise<ReadonlyMap<string, RunningBatchCounts>>;
  /** A job's state on each minion; undefined once the master has forgotten the job. */
  jobStatus(question: JobStatusQuestion): Promise<JobStatus | undefined>;
  /** Jobs that wait for absent minions, oldest first. */
  pendingJobs(question: { readonly jid: string | undefined }): Promise<readonly PendingJobStatus[]>;
  /** Withdraws a waiting job. @returns the minions that it waited for; undefined if the job does not wait */
  cancelPending(question: {
    readonly jid: string;
    readonly minion: string | undefined;
  }): Promise<readonly string[] | undefined>;
  /** @returns "changed", "unknown", or the batch job's state if it cannot be changed */
  controlBatch(question: { readonly action: "pause" | "resume" | "abort"; readonly jid: string }): Promise<string>;
  /** Makes a token for a user of an eauth system: a map, packed in the new flavour. Undefined if the password is wrong. */
  makeToken(question: {
    readonly eauth: string;
    readonly username: string;
    readonly password: string;
    readonly expireSeconds: number | undefined;
  }): Promise<Uint8Array | undefined>;
  /** @returns whether the token existed */
  removeToken(question: { readonly token: string }): Promise<boolean>;
};

/** `add` gives the tag `event` these files. `set_leader` makes the reactor obey events, or ignore them. */
export type ReactorQuestion =
  | { readonly action: "list" | "is_leader" }
  | { readonly action: "add"; readonly event: string; readonly reactors: readonly string[] }
  | { readonly action: "delete"; readonly event: string }
  | { readonly action: "set_leader"; readonly isLeader: boolean };

/**
 * `minion`: a glob; `state`: one of the states; undefined: all. `after`: in order of the ids, after this one; undefined: outstanding minions come
 * first. `sinceMs`: only minions that changed then or later.
 */
export type JobStatusQuestion = {
  readonly jid: string;
  readonly minion: string | undefined;
  readonly state: string | undefined;
  readonly countMax: number;
  readonly after?: string | undefined;
  readonly sinceMs?: number | undefined;
};
export type MinionStatus = {
  readonly id: string;
  readonly state: string;
  readonly atMs: number;
  readonly reason: string | undefined;
};
/**
 * `sentMs`, `overMs`: undefined until then. `omitted`: the number of minions beyond `countMax`. `unknown`: names
 * without an accepted key, with the reason.
 */
export type JobStatus = {
  readonly fun: string;
  readonly sentMs: number | undefined;
  readonly overMs: number | undefined;
  readonly counts: Readonly<Record<string, number>>;
  readonly minions: readonly MinionStatus[];
  readonly omitted: number;
  readonly unknown: ReadonlyMap<string, string>;
  readonly waitsUntilMs: number | undefined;
};
export type PendingJobStatus = {
  readonly jid: string;
  readonly fun: string;
  readonly publishedMs: number;
  readonly deadlineMs: number;
  readonly expected: number;
  readonly waiting: number;
  /** The first minions that it waits for, each with the number of times it was sent after the publish. */
  readonly minions: ReadonlyMap<string, number>;
};

export type RunningBatchCounts = { readonly state: string } & BatchCounts;

/** Reads the data of minions that the master keeps: maps in the new flavour. */
export type MinionReader = {
  get(id: string): { readonly grains: Uint8Array; readonly pillar: Uint8Array } | undefined;
  getMine(id: string): Uint8Array | undefined;
  ids(): readonly string[];
};

/** The master's files as its file server serves them. Paths are relative to the roots; `update` gives the master's own paths. */
export type MasterFiles = {
  /** The file server's backends, in the order of their search. `backends` below: names of the meant ones. */
  readonly backendNames: readonly string[];
  environments(backends: readonly string[]): Promise<readonly string[]>;
  list(
    name: "files" | "dirs" | "emptyDirs",
    environment: string,
    backends: readonly string[],
  ): Promise<readonly string[]>;
  symlinks(environment: string, backends: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** @returns the environments whose file list was cached, sorted, by backend */
  clearLists(
    environments: readonly string[] | undefined,
    backends: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]>>;
  /** @returns texts about what could not be removed, by backend that has a cache */
  clearCaches(backends: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Sets or removes the locks of remotes whose URL the glob `remote` matches, or of all. @returns a sentence about each */
  lock(kind: "lock" | "clearLock", remote: string | undefined, backends: readonly string[]): readonly string[];
  update(backends: readonly string[]): Promise<
    ReadonlyMap<
      string,
      {
        readonly isChanged: boolean;
        readonly changed: readonly string[];
        readonly added: readonly string[];
        readonly removed: readonly string[];
        readonly failure?: string;
      }
    >
  >;
};

/** The caller, and the job id of the call. Events of the call have tags below `tag`. */
export type RunnerCaller = {
  readonly kind: "runner" | "wheel";
  readonly jid: string;
  readonly tag: string;
  readonly user: string;
  /** The function may show only this user's own jobs. */
  readonly isOwnOnly?: boolean;
  /** A user with grants, or a minion: not every function and argument is allowed. */
  readonly isRestricted?: boolean;
  /** The caller takes the result from the call's last event, as salt-api does, so that a result too large for an event is lost. */
  readonly isByEvent?: boolean;
};

export type RunnerContext = {
  readonly config: MasterConfig;
  /** Variables for programs that the function starts. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly jobs: RunnerJobReader;
  /** Data that exists only in Salt's own files. */
  readonly saltJobs: RunnerJobReader;
  readonly databases: JobDatabases;
  readonly minions?: MinionReader;
  readonly files?: MasterFiles;
  readonly master: MasterAccess | undefined;
  readonly caller?: RunnerCaller;
  /** Number of events that the function has sent to its caller (caller-events.ts). */
  readonly callerEvents?: { count: number };
  /** Sends the caller a note beside the answer; command lines show it on standard error. */
  readonly note?: (text: string) => void;
};

/** A named argument. Without `isRequired` the function has a default. */
export type RunnerParameter = { readonly name: string; readonly isRequired: boolean };

/** Arguments beyond the parameters, for functions that have `takes`. */
export type ExtraArguments = { readonly positional: readonly Value[]; readonly keywords: ValueMap };

/**
 * `parameters` in order. `takes`: the function also gets these arguments beyond its parameters; without it they are an error. `isOffline`: runs
 * without a running master. `shortName`: the function's name in error texts, if that is not the name after the dot. `runsInPython`: a call with these
 * arguments needs a plug-in of Salt's, and so the operator's own Salt; `run` refuses it.
 */
export type RunnerFunction = {
  readonly parameters: readonly RunnerParameter[];
  readonly takes?: "positional" | "keywords" | "all";
  readonly doc: string;
  readonly isOffline?: boolean;
  readonly shortName?: string;
  readonly runsInPython?: (args: ValueMap) => boolean;
  readonly run: (context: RunnerContext, args: ValueMap, extra: ExtraArguments) => Promise<Encodable> | Encodable;
};
