/** An operator's request for a job, and the master's answer to the publish. */
import type { AskedTarget } from "../target/asked-target.ts";
import type { BatchOptions } from "../wire/batch-options.ts";
import type { Encodable } from "../wire/values.ts";

/** `follow`: the master tracks the job with these times, as Salt's command line does (`timeout`, `gather_job_timeout`), and reports its end. `leavesAbsent`: without waiting for minions that are not connected. */
export type JobRequest = Omit<AskedTarget, "delimiter"> & {
  readonly fun: string | readonly string[];
  readonly args: readonly Encodable[];
  /** Returners on the minions, separated by commas. */
  readonly ret?: string;
  /** Values that are sent with the job: `show_jid`, `delimiter`, `metadata` and others of Salt, in the order in which they are stored. */
  readonly kwargs?: { readonly [name: string]: Encodable };
  readonly follow?: {
    readonly timeoutSeconds: number;
    readonly gatherTimeoutSeconds: number;
    readonly leavesAbsent?: boolean;
  };
  /** A job id instead of a new one. Only the master's own user may choose it. */
  readonly jid?: string;
  /** The master runs the job on a few minions at a time. */
  readonly batch?: BatchOptions;
};

export type Published = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
  /** Why some of the missing minions cannot get the job. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Unix time, by the master's clock, until which it sends the job to minions that come back. Undefined if it does not wait for them. */
  readonly waitsUntilMs: number | undefined;
  /** Lower masters may add minions until the job is over. */
  readonly mayGrow: boolean;
};
