/** What the main thread and the runner lane ask each other. Types only. */
import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../../config/load.ts";
import type { JobRequest, MasterAccess, RunnerCaller } from "../../runners/contract/contract.ts";

/** A runner or wheel function. `port` lets it ask the main thread for what only that has: jobs, presence, counters. */
export type RunnerTask = {
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly caller: RunnerCaller;
  readonly port: MessagePort;
};

/** `notes`: texts for the caller, beside the value. `faults`: of the stores that were read, for the log. `told`: events of the call that its client should have seen before the result. */
export type RunnerResult = {
  readonly value: Uint8Array;
  readonly success: boolean;
  readonly notes: readonly string[];
  readonly faults: readonly string[];
  /** Of a value that is too large for the job cache: the value for the caller, in the network's flavour. `value` then stands for it there. */
  readonly reply?: Uint8Array;
  /** Of a value that is too large for an event as it is: what the event shows of it. */
  readonly event?: Uint8Array;
  readonly told: number;
};

export type RunnerStart = { readonly config: MasterConfig };

/** What a runner may ask of the main thread, by its name in `MasterAccess`, and what it answers. */
export type RunnerAsk = { readonly id: number; readonly name: keyof MasterAccess; readonly question: unknown };

export type RunnerAnswer = { readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }
);

/** A `JobRequest` whose values are packed, in the network's flavour. */
export type RunJobAsk = Omit<JobRequest, "arg" | "target"> & { readonly arg: Uint8Array; readonly target: Uint8Array };

/** Outcome of `runJob`: bodies are return loads; `silent` are those who did not answer. */
export type RunJobAnswer = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: readonly { readonly id: string; readonly body: Uint8Array }[];
  readonly silent: Readonly<Record<string, string>>;
};
