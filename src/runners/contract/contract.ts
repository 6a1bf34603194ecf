/** What runner and wheel functions are and what they may use: the store's readers, and the running master. */

import type { MasterConfig } from "../../config/load.ts";
import type { JobSearch } from "../../store/jobs/job-cache.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import type { BatchCounts } from "../../wire/batch-options.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** The part of a job cache that runners read; works with the master down too. */
export type JobReader = Omit<JobSearch, "list">;

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

/** What the master keeps of minions and can forget. `mine`: the whole mine, or these functions of it. */
export type ForgottenFacts = {
  readonly ids: readonly string[];
  readonly hasGrains: boolean;
  readonly hasPillar: boolean;
  readonly mine: "whole" | readonly string[];
};

/**
 * What only a running master can do; undefined when a runner reads the store of a master that is down. Each member is one question with one answer.
 * Both are plain data, because they travel between threads; values of operators and minions travel packed. `src/master/operators/runner-asks.ts` answers.
 */
export type MasterAccess = {
  runJob(request: JobRequest): Promise<JobOutcome>;
  connected(): Promise<readonly string[]>;
  counters(): Promise<Encodable>;
  runningCalls(): Promise<readonly RunningCall[]>;
  /** The accepted minions that a target names. @throws SaltworksError FUNCTION_FAILED for a target that cannot be read */
  match(question: {
    readonly target: string | readonly string[];
    readonly targetKind: string;
  }): Promise<readonly string[]>;
  /** `data`: a map, packed in the new flavour. `isOperators`: the caller chose tag and data, and the master does not vouch for them. */
  fire(event: { readonly tag: string; readonly data: Uint8Array; readonly isOperators?: boolean }): Promise<void>;
  /** @returns the number of minions that had something to forget */
  forget(facts: ForgottenFacts): Promise<number>;
  /** Renders a minion's pillar now, as the master would send it, or only the top files that decide it. Maps in the new flavour. */
  renderPillar(question: {
    readonly id: string;
    readonly grains: Uint8Array;
    readonly saltenv: string | undefined;
    readonly pillarenv: string | undefined;
    readonly isTopOnly: boolean;
  }): Promise<{ readonly pillar: Uint8Array; readonly faults: readonly string[] }>;
  /** What `pillar_cache` keeps of a minion's pillar, in the new flavour. `isForgotten`: forgets all that is kept of the minion and returns undefined. */
  keptPillar(question: {
    readonly id: string;
    readonly pillarenv: string | undefined;
    readonly isForgotten: boolean;
  }): Promise<Uint8Array | undefined>;
  /** The batch jobs that run, by job id. */
  batches(): Promise<ReadonlyMap<string, RunningBatchCounts>>;
  /** What became of a job, minion by minion; undefined once the master has forgotten the job. */
  jobStatus(question: JobStatusQuestion): Promise<JobStatus | undefined>;
  /** Jobs that wait for absent minions, oldest first. */
  pendingJobs(question: { readonly jid: string | undefined }): Promise<readonly PendingJobStatus[]>;
  /** Withdraws a waiting job. @returns the minions that it waited for; undefined if it waits for none */
  cancelPending(question: {
    readonly jid: string;
    readonly minion: string | undefined;
  }): Promise<readonly string[] | undefined>;
  /** @returns "changed", "unknown", or the state in which the batch job is and stays */
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

/** `minion`: a glob; `state`: one of the states; undefined stands for all. */
export type JobStatusQuestion = {
  readonly jid: string;
  readonly minion: string | undefined;
  readonly state: string | undefined;
  readonly countMax: number;
};
export type MinionStatus = {
  readonly id: string;
  readonly state: string;
  readonly atMs: number;
  readonly reason: string | undefined;
};
/** `sentMs`, `overMs`: undefined until then. `omitted`: the number of minions beyond `countMax`. `unknown`: names without an accepted key, with the reason. */
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

/** What the master keeps of minions, for reading: maps in the new flavour. */
export type MinionReader = {
  get(id: string): { readonly grains: Uint8Array; readonly pillar: Uint8Array } | undefined;
  getMine(id: string): Uint8Array | undefined;
  ids(): readonly string[];
};

/** The master's files as its file server serves them. Paths are relative to the roots; `update` gives the master's own paths. */
export type MasterFiles = {
  environments(): readonly string[];
  list(name: "files" | "dirs" | "emptyDirs", environment: string): Promise<readonly string[]>;
  symlinks(environment: string): Promise<ReadonlyMap<string, string>>;
  /** @returns the environments whose list was kept, sorted */
  clearLists(environments: readonly string[] | undefined): Promise<readonly string[]>;
  update(): Promise<{
    readonly isChanged: boolean;
    readonly changed: readonly string[];
    readonly added: readonly string[];
    readonly removed: readonly string[];
  }>;
};

/** The caller, and the job id of the call. Events of the call have tags below `tag`. */
export type RunnerCaller = {
  readonly kind: "runner" | "wheel";
  readonly jid: string;
  readonly tag: string;
  readonly user: string;
  /** The function may tell only of this user's own jobs. */
  readonly isOwnOnly?: boolean;
  /** A user with grants, or a minion: not every function and argument is allowed. */
  readonly isRestricted?: boolean;
  /** Takes the result from the call's last event, as salt-api does, so that a result which does not fit into an event is lost. */
  readonly isByEvent?: boolean;
};

export type RunnerContext = {
  readonly config: MasterConfig;
  readonly jobs: JobReader;
  readonly minions?: MinionReader;
  readonly files?: MasterFiles;
  readonly master: MasterAccess | undefined;
  readonly caller?: RunnerCaller;
  /** Counts the events that the function has sent to its caller (told.ts). */
  readonly told?: { count: number };
  /** A note to the caller beside the answer; command lines show it on standard error. */
  readonly note?: (text: string) => void;
};

/** A named argument. Without `isRequired` the function has a default of its own. */
export type RunnerParameter = { readonly name: string; readonly isRequired: boolean };

/** Arguments beyond the parameters, for functions that have `takes`. */
export type ExtraArguments = { readonly positional: readonly Value[]; readonly keywords: ValueMap };

/**
 * `parameters` in order. `takes`: the function also gets these arguments beyond its parameters; without it they are an error. `isOffline`: runs
 * without a running master. `shortName`: the function's name in error texts, if that is not the name after the dot.
 */
export type RunnerFunction = {
  readonly parameters: readonly RunnerParameter[];
  readonly takes?: "positional" | "keywords" | "all";
  readonly doc: string;
  readonly isOffline?: boolean;
  readonly shortName?: string;
  readonly run: (context: RunnerContext, args: ValueMap, extra: ExtraArguments) => Promise<Encodable> | Encodable;
};
