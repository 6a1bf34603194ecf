/** What batch jobs need of the cluster that the master is a member of. */
import type { OpenBatchLog } from "../../store/jobs/batch-log.ts";
import type { BatchCounts, BatchEntry } from "../../wire/batch-options.ts";
import type { BatchState } from "./run.ts";

export type BatchControl = "pause" | "resume" | "abort";
export type RunningBatch = { readonly state: BatchState } & BatchCounts;

export interface BatchLogs {
  /** @throws SaltworksError STORE_FAILED, also if the log already exists */
  create(directory: string, jid: string): OpenBatchLog;
  /** @throws SaltworksError STORE_FAILED */
  reopen(directory: string, jid: string): { readonly log: OpenBatchLog; readonly entries: readonly BatchEntry[] };
}

export interface BatchSharing {
  /** Logs whose entries go to the other members. */
  readonly logs: BatchLogs;
  /** Whether all batch jobs of the cluster are known. */
  readonly isCopied: boolean;
  /** The batch jobs of all members that are not over. */
  states(): ReadonlyMap<string, RunningBatch>;
  /** Asks the owner of a batch job; undefined if that is not another member. */
  control(action: BatchControl, jid: string, user: string): Promise<string> | undefined;
  /** The log of a batch job that is over was removed here. */
  forget(jid: string): void;
}
