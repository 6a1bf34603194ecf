/** What a migration reads, and where it writes it. docs/databases.md, "Moving jobs". */
import type { ImportedEnd, ImportedJob, ImportedReturn } from "../../store/jobs/job-import.ts";

/**
 * How far a migration has come: all jobs up to `job`, a place in the source's own order. `minion`: of this job only the returns up to this minion; an
 * empty text if there is none yet.
 */
export type Cursor = { readonly job: string; readonly minion?: string };

export type MigratedItem =
  | { readonly kind: "job"; readonly job: ImportedJob }
  | ({ readonly kind: "return" } & ImportedReturn)
  | ({ readonly kind: "end" } & ImportedEnd)
  /** Left out: a file, job or return, and the reason. */
  | LeftOut
  /** All of a job has been read. */
  | { readonly kind: "passed" };
export type LeftOut = { readonly kind: "leftOut"; readonly what: string; readonly reason: string };
/** `cursor`: where to go on once the item is in the target. */
export type MigratedRecord = { readonly item: MigratedItem; readonly cursor: Cursor };

/** A former job cache. It fails with SaltworksError DATABASE_FAILED, DATABASE_REFUSED or STORE_FAILED. */
export interface MigrationSource {
  /** Where the jobs are, for messages: a path, or an address without a password. */
  readonly place: string;
  check(): Promise<void>;
  /** About how many jobs there are. */
  jobCount(): Promise<number | undefined>;
  /** All records behind the cursor. */
  records(from: Cursor | undefined): AsyncGenerator<MigratedRecord>;
  close(): Promise<void>;
}

/** `refused`: records that the target does not take for what they hold. */
export type MigrationWritten = {
  readonly jobs: number;
  readonly returns: number;
  readonly present: number;
  readonly refused: readonly LeftOut[];
};

/** The job cache that gets the jobs. Writes each record once, whatever an earlier attempt has written. */
export interface MigrationTarget {
  readonly place: string;
  check(): Promise<void>;
  /** @throws SaltworksError DATABASE_FAILED, STORE_FAILED; the whole batch may then be written again */
  write(items: readonly MigratedItem[]): Promise<MigrationWritten>;
  close(): Promise<void>;
}

export function jobName(jid: string): string {
  return `job ${JSON.stringify(jid)}`;
}

export function returnName(jid: string, minionId: string): string {
  return `return of minion ${JSON.stringify(minionId)} of ${jobName(jid)}`;
}

export function leftOut(what: string, reason: string): LeftOut {
  return { kind: "leftOut", what, reason };
}
