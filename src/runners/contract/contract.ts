/** What runner and wheel functions are and what they may use: the store's readers, and the running master. */
import type { MasterConfig } from "../../config/load.ts";
import type { JobQuery } from "../../store/jobs/facts.ts";
import type { BatchCounts } from "../../wire/batch-options.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";

/** One stored job, as the readers of every job cache give it. `load` and bodies are maps in the new msgpack flavour. */
export type StoredLoad = { readonly jid: string; readonly load: Uint8Array; readonly minions: readonly string[] };
export type StoredReturn = { readonly minionId: string; readonly body: Uint8Array };

/** The part of a job cache that reading runners need; works with the master down too. */
export type JobReader = {
  getLoad(jid: string): StoredLoad | undefined;
  getReturns(jid: string): readonly StoredReturn[];
  getReturn(jid: string, minionId: string): Uint8Array | undefined;
  getRequest(jid: string): Uint8Array | undefined;
  getEndTime(jid: string): string | undefined;
  findJids(query: JobQuery): readonly string[];
};

/** A runner call that the master is working on. */
export type RunningCall = { readonly jid: string; readonly fun: string; readonly user: string; readonly pid: number };

export type JobRequest = {
  readonly fun: string;
  readonly arg: readonly Encodable[];
  readonly target: string | readonly string[];
  readonly targetKind: string;
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
};

/** `returns`: the return value of each minion that answered, `retcodes` its exit code. `silent`: why each other one is missing. */
export type JobOutcome = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: ReadonlyMap<string, Value>;
  readonly retcodes?: ReadonlyMap<string, number>;
  readonly silent: Readonly<Record<string, string>>;
};

/** What the master keeps of a minion and can forget: `functions` are names of a mine. */
export type ForgottenFacts = {
  readonly ids: readonly string[];
  readonly hasGrains: boolean;
  readonly hasPillar: boolean;
  readonly mine: "whole" | readonly string[];
};

/**
 * What only a running master can do; absent when a runner reads the store of a master that is down. One question each, and an answer: plain
 * data, which travels between threads (values of operators and minions packed). `src/master/operators/runner-asks.ts` answers; nothing else knows the names.
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
  /** `data`: a map, packed in the new flavour. `isOperators`: tag and data are the caller's choice, and the master does not vouch for them. */
  fire(event: { readonly tag: string; readonly data: Uint8Array; readonly isOperators?: boolean }): Promise<void>;
  /** @returns how many of the minions had something to forget */
  forget(facts: ForgottenFacts): Promise<number>;
  /** A minion's pillar, rendered now as it would be sent, or the top files that decide it. Maps in the new flavour. */
  renderPillar(question: {
    readonly id: string;
    readonly grains: Uint8Array;
    readonly saltenv: string | undefined;
    readonly pillarenv: string | undefined;
    readonly isTopOnly: boolean;
  }): Promise<{ readonly pillar: Uint8Array; readonly faults: readonly string[] }>;
  /** What `pillar_cache` keeps of a minion's pillar, in the new flavour. `isForgotten`: then nothing, as all that is kept of the minion goes. */
  keptPillar(question: {
    readonly id: string;
    readonly pillarenv: string | undefined;
    readonly isForgotten: boolean;
  }): Promise<Uint8Array | undefined>;
  /** The batches that run, by job id. */
  batches(): Promise<ReadonlyMap<string, RunningBatchCounts>>;
  /** What became of a job, minion by minion; undefined for one that is too long ago. */
  jobStatus(question: JobStatusQuestion): Promise<JobStatus | undefined>;
  /** Jobs that wait for minions which are away, oldest first. */
  pendingJobs(question: { readonly jid: string | undefined }): Promise<readonly PendingJobStatus[]>;
  /** Withdraws one. @returns from which minions; undefined if it waits for nobody */
  cancelPending(question: {
    readonly jid: string;
    readonly minion: string | undefined;
  }): Promise<readonly string[] | undefined>;
  /** @returns "changed", "unknown", or the state that it is in and stays in */
  controlBatch(question: { readonly action: "pause" | "resume" | "abort"; readonly jid: string }): Promise<string>;
  /** A token of an eauth system's user: a map, packed in the new flavour; undefined if he is not who he says. */
  makeToken(question: {
    readonly eauth: string;
    readonly username: string;
    readonly password: string;
    readonly expireSeconds: number | undefined;
  }): Promise<Uint8Array | undefined>;
  /** @returns whether it was there */
  removeToken(question: { readonly token: string }): Promise<boolean>;
};

/** `minion`: a glob; `state`: one of the states. Undefined: all. */
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
/** `sentMs`, `overMs`: undefined while that is to come. `omitted`: minions that were asked for and have no room. `unknown`: names without accepted key. */
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
  /** Of those that it waits for, the first, with how often it was sent to each after the publish. */
  readonly minions: ReadonlyMap<string, number>;
};

export type RunningBatchCounts = { readonly state: string } & BatchCounts;

/** What the master keeps of minions, to be read: maps in the new flavour. */
export type MinionReader = {
  get(id: string): { readonly grains: Uint8Array; readonly pillar: Uint8Array } | undefined;
  getMine(id: string): Uint8Array | undefined;
  ids(): readonly string[];
};

/** The master's files as its file server has them. Paths are relative to the roots, those of changes the master's own. */
export type MasterFiles = {
  environments(): readonly string[];
  list(name: "files" | "dirs" | "emptyDirs", environment: string): Promise<readonly string[]>;
  symlinks(environment: string): Promise<ReadonlyMap<string, string>>;
  /** @returns of which environments a list was kept, sorted */
  clearLists(environments: readonly string[] | undefined): Promise<readonly string[]>;
  update(): Promise<{
    readonly isChanged: boolean;
    readonly changed: readonly string[];
    readonly added: readonly string[];
    readonly removed: readonly string[];
  }>;
};

/** Who calls, and under which job id; events of the call are under `tag`. */
export type RunnerCaller = {
  readonly kind: "runner" | "wheel";
  readonly jid: string;
  readonly tag: string;
  readonly user: string;
  /** What the function tells of jobs has to be of the user's own. */
  readonly isOwnOnly?: boolean;
  /** A user with grants, or a minion: not whoever may do everything. */
  readonly isRestricted?: boolean;
  /** Takes the result from the call's last event, as salt-api does: one that an event cannot hold is lost for this caller. */
  readonly isByEvent?: boolean;
};

export type RunnerContext = {
  readonly config: MasterConfig;
  readonly jobs: JobReader;
  readonly minions?: MinionReader;
  readonly files?: MasterFiles;
  readonly master: MasterAccess | undefined;
  readonly caller?: RunnerCaller;
  /** How many events the function has told its caller by (told.ts). */
  readonly told?: { count: number };
  /** A word for whoever called, beside the answer: shown by command lines on standard error. */
  readonly note?: (text: string) => void;
};

/** A named argument. One with `isRequired` must be given; others keep the function's own default. */
export type RunnerParameter = { readonly name: string; readonly isRequired: boolean };

/** What a function takes beyond its parameters, for those that say so in `takes`. */
export type ExtraArguments = { readonly positional: readonly Value[]; readonly keywords: ValueMap };

/**
 * `parameters` in order. `takes`: whatever else is given goes to the function, too; without it, that is an error. `isOffline`: it needs no
 * running master. `shortName`: what error texts call it, where that is not the name after the dot.
 */
export type RunnerFunction = {
  readonly parameters: readonly RunnerParameter[];
  readonly takes?: "positional" | "keywords" | "all";
  readonly doc: string;
  readonly isOffline?: boolean;
  readonly shortName?: string;
  readonly run: (context: RunnerContext, args: ValueMap, extra: ExtraArguments) => Promise<Encodable> | Encodable;
};
