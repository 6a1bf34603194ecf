/** One job of the job cache: its results, with or without its request. Shapes and texts are Salt's, which operators know. */
import { isTrue } from "../../python/values.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, textArgument } from "../contract/arguments.ts";
import { progress } from "../contract/caller-events.ts";
import type { RunnerContext, RunnerFunction, RunnerJobReader } from "../contract/contract.ts";
import { returnsOf } from "./batches.ts";
import { HeldReturns } from "./held-returns.ts";
import { addEndTime, type Described, describeAt, sourceOf } from "./shape.ts";
import { fieldsOf } from "./stored-body.ts";

const unknownJob = "Cannot contact returner or no job with this jid";
const missingMinion = "Minion did not return";
const resultFields = ["return", "retcode", "success", "out"] as const;

type Results = Map<string, ValueMap>;

async function resultsOf(context: RunnerContext, jobs: RunnerJobReader, jid: string): Promise<Results> {
  const results: Results = new Map();
  const held = new HeldReturns();
  for await (const { minionId, body } of returnsOf(context, jobs, jid)) {
    held.add(body);
    const fields = fieldsOf(body);
    results.set(
      minionId,
      new Map(resultFields.flatMap((name) => (fields.has(name) ? [[name, fields.get(name) ?? null]] : []))),
    );
  }
  return results;
}

/** Headings, expected minions and results. */
async function wholeJob(context: RunnerContext, jobs: RunnerJobReader, jid: string): Promise<Described> {
  const results = await resultsOf(context, jobs, jid);
  const stored = await jobs.job(jid);
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
  await addEndTime(context, jobs, jid, described);
  return described;
}

/** Takes the outputter that the first return names, as state runs do. */
async function lookupJid(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  const isReturnedWanted = args.get("returned") === undefined || isGivenTrue(args, "returned");
  const found = new Map<string, Encodable>();
  const returned = new Set<string>();
  const held = new HeldReturns();
  let outputter: Value | undefined;
  for await (const { minionId, body } of returnsOf(context, jobs, jid)) {
    if (args.get("display_progress") === true) await progress(context, { message: minionId });
    const fields = fieldsOf(body);
    if (returned.size === 0) outputter = fields.get("out");
    returned.add(minionId);
    if (!isReturnedWanted) continue;
    held.add(body);
    found.set(minionId, fields.get("return") ?? null);
  }
  if (isGivenTrue(args, "missing")) {
    for (const id of (await jobs.job(jid))?.minions ?? []) if (!returned.has(id)) found.set(id, missingMinion);
  }
  return typeof outputter === "string" && outputter !== "" ? { outputter, data: found } : found;
}

async function listJob(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  return new Map<string, Encodable>([["jid", jid], ...(await wholeJob(context, jobs, jid))]);
}

/** @param jid of a job that `jobs` has */
export async function printed(context: RunnerContext, jobs: RunnerJobReader, jid: string): Promise<Encodable> {
  return new Map([[jid, await wholeJob(context, jobs, jid)]]);
}

async function printJob(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  return await printed(context, await sourceOf(context, args), textArgument(args, "jid"));
}

/** By Python's truth: an empty value or zero is not a success, whatever the exit code. */
async function exitSuccess(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = textArgument(args, "jid");
  const jobs = await sourceOf(context, args);
  const succeeded = new Map<string, Encodable>();
  for (const id of (await jobs.job(jid))?.minions ?? []) succeeded.set(id, false);
  for await (const { minionId, body } of returnsOf(context, jobs, jid)) {
    if (isTrue(fieldsOf(body).get("return") ?? null)) succeeded.set(minionId, true);
  }
  return new Map([...succeeded].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const jobsLookup: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.lookup_jid",
    {
      parameters: parametersOf("jid!", "ext_source", "returned", "missing", "display_progress"),
      doc: "Return values of a job by minion. missing=True adds the expected minions that have not returned; returned=False omits the minions that have.",
      isOffline: true,
      run: lookupJid,
    },
  ],
  [
    "jobs.list_job",
    {
      parameters: parametersOf("jid!", "ext_source", "display_progress"),
      doc: "One job: its user, function and target, and all results.",
      isOffline: true,
      run: listJob,
    },
  ],
  [
    "jobs.print_job",
    {
      parameters: parametersOf("jid!", "ext_source"),
      doc: "One job under its job id: its user, function and target, and all results.",
      isOffline: true,
      run: printJob,
    },
  ],
  [
    "jobs.exit_success",
    {
      parameters: parametersOf("jid!", "ext_source"),
      doc: "For each minion, whether it returned a value other than an empty one, zero or False. Ignores exit codes.",
      isOffline: true,
      run: exitSuccess,
    },
  ],
];
