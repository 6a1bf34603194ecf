/** What a migration reads from one job cache and writes into another. docs/databases.md, "Moving jobs". */
import type { LoadRecord } from "./job-cache.ts";

export type ImportedJob = Omit<LoadRecord, "isTakenOver">;
/** `atMs`: when the return came, if that is known. */
export type ImportedReturn = {
  readonly jid: string;
  readonly minionId: string;
  readonly body: Uint8Array;
  readonly atMs?: number | undefined;
};
/** `end`: when the job's last return came, in the form of Salt's StartTime. */
export type ImportedEnd = { readonly jid: string; readonly end: string };
export type ImportBatch = {
  readonly jobs: readonly ImportedJob[];
  readonly returns: readonly ImportedReturn[];
  readonly ends: readonly ImportedEnd[];
};
/** Records that were added. `present`: jobs and returns that the cache had already, which stay as they are. */
export type Imported = { readonly jobs: number; readonly returns: number; readonly present: number };

/** Adds records to a job cache, also while others write it. What it adds is not fed to a database. */
export interface JobImport {
  /** Why the cache cannot hold the name of a job, or of one of its returns; undefined if it can. */
  refusalOf(jid: string, minionId?: string): string | undefined;
  /** @throws SaltworksError STORE_FAILED */
  write(batch: ImportBatch): Promise<Imported>;
  close(): Promise<void>;
}

/** Lists all jobs of a job cache. */
export interface JobWalk {
  /** Ids that have a job or a return, each once, in an order of the cache's own. `after`: the last id of the page before. */
  jids(o: { readonly after: string | undefined; readonly limit: number }): readonly string[];
  /** About how many jobs there are. */
  jobCount(): number;
  close(): Promise<void>;
}
