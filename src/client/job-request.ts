/** What an operator asks of a master about a job, and the master's answer to the publish. */
import type { AskedTarget } from "../target/asked-target.ts";
import type { BatchOptions } from "../wire/batch-options.ts";
import type { Encodable } from "../wire/values.ts";

/** `follow`: the master waits for the job as Salt's command line would (its `timeout` and `gather_job_timeout`) and says when it is over. */
export type JobRequest = Omit<AskedTarget, "delimiter"> & {
  readonly fun: string | readonly string[];
  readonly args: readonly Encodable[];
  /** Returners on the minions, separated by commas. */
  readonly ret?: string;
  /** Values beside the job: `show_jid`, `delimiter`, `metadata` and others of Salt's, in the order in which they are stored. */
  readonly kwargs?: { readonly [name: string]: Encodable };
  readonly follow?: { readonly timeoutSeconds: number; readonly gatherTimeoutSeconds: number };
  /** The master runs the job on a few minions at a time. */
  readonly batch?: BatchOptions;
};

export type Published = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
  /** Why some of the missing minions cannot get the job. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Until when, by its own clock, the master sends the job to minions that come back. Undefined if it does not wait for them. */
  readonly waitsUntilMs: number | undefined;
};
