/** Schemas of `/jobs`. */
import { listedPageJobs, listedPageMinions } from "../../limits.ts";
import { jobStates } from "../../store/jobs/job-states.ts";
import {
  answers,
  anything,
  bySession,
  type Components,
  closed,
  errors,
  listOf,
  mapOf,
  object,
  type RouteSchema,
  ref,
  type Schema,
  streamOf,
  text,
  texts,
} from "./forms.ts";

const tags = ["jobs"];

/** States of one minion of a job. `unknown`: a name in the target without an accepted key. */
export const minionStates = ["targeted", "sent", "running", "returned", "failed", "lost", "unknown"] as const;

const record: Readonly<Record<string, Schema>> = {
  Function: { type: ["string", "array"], items: text },
  Arguments: { description: "A list; of a runner also a map." },
  Target: { description: "A text, or a list of minions." },
  "Target-type": { type: ["string", "array"] },
  User: text,
  StartTime: { type: "string", description: "UTC, such as `2026, Nov 20 15:37:28.757146`." },
  State: { enum: jobStates, description: "Only in pages." },
};
const count = { type: "integer", minimum: 0 };
const shownMinion = { State: { enum: minionStates }, Since: text, Reason: text };

export const jobComponents: Components = {
  Job: object(record),
  Jobs: { ...mapOf(ref("Job")), description: "Jobs by their ids." },
  JobLinks: closed({
    next: { ...listOf(closed({ href: text })), description: "The next page. Empty on the last one." },
  }),
  JobRecord: object(
    {
      jid: text,
      ...record,
      Minions: texts,
      Result: mapOf(object({ return: anything, retcode: { type: "integer" }, success: { type: "boolean" } })),
      EndTime: text,
      Error: { type: "string", description: "There is no such job." },
    },
    ["jid"],
  ),
  JobMinion: object(shownMinion, ["State"]),
  JobCounts: { ...mapOf(count), description: "Minions in each state." },
  JobMinions: object(
    {
      Function: record.Function ?? anything,
      StartTime: text,
      Over: { type: "boolean" },
      Counts: ref("JobCounts"),
      Minions: { ...mapOf(ref("JobMinion")), description: "In order of their ids." },
    },
    ["Minions"],
  ),
  JobMinionLine: {
    anyOf: [
      object({ id: text, ...shownMinion }, ["id", "State"]),
      closed({ done: { const: true }, counts: ref("JobCounts") }),
      ref("Error"),
    ],
    description: "A minion's new state. The last line is `done`, or the error that ended the request.",
  },
};

const jid = object(
  {
    jid: {
      type: "string",
      pattern: "^[^/\\\\\\u0000-\\u001f\\u007f]{1,64}$",
      description: "The job's id.",
      examples: ["20261120153728757146"],
    },
  },
  ["jid"],
);
const optional = (description: string): Schema => ({ type: "string", description });
const limit = ({ usual, most }: { readonly usual: number; readonly most: number }): Schema => ({
  type: "integer",
  minimum: 1,
  maximum: most,
  default: usual,
});

export const listJobsSchema: RouteSchema = {
  operationId: "listJobs",
  summary: "Lists jobs.",
  description: "Without a query all jobs, as in Salt. With a query one page, newest first.",
  tags,
  security: bySession,
  querystring: object({
    limit: limit(listedPageJobs),
    after: optional("The last job of the page before."),
    fun: optional("Globs of functions, separated by commas."),
    user: optional("Globs of users, separated by commas."),
    target: optional("Globs of targets as they were given, or of names in a list."),
    since: optional("A date in UTC such as `2026-11-20 15:33:00`, or a job id."),
    until: optional("A date in UTC such as `2026-11-20 15:33:00`, or a job id."),
    state: { type: "string", enum: jobStates },
  }),
  response: {
    200: answers(
      "The jobs; `_links` only in pages.",
      closed({ return: listOf(ref("Jobs")), _links: ref("JobLinks") }, ["return"]),
    ),
  },
  "x-errors": errors(401, 504),
};

export const getJobSchema: RouteSchema = {
  operationId: "getJob",
  summary: "One job: its record, and what minions returned.",
  description: "Of an unknown job `info` has `Error`, and the status is 200, as in Salt.",
  tags,
  security: bySession,
  params: jid,
  response: { 200: answers("The job.", closed({ info: listOf(ref("JobRecord")), return: listOf(mapOf(anything)) })) },
  "x-errors": errors(401, 404, 504),
};

const page = answers(
  "A page of the job's minions, or a line for each.",
  closed({ return: listOf(ref("JobMinions")), _links: ref("JobLinks") }),
);

export const listJobMinionsSchema: RouteSchema = {
  operationId: "listJobMinions",
  summary: "The minions of a job, with their states and why they are missing.",
  description:
    "With `Accept: application/x-ndjson` a line for each minion, and one for each change until the job is over.",
  tags,
  security: bySession,
  params: jid,
  querystring: object({
    limit: limit(listedPageMinions),
    after: optional("The last minion of the page before."),
    state: { type: "string", enum: minionStates },
    minion: optional("A glob."),
  }),
  response: {
    200: { ...page, content: { ...page.content, "application/x-ndjson": streamOf(ref("JobMinionLine")) } },
  },
  "x-errors": errors(401, 404, 504),
};

/** What can be done with a job that is not over: a batch job, or, by `cancel`, one that waits for minions that are away. */
export const jobActions = ["pause", "resume", "abort", "cancel"] as const;
export type JobAction = (typeof jobActions)[number];

const effects: Readonly<Record<JobAction, string>> = {
  pause: "Pauses a batch: no more minions are started.",
  resume: "Resumes a batch that is paused.",
  abort: "Aborts a batch.",
  cancel: "Withdraws a job that waits for minions.",
};

export function controlJobSchema(action: JobAction): RouteSchema {
  return {
    operationId: `${action}Job`,
    summary: effects[action],
    description: `Needs the permission for the runner \`jobs.${action}\`.`,
    tags,
    security: bySession,
    params: jid,
    response: { 200: answers("Done. What the runner says.", closed({ return: listOf(anything) })) },
    "x-errors": errors(401, 404, 409, 413, 504),
  };
}
