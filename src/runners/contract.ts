/** What a runner function is and what it may use: the store's reader, and the master for jobs and presence. */
import type { MasterConfig } from "../config/load.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";

/** One stored job, as the readers of every job cache give it. `load` and bodies are maps in the new msgpack flavour. */
export type StoredLoad = { readonly jid: string; readonly load: Uint8Array; readonly minions: readonly string[] };
export type StoredReturn = { readonly minionId: string; readonly body: Uint8Array };

/** The part of a job cache that reading runners need; works with the master down too. */
export type JobReader = {
  getLoad(jid: string): StoredLoad | undefined;
  getReturns(jid: string): readonly StoredReturn[];
  getReturn(jid: string, minionId: string): Uint8Array | undefined;
  listJids(o: { newestFirst: boolean; limit: number }): readonly string[];
};

export type JobRequest = {
  readonly fun: string;
  readonly arg: readonly Encodable[];
  readonly target: string | readonly string[];
  readonly targetKind: string;
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
};

/** `returns`: the return value of each minion that answered. `silent`: why each other one is missing. */
export type JobOutcome = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: ReadonlyMap<string, Value>;
  readonly silent: Readonly<Record<string, string>>;
};

/** What only a running master can do. Absent when a runner reads the store of a master that is down. */
export type MasterAccess = {
  runJob(request: JobRequest): Promise<JobOutcome>;
  connected(): Promise<readonly string[]>;
  counters(): Promise<Encodable>;
};

export type RunnerContext = {
  readonly config: MasterConfig;
  readonly jobs: JobReader;
  readonly master: MasterAccess | undefined;
};

/** `parameters`: names in order; one with `isRequired` must be given. Others keep the function's own default. */
export type RunnerFunction = {
  readonly parameters: readonly { readonly name: string; readonly isRequired: boolean }[];
  readonly doc: string;
  readonly run: (context: RunnerContext, args: ValueMap) => Promise<Encodable> | Encodable;
};
