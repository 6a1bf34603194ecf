/** Jobs as their pages show them. */

/** A job of runner `jobs.list_jobs`. */
export type ListedJob = {
  readonly Function: string | readonly string[];
  readonly Arguments: readonly unknown[];
  readonly Target: string | readonly string[];
  readonly "Target-type": string;
  readonly User: string;
  readonly StartTime: string;
};
export type JobRow = ListedJob & { readonly jid: string };

/** The newest first. */
export function jobRows(jobs: Readonly<Record<string, ListedJob>>): JobRow[] {
  const rows = Object.entries(jobs).map(([jid, job]) => ({ ...job, jid }));
  return rows.sort((left, right) => (left.jid < right.jid ? 1 : -1));
}

export function joined(value: string | readonly string[]): string {
  return typeof value === "string" ? value : value.join(", ");
}

/** A page of a job's minions. */
export type JobStatus = {
  readonly Function?: string;
  readonly StartTime?: string;
  readonly Over?: boolean;
  readonly "Waits-until"?: string;
  readonly Counts?: Readonly<Record<string, number>>;
  readonly Minions?: Readonly<Record<string, MinionStatus>>;
};
type MinionStatus = { readonly State: string; readonly Since?: string; readonly Reason?: string };
export type StatusRow = MinionStatus & { readonly id: string };

/** Minions that need a look come first. */
const stateOrder = ["failed", "lost", "unknown", "running", "sent", "targeted", "returned"];

/** `state`: minions that need a look first. */
export function statusRows({ Minions: found = {} }: JobStatus, order: "state" | "id"): StatusRow[] {
  const rank = ({ State }: MinionStatus) => stateOrder.indexOf(State);
  const rows = Object.entries(found).map(([id, status]) => ({ id, ...status }));
  const byState = (left: StatusRow, right: StatusRow) => (order === "state" ? rank(left) - rank(right) : 0);
  return rows.sort((left, right) => byState(left, right) || (left.id < right.id ? -1 : 1));
}

export type Share = { readonly state: string; readonly count: number };

/** How many minions are in each state, in the order of the rows. */
export function shares({ Counts: counts = {} }: JobStatus): Share[] {
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  return found
    .map(([state, count]) => ({ state, count }))
    .sort((left, right) => stateOrder.indexOf(left.state) - stateOrder.indexOf(right.state));
}

/** The lines of the arguments' field, one argument each; empty lines are left out. */
export function argumentsOf(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

/** A job of runner `jobs.batches`. */
export type ListedBatch = ListedJob & { readonly Batch: string; readonly State: string };

/** What an operator may do to a batch in this state. */
export function batchActions({ State }: Pick<ListedBatch, "State">): ("pause" | "resume" | "abort")[] {
  if (State === "running") return ["pause", "abort"];
  if (State === "pinging") return ["abort"];
  return State === "paused" ? ["resume", "abort"] : [];
}
