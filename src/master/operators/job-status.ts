/** Answers `jobs.status`, `jobs.pending` and the wheel function `saltworks.job_end` from the tracker and the deliveries. */
import { SaltworksError } from "../../errors.ts";
import { listedMinionsMax } from "../../limits.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import type { JobStatus, JobStatusQuestion, MinionStatus, PendingJobStatus } from "../../runners/contract/contract.ts";
import { firstById, minionFilter } from "../../runners/contract/minion-pages.ts";
import type { JobState } from "../../store/jobs/job-states.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { reasonFor } from "../jobs/reasons.ts";
import { funText, type MinionRecord } from "../jobs/record.ts";
import type { Asker } from "./granted-minions.ts";

/** Lists at most `countMax` minions, outstanding ones first. @throws SaltworksError TARGET_INVALID for a bad glob */
export function jobStatus(jobs: Jobs, question: JobStatusQuestion, nowMs: number): JobStatus | undefined {
  const { jid, minion, after, countMax } = question;
  const record = jobs.tracker.record(jid);
  if (record === undefined) return undefined;
  const glob = minion === undefined ? undefined : compileGlob(minion);
  const isWanted = minionFilter(question);
  const outstanding: MinionRecord[] = [];
  const returned: MinionRecord[] = [];
  let wantedCount = 0;
  let lastMs: number | undefined;
  for (const one of record.records()) {
    lastMs = Math.max(lastMs ?? one.atMs, one.atMs);
    if (!isWanted(one)) continue;
    wantedCount += 1;
    const list = one.state === "returned" || one.state === "failed" ? returned : outstanding;
    if (after !== undefined || list.length < countMax) list.push(one);
  }
  const wanted = [...outstanding, ...returned];
  const listed = firstById(after === undefined ? wanted.slice(0, countMax) : wanted, countMax);
  return {
    fun: record.fun,
    sentMs: record.sentMs,
    overMs: record.overMs ?? (record.isComplete ? lastMs : undefined),
    counts: record.counts(),
    minions: listed.map((one): MinionStatus => {
      return {
        id: one.id,
        state: one.state,
        atMs: one.atMs,
        reason: reasonFor(record, one, jobs.reasonSources, nowMs),
      };
    }),
    omitted: wantedCount - listed.length,
    unknown: jobs.keyReasons(record.missing.filter((name) => name !== "" && (glob?.matches(name) ?? true))),
    waitsUntilMs: jobs.deliveries.job(jid)?.record.deadlineMs,
  };
}

/** A wheel function that the main thread answers. `asker`: the caller, if it is a restricted user. */
export type DirectFunction = (kwargs: ValueMap, asker?: Asker) => Promise<Encodable>;

/** A client that has received no event for a while asks this function whether its job is over. */
export function jobFunctions(jobs: Jobs): ReadonlyMap<string, DirectFunction> {
  return new Map([
    ["saltworks.job_end", async (kwargs, asker) => jobEnd(jobs, String(kwargs.get("jid")), asker?.user)],
  ]);
}

/** Returns the data of the job's `done` event. @throws SaltworksError FUNCTION_FAILED for another user's job */
function jobEnd(jobs: Jobs, jid: string, owner: string | undefined): Encodable {
  const record = jobs.tracker.record(jid);
  if (record === undefined) return { state: "unknown" };
  if (owner !== undefined && record.user !== owner)
    throw new SaltworksError("FUNCTION_FAILED", `job ${jid} is not one of ${owner}'s`, { jid });
  if (jobs.tracker.isFollowed(jid)) return { state: "running" };
  const silent = record.silent();
  return { state: "over", returned: record.returnedIds(), silent, reasons: jobs.reasonsOf(record, silent.keys()) };
}

/** The jobs that are not over: those with minions to come, batch jobs, and jobs that wait for absent minions. */
export function openJobs(jobs: Jobs, batches: ReadonlyMap<string, { readonly state: string }>): Map<string, JobState> {
  const open = new Map<string, JobState>();
  for (const { jid } of jobs.deliveries.jobs()) open.set(jid, "waiting");
  for (const jid of jobs.tracker.openJids()) open.set(jid, "running");
  for (const [jid, { state }] of batches) open.set(jid, state === "paused" ? "paused" : "running");
  return open;
}

export function pendingJobs(jobs: Jobs, jid: string | undefined): PendingJobStatus[] {
  const waiting = jobs.deliveries.jobs().filter((job) => jid === undefined || job.jid === jid);
  return waiting.map((job) => {
    const { publishedMs, deadlineMs, fields } = job.record;
    const named = job.left().slice(0, listedMinionsMax);
    return {
      jid: job.jid,
      fun: funText(fields.get("fun") ?? ""),
      publishedMs,
      deadlineMs,
      expected: job.minionCount,
      waiting: job.leftCount,
      minions: new Map(named.sort().map((id) => [id, job.tries(id)] as const)),
    };
  });
}
