/** A job that the tracker follows, and when it is over. */
import type { TextList } from "../../wire/text-list.ts";
import type { JobRecord, SilentReason } from "./record.ts";

export type FollowOptions = {
  readonly jid: string;
  readonly minions: TextList;
  readonly fun?: string;
  readonly user?: string;
  readonly missing?: readonly string[];
  readonly timeoutMs: number;
  readonly gatherTimeoutMs: number;
  /** The job does not wait for minions that are not connected when it begins. */
  readonly leavesAbsent?: boolean;
  /** No lower master adds minions: these were found by another job. */
  readonly isWhole?: boolean;
  readonly onReturn?: (id: string, body: () => Uint8Array) => void;
  readonly onDone: (returned: readonly string[], silent: ReadonlyMap<string, SilentReason>) => void;
};

/** `waitMs`: how long a job waits for lists of minions from lower masters, whose ids are `ids`. */
export type Below = { readonly waitMs: number; readonly ids: () => ReadonlySet<string> };

export type Followed = Pick<FollowOptions, "timeoutMs" | "gatherTimeoutMs" | "onReturn" | "onDone"> & {
  readonly record: JobRecord;
  readonly firstDeadlineMs: number;
  /** The job is not over before, because lower masters may add minions; undefined if they add none. */
  readonly listsUntilMs: number | undefined;
  /** Deadlines of minions that answered that they still run. */
  readonly laterDeadlineMs: Map<string, number>;
  /** Minions that the job does not wait for and that have not returned. */
  readonly absent: Set<string>;
  roundEndsMs: number;
  isAnyRunning: boolean;
  /** find_job is being published. */
  isAsking: boolean;
  /** Rounds in which find_job could not be published. */
  unaskedRounds: number;
  findJobJid: string | undefined;
  timer: NodeJS.Timeout | undefined;
};

/** Whether all minions have returned, except the ones that the job does not wait for, and no lower master adds more. */
export function isOver(job: Followed, nowMs: number): boolean {
  const { record, absent } = job;
  if (mayGrow(job, nowMs)) return false;
  return (
    record.minionCount - record.returnedCount <= absent.size || (record.hasFaults && record.outstanding().length === 0)
  );
}

/** Whether lower masters may still add minions. A job without any minion waits as long as one with silent minions. */
function mayGrow({ record, absent, listsUntilMs, firstDeadlineMs }: Followed, nowMs: number): boolean {
  if (listsUntilMs === undefined) return false;
  return nowMs < listsUntilMs || (record.minionCount === absent.size && nowMs < firstDeadlineMs);
}

/** Whether the job reaches other minions through this id and does not wait for itself. */
export function isOnlySyndic({ absent }: Followed, id: string, syndics: ReadonlySet<string>): boolean {
  return absent.has(id) && syndics.has(id);
}
