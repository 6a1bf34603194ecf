/** The functions of the master that deliveries call, and the ways in which minions come back. */
import type { PendingJobRecord, PendingJobs } from "../../store/jobs/pending-jobs.ts";
import type { MinionNumbers } from "./minion-numbers.ts";
import type { FindJobAnswer } from "./tracker.ts";

/** How a minion shows that it is back. */
export type Appearance = "start" | "auth" | "contact";

/**
 * Milliseconds between a minion's appearance and the question to it, so that its own returns come first. Longest after an `_auth`, because a minion
 * authenticates before it subscribes. It announces its start afterwards.
 */
export const settleMs: Readonly<Record<Appearance, number>> = { start: 1_000, auth: 10_000, contact: 2_000 };

export type Grantees = { readonly granted: readonly string[]; readonly undecided: readonly string[] };

/** What deliveries need of the cluster that the master is a member of. */
export interface DeliverySharing {
  /** Tells the other members of a minion that has come back, and that a job of theirs waits for. */
  appeared(id: string, how: Appearance): void;
  /** Withdraws a job at its owner. @throws SaltworksError CLUSTER_UNAVAILABLE */
  cancel(jid: string, minionId: string | undefined): Promise<string[] | undefined>;
}

export function newDeliveryCounters() {
  return {
    ...{ kept: 0, refused: 0, appearances: 0, asked: 0, sent: 0, foundReturned: 0, foundRunning: 0, unanswered: 0 },
    ...{ spent: 0, withdrawn: 0, expired: 0 },
  };
}

export type DeliveriesOptions = {
  readonly store: PendingJobs;
  readonly numbers: MinionNumbers;
  /** Sends a job to these minions alone. */
  readonly send: (record: PendingJobRecord, ids: readonly string[]) => Promise<void>;
  /** Which of these minions the job's publisher may still send it to. `undecided`: too little is known of the minion. */
  readonly stillGranted: (record: PendingJobRecord, ids: readonly string[]) => Promise<Grantees>;
  readonly askRunning: (
    jid: string,
    ids: readonly string[],
    timeoutMs: number,
    onAnswer: (answer: FindJobAnswer) => void,
  ) => Promise<void>;
  /** Which of these minions have a return in the job cache. */
  readonly whoReturned: (jid: string, ids: readonly string[]) => Promise<readonly string[]>;
  readonly isAccepted: (id: string) => boolean;
  readonly isConnected: (id: string) => boolean;
  readonly gatherTimeoutMs: number;
  readonly onFault: (error: Error) => void;
  /** Undefined without a cluster. */
  readonly sharing?: DeliverySharing | undefined;
  /** `now`: the wall clock, in which deadlines are stored. `steadyMs`: a monotonic clock. */
  readonly now?: () => number;
  readonly steadyMs?: () => number;
  /** A monotonic clock that also counts while the machine sleeps, so that a job past its deadline does not run. */
  readonly bootMs?: () => number;
};
