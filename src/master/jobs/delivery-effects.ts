/** What deliveries use of the rest of the master: publisher, tracker, job cache, presence, clocks; and how minions come back. */
import type { PendingJobRecord, PendingJobs } from "../../store/jobs/pending-jobs.ts";
import type { MinionNumbers } from "./minion-numbers.ts";
import type { FindJobAnswer } from "./tracker.ts";

/** How a minion shows that it is back. */
export type Appearance = "start" | "auth" | "contact";

/**
 * How long a minion that is back is left alone before it is asked, milliseconds: what it has to return comes first. It authenticates
 * before it subscribes and says that it has started afterwards, so an `_auth` alone waits for that.
 */
export const settleMs: Readonly<Record<Appearance, number>> = { start: 1_000, auth: 10_000, contact: 2_000 };

export type Grantees = { readonly granted: readonly string[]; readonly undecided: readonly string[] };

export type DeliveriesOptions = {
  readonly store: PendingJobs;
  readonly numbers: MinionNumbers;
  /** Sends a job to these minions alone. */
  readonly send: (record: PendingJobRecord, ids: readonly string[]) => Promise<void>;
  /** To which of these minions the job's publisher may send it still; of `undecided` ones too little is known to say. */
  readonly stillGranted: (record: PendingJobRecord, ids: readonly string[]) => Promise<Grantees>;
  readonly askRunning: (
    jid: string,
    ids: readonly string[],
    timeoutMs: number,
    onAnswer: (answer: FindJobAnswer) => void,
  ) => Promise<void>;
  /** Which of these the job cache has a return of. */
  readonly whoReturned: (jid: string, ids: readonly string[]) => Promise<readonly string[]>;
  readonly isAccepted: (id: string) => boolean;
  readonly isConnected: (id: string) => boolean;
  readonly gatherTimeoutMs: number;
  readonly onFault: (error: Error) => void;
  /** The wall clock, in which deadlines are stored, and one that is never set. */
  readonly now?: () => number;
  readonly steadyMs?: () => number;
  /** One that is never set and counts while the machine sleeps: a job that is late must not run after all. */
  readonly bootMs?: () => number;
};
