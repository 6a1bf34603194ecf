/** Chooses the minions of a job that one answer shows: by state, name and time, and in order of their ids for a caller that reads page by page. */
import { compileGlob } from "../../python/fnmatch.ts";
import { compareIds } from "../../store/jobs/job-cache.ts";
import type { JobStatusQuestion } from "./contract.ts";

type One = { readonly id: string; readonly state: string; readonly atMs: number };

/** @throws SaltworksError TARGET_INVALID for a bad glob */
export function minionFilter({
  minion,
  state,
  after,
  sinceMs,
}: Omit<JobStatusQuestion, "jid" | "countMax">): (one: One) => boolean {
  const glob = minion === undefined ? undefined : compileGlob(minion);
  return (one) =>
    (state === undefined || one.state === state) &&
    (sinceMs === undefined || one.atMs >= sinceMs) &&
    (after === undefined || compareIds(one.id, after) > 0) &&
    (glob?.matches(one.id) ?? true);
}

/** The first `countMax` minions in order of their ids. */
export function firstById<Minion extends { readonly id: string }>(
  wanted: readonly Minion[],
  countMax: number,
): Minion[] {
  return wanted.toSorted((a, b) => compareIds(a.id, b.id)).slice(0, countMax);
}
