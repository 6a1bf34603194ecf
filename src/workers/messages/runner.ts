/** Tasks of the runner lane, the questions of runners to the main thread, and the answers of both. Types only. */

import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../../config/load.ts";
import type { ErrorCode } from "../../errors.ts";
import type { GitEnvironment } from "../../git/program.ts";
import type { JobRequest, MasterAccess, RunnerCaller } from "../../runners/contract/contract.ts";

/** A call of a runner or wheel function. The function asks the main thread for jobs, presence and counters over `port`. */
export type RunnerTask = {
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly caller: RunnerCaller;
  readonly port: MessagePort;
};

/**
 * `code`: of the error of a call that failed. `notes`: texts for the caller. `faults`: the stores' faults, for the log. `callerEvents`: how many events the client should see before the result.
 */
export type RunnerResult = {
  /** For the job cache and the event, in their encoding. A text in place of a value that is too large for the job cache. */
  readonly value: Uint8Array;
  /** The whole value for the caller, in network encoding; empty if the caller reads the event instead. */
  readonly reply: Uint8Array;
  /** Set if the value is too large for an event: the part that the event shows. */
  readonly event?: Uint8Array;
  readonly success: boolean;
  readonly code?: ErrorCode;
  readonly notes: readonly string[];
  readonly faults: readonly string[];
  readonly callerEvents: number;
};

/** `environment`: variables for programs. */
export type RunnerStart = { readonly config: MasterConfig; readonly environment: GitEnvironment };

/** A runner's question to the main thread. `name`: the method of `MasterAccess`. */
export type RunnerAsk = { readonly id: number; readonly name: keyof MasterAccess; readonly question: unknown };

export type RunnerAnswer = { readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }
);

/** A `JobRequest` whose values are in network encoding. */
export type RunJobAsk = Omit<JobRequest, "arg" | "target"> & { readonly arg: Uint8Array; readonly target: Uint8Array };

/** Outcome of `runJob`. `body`: a return load. `silent`: the reason for each minion that did not return. */
export type RunJobAnswer = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: readonly { readonly id: string; readonly body: Uint8Array }[];
  readonly silent: Readonly<Record<string, string>>;
};
