/** Questions of the main thread to the runner lane, and the other way round. Types only. */
import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../../config/load.ts";
import type { JobRequest, MasterAccess, RunnerCaller } from "../../runners/contract/contract.ts";

/** A call of a runner or wheel function. Over `port` it asks the main thread for jobs, presence and counters. */
export type RunnerTask = {
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly caller: RunnerCaller;
  readonly port: MessagePort;
};

/** `notes`: texts for the caller. `faults`: of the stores, for the log. `told`: how many events the client should see before the result. */
export type RunnerResult = {
  readonly value: Uint8Array;
  readonly success: boolean;
  readonly notes: readonly string[];
  readonly faults: readonly string[];
  /** For a value that is too large for the job cache: the caller gets this, in the network's flavour, and the job cache gets `value`. */
  readonly reply?: Uint8Array;
  /** For a value that is too large for an event: the part that the event shows. */
  readonly event?: Uint8Array;
  readonly told: number;
};

export type RunnerStart = { readonly config: MasterConfig };

/** A runner's question to the main thread, by its name in `MasterAccess`. */
export type RunnerAsk = { readonly id: number; readonly name: keyof MasterAccess; readonly question: unknown };

export type RunnerAnswer = { readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }
);

/** A `JobRequest` whose values are packed, in the network's flavour. */
export type RunJobAsk = Omit<JobRequest, "arg" | "target"> & { readonly arg: Uint8Array; readonly target: Uint8Array };

/** Outcome of `runJob`. `body`: a return load. `silent`: minions that did not answer, with the reason. */
export type RunJobAnswer = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: readonly { readonly id: string; readonly body: Uint8Array }[];
  readonly silent: Readonly<Record<string, string>>;
};
