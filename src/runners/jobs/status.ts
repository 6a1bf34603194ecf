/** Runner functions `jobs.status`, `jobs.pending`, `jobs.cancel`: a job's state on each minion, and jobs that wait for absent minions. */

import { SaltworksError } from "../../errors.ts";
import { listedMinionsMax } from "../../limits.ts";
import { allReturns } from "../../store/jobs/job-cache.ts";
import { jidAt, startTimeText } from "../../wire/jid.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import type {
  JobStatus,
  JobStatusQuestion,
  MinionStatus,
  PendingJobStatus,
  RunnerContext,
  RunnerFunction,
} from "../contract/contract.ts";
import { firstById, minionFilter } from "../contract/minion-pages.ts";
import { masterOf } from "../contract/run-job.ts";
import { batchStatus } from "./batch-status.ts";
import { fieldsOf } from "./stored-body.ts";

export const minionStates = ["targeted", "sent", "running", "returned", "failed", "lost"];
export const unknownJob = "Cannot contact returner or no job with this jid";

async function status(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const question = questionOf(args);
  const { jid } = question;
  const found = await findStatus(context, question);
  if (found === undefined) return { [jid]: { Error: unknownJob } };
  const shown = new Map<string, Encodable>([
    ["Function", found.fun],
    ["StartTime", startTimeText(jid)],
    ["Over", found.overMs !== undefined],
  ]);
  if (found.waitsUntilMs !== undefined) shown.set("Waits-until", timeText(found.waitsUntilMs));
  shown.set("Counts", new Map(Object.entries(found.counts)));
  shown.set("Minions", new Map([...found.minions.map(shownMinion), ...unknownNames(found, question.state)]));
  if (found.omitted > 0) shown.set("Omitted", found.omitted);
  return new Map([[jid, shown]]);
}

/** From a batch's log, the master's memory or the job cache. */
export async function findStatus(context: RunnerContext, question: JobStatusQuestion): Promise<JobStatus | undefined> {
  return (
    (await batchStatus(context, question)) ??
    (await context.master?.jobStatus(question)) ??
    (await storedStatus(context, question))
  );
}

function questionOf(args: ValueMap): JobStatusQuestion {
  const state = textOrNone(args, "state");
  if (state !== undefined && !minionStates.includes(state)) {
    throw new SaltworksError(
      "FUNCTION_ARGUMENTS",
      `status() takes a state of ${minionStates.join(", ")}, not '${state}'`,
    );
  }
  const limit = Number(args.get("limit") ?? listedMinionsMax);
  if (!Number.isInteger(limit) || limit < 0)
    throw new SaltworksError("FUNCTION_ARGUMENTS", "status() takes a limit that is a whole number from 0 on");
  return { jid: String(args.get("jid")), minion: textOrNone(args, "minion"), state, countMax: limit };
}

export function shownMinion({ id, state, atMs, reason }: MinionStatus): [string, Encodable] {
  const shown = new Map<string, Encodable>([["State", state]]);
  if (atMs > 0) shown.set("Since", timeText(atMs));
  if (reason !== undefined) shown.set("Reason", reason);
  return [id, shown];
}

/** Names in the target that are not minions. They are omitted if the caller asks for a state other than `lost`. */
function unknownNames(found: JobStatus, state: string | undefined): [string, Encodable][] {
  if (state !== undefined && state !== "lost") return [];
  return [...found.unknown].map(([name, reason]) => [name, { State: "unknown", Reason: reason }]);
}

/** A job's states from the job cache alone, if the master has forgotten the job or is down. */
async function storedStatus({ jobs }: RunnerContext, question: JobStatusQuestion): Promise<JobStatus | undefined> {
  const { jid, countMax } = question;
  const stored = await jobs.job(jid);
  if (stored === undefined) return undefined;
  const counts = { returned: 0, failed: 0, lost: 0 };
  const all = new Map<string, MinionStatus>(
    stored.minions.map((id) => [id, { id, state: "lost", atMs: 0, reason: "the job cache does not have its return" }]),
  );
  for await (const { minionId: id, body } of allReturns(jobs, jid)) {
    const isFailed = Number(fieldsOf(body).get("retcode") ?? 0) !== 0;
    all.set(id, { id, state: isFailed ? "failed" : "returned", atMs: 0, reason: undefined });
  }
  for (const one of all.values()) counts[one.state as keyof typeof counts] += 1;
  const wanted = [...all.values()].filter(minionFilter(question));
  const fun = fieldsOf(stored.load).get("fun");
  return {
    fun: Array.isArray(fun) ? fun.join(",") : String(fun ?? ""),
    sentMs: undefined,
    overMs: 0,
    counts,
    minions: firstById(wanted, countMax),
    omitted: Math.max(0, wanted.length - countMax),
    unknown: new Map(),
    waitsUntilMs: undefined,
  };
}

async function pending(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const found = await masterOf(context).pendingJobs({ jid: textOrNone(args, "jid") });
  return new Map(found.map((job) => [job.jid, shownPending(job)]));
}

function shownPending(job: PendingJobStatus): Encodable {
  const shown = new Map<string, Encodable>([
    ["Function", job.fun],
    ["StartTime", timeText(job.publishedMs)],
    ["Waits-until", timeText(job.deadlineMs)],
    ["Expected", job.expected],
    ["Waiting", job.waiting],
    ["Minions", [...job.minions.keys()]],
  ]);
  const tried = [...job.minions].filter(([, count]) => count > 0);
  if (tried.length > 0) shown.set("Sent-again", new Map(tried));
  if (job.waiting > job.minions.size) shown.set("Omitted", job.waiting - job.minions.size);
  return shown;
}

async function cancel(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = String(args.get("jid"));
  const minion = textOrNone(args, "minion");
  const withdrawn = await masterOf(context).cancelPending({ jid, minion });
  if (withdrawn === undefined) throw new SaltworksError("JOB_STATE", `Job ${jid} waits for no minion`, { jid });
  if (withdrawn.length === 0)
    throw new SaltworksError("JOB_STATE", `Job ${jid} does not wait for ${minion ?? "any minion"}`, { jid });
  return new Map([[jid, [...withdrawn]]]);
}

function textOrNone(args: ValueMap, name: string): string | undefined {
  const value = args.get(name);
  return value === undefined || value === null || value === "" ? undefined : String(value);
}

/** The form of Salt's StartTime, UTC. */
export function timeText(epochMs: number): string {
  return startTimeText(jidAt(Math.round(epochMs), 0));
}

const jidParameter = { name: "jid", isRequired: true };
const optional = (name: string) => ({ name, isRequired: false });

export const jobStatusRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "jobs.status",
    {
      parameters: [jidParameter, ...["minion", "state", "limit"].map(optional)],
      doc:
        "State of a job on each minion (targeted, sent, running, returned, failed or lost), since when, and why a minion is missing. " +
        "minion=GLOB and state=STATE choose some; limit=N lists more or fewer than 1,000. After an hour, or with the master down, it shows only what the job cache holds.",
      isOffline: true,
      run: status,
    },
  ],
  [
    "jobs.pending",
    {
      parameters: [optional("jid")],
      doc: "Jobs that wait for absent minions (salt --deliver-within), with these minions.",
      run: pending,
    },
  ],
  [
    "jobs.cancel",
    {
      parameters: [jidParameter, optional("minion")],
      doc: "Withdraws a job that waits for absent minions, from all of them or from one. A minion that already has the job runs it to its end.",
      run: cancel,
    },
  ],
]);
