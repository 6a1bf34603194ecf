/** One job of the job cache: its results, with or without its request. Shapes and texts are Salt's, which operators know. */
import { isTrue } from "../../python/values.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, textArgument } from "../contract/arguments.ts";
import type { JobReader, RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { progress } from "../contract/told.ts";
import { returnsOf } from "./batches.ts";
import { addEndTime, type Described, describeAt, sourceOf } from "./shape.ts";
import { fieldsOf } from "./stored-body.ts";

const unknownJob = "Cannot contact returner or no job with this jid";
const missingMinion = "Minion did not return";
const resultFields = ["return", "retcode", "success", "out"] as const;

type Results = Map<string, ValueMap>;

function resultsOf(context: RunnerContext, jobs: JobReader, jid: string): Results {
  const results: Results = new Map();
  for (const { minionId, body } of returnsOf(context, jobs, jid)) {
    const fields = fieldsOf(body);
    results.set(
      minionId,
      new Map(resultFields.flatMap((name) => (fields.has(name) ? [[name, fields.get(name) ?? null]] : []))),
    );
  }
  return results;
}

/** Headings, expected minions and results. */
function wholeJob(context: RunnerContext, jobs: JobReader, jid: string): Described {
  const results = resultsOf(context, jobs, jid);
  const stored = jobs.job(jid);
  if (stored === undefined) {
    const unknown: Described = new Map<string, Encodable>([["Error", unknownJob]]);
    return unknown.set("StartTime", startTimeText(jid)).set("Result", results);
  }
  const described = describeAt(jid, fieldsOf(stored.load));
  const started = described.get("StartTime");
  if (stored.minions.length > 0) {
    described.delete("StartTime");
    described.set("Minions", [...stored.minions].sort()).set("StartTime", started);
  }
  described.set("Result", results);
  addEndTime(context, jobs, jid, described);
  return described;
}

/** The outputter is the one that the first of the returns names, as state runs do. */
async function lookupJid(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  const results = resultsOf(context, jobs, jid);
  const found = new Map<string, Encodable>();
  const isReturnedWanted = args.get("returned") === undefined || isGivenTrue(args, "returned");
  for (const [id, result] of results) {
    if (args.get("display_progress") === true) await progress(context, { message: id });
    if (isReturnedWanted) found.set(id, result.get("return") ?? null);
  }
  if (isGivenTrue(args, "missing")) {
    for (const id of jobs.job(jid)?.minions ?? []) if (!results.has(id)) found.set(id, missingMinion);
  }
  const [first] = results.values();
  const outputter = first?.get("out");
  return typeof outputter === "string" && outputter !== "" ? { outputter, data: found } : found;
}

async function listJob(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  return new Map<string, Encodable>([["jid", jid], ...wholeJob(context, jobs, jid)]);
}

/** @param jid of a job that `jobs` has */
export function printed(context: RunnerContext, jobs: JobReader, jid: string): Encodable {
  return new Map([[jid, wholeJob(context, jobs, jid)]]);
}

async function printJob(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  return printed(context, await sourceOf(context, args), textArgument(args, "jid"));
}

/** As Python sees a value: empty and zero are not a success, whatever the exit code. */
async function exitSuccess(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  const succeeded = new Map<string, Encodable>();
  for (const id of jobs.job(jid)?.minions ?? []) succeeded.set(id, false);
  for (const [id, result] of resultsOf(context, jobs, jid)) {
    if (isTrue(result.get("return") ?? null)) succeeded.set(id, true);
  }
  return new Map([...succeeded].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const jobsLookup: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.lookup_jid",
    {
      parameters: parametersOf("jid!", "ext_source", "returned", "missing", "display_progress"),
      doc: "Return values of a job by minion. missing=True adds the expected minions that have not returned; returned=False leaves the others out.",
      isOffline: true,
      run: lookupJid,
    },
  ],
  [
    "jobs.list_job",
    {
      parameters: parametersOf("jid!", "ext_source", "display_progress"),
      doc: "One job: who asked for what, and every result.",
      isOffline: true,
      run: listJob,
    },
  ],
  [
    "jobs.print_job",
    {
      parameters: parametersOf("jid!", "ext_source"),
      doc: "One job under its job id: who asked for what, and every result.",
      isOffline: true,
      run: printJob,
    },
  ],
  [
    "jobs.exit_success",
    {
      parameters: parametersOf("jid!", "ext_source"),
      doc: "By minion, whether it returned a value that is not empty, zero or False. Exit codes do not count.",
      isOffline: true,
      run: exitSuccess,
    },
  ],
];
