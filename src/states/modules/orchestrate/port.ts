/** What states of an orchestration ask the master for. Types only; `src/cli/orchestrate/` answers. */
import type { Value, ValueMap } from "../../../wire/values.ts";

export type JobAsk = {
  readonly target: string | readonly string[];
  readonly targetKind: string;
  readonly fun: string;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap;
  readonly ret: string;
  readonly timeoutSeconds: number | undefined;
  /** Settings of the returners: `ret_config` and `ret_kwargs`. */
  readonly returnerSettings: Readonly<Record<string, Value>>;
  /** How many minions, chosen by chance, run it; undefined: all. */
  readonly subset: number | undefined;
  /** How many minions run it at a time, as a number or a percentage; undefined: all at once. */
  readonly batch: { readonly size: string; readonly isFailHard: boolean } | undefined;
};
/** `value` undefined: the minion did not return. */
export type MinionAnswer = { readonly value: Value | undefined; readonly retcode: number };
export type JobAnswers = { readonly jid: string | undefined; readonly minions: ReadonlyMap<string, MinionAnswer> };
export type CallAnswer = { readonly value: Value; readonly isSuccess: boolean; readonly jid: string | undefined };

export type MasterPort = {
  /** @throws SaltworksError if the master refuses the job or does not run */
  runJob(ask: JobAsk): Promise<JobAnswers>;
  runRunner(fun: string, args: readonly Value[], kwargs: ValueMap): Promise<CallAnswer>;
  runWheel(fun: string, kwargs: ValueMap): Promise<CallAnswer>;
  /** The events of the bus from now on, until the signal aborts. */
  events(signal: AbortSignal): AsyncIterable<{ readonly tag: string; readonly data: Value }>;
};
