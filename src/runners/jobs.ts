/** Runner `jobs`: what the job cache holds, and what runs now. Shapes and texts are those that operators know from Salt. */
import { SaltworksError } from "../errors.ts";
import { startTimeText } from "../wire/jid.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import type { JobReader, RunnerContext, RunnerFunction, StoredLoad } from "./contract.ts";
import { fieldsOf } from "./stored-body.ts";

/** `list_jobs` reads one load per job; beyond this the list is cut, newest kept. */
const listedJobsMax = 100_000;

/** Function, arguments, target and user of a job, under Salt's headings. */
function describe(load: ValueMap): Map<string, Encodable> {
  const described = new Map<string, Encodable>([
    ["Function", load.get("fun") ?? "unknown-function"],
    ["Arguments", load.get("arg") ?? []],
    ["Target", load.get("tgt") ?? "unknown-target"],
    ["Target-type", load.get("tgt_type") ?? "list"],
    ["User", load.get("user") ?? "root"],
  ]);
  const metadata = metadataOf(load);
  if (metadata !== undefined) described.set("Metadata", metadata);
  return described;
}

function metadataOf(load: ValueMap): Value | undefined {
  const kwargs = load.get("kwargs");
  return load.get("metadata") ?? (kwargs instanceof Map ? kwargs.get("metadata") : undefined);
}

function describeStored(stored: StoredLoad): Map<string, Encodable> {
  return describe(fieldsOf(stored.load)).set("StartTime", startTimeText(stored.jid));
}

function textArgument(args: ValueMap, name: string): string {
  const value = args.get(name);
  return value === undefined || value === null ? "" : String(value);
}

function listJobs(context: RunnerContext): Encodable {
  const listed = new Map<string, Encodable>();
  for (const jid of context.jobs.listJids({ newestFirst: false, limit: listedJobsMax })) {
    const stored = context.jobs.getLoad(jid);
    if (stored !== undefined) listed.set(jid, describeStored(stored));
  }
  return listed;
}

function lookupJid(context: RunnerContext, args: ValueMap): Encodable {
  const jid = textArgument(args, "jid");
  const found = new Map<string, Encodable>();
  if (args.get("returned") !== false) {
    for (const { minionId, body } of context.jobs.getReturns(jid))
      found.set(minionId, fieldsOf(body).get("return") ?? null);
  }
  if (args.get("missing") === true) {
    const returned = new Set(context.jobs.getReturns(jid).map((stored) => stored.minionId));
    const expected = context.jobs.getLoad(jid)?.minions ?? [];
    for (const id of expected) if (!returned.has(id)) found.set(id, "Minion did not return");
  }
  return found;
}

function results(jobs: JobReader, jid: string): Map<string, Encodable> {
  const shown = new Map<string, Encodable>();
  for (const { minionId, body } of jobs.getReturns(jid)) {
    const fields = fieldsOf(body);
    const result = new Map<string, Encodable>();
    for (const name of ["return", "retcode", "success"]) if (fields.has(name)) result.set(name, fields.get(name));
    shown.set(minionId, result);
  }
  return shown;
}

function jobWithResults(context: RunnerContext, jid: string): Map<string, Encodable> {
  const stored = context.jobs.getLoad(jid);
  if (stored === undefined) {
    const unknown = new Map<string, Encodable>([["Error", "Cannot contact returner or no job with this jid"]]);
    return unknown.set("StartTime", startTimeText(jid)).set("Result", new Map());
  }
  const described = describe(fieldsOf(stored.load));
  described.set("Minions", [...stored.minions].sort());
  described.set("StartTime", startTimeText(jid));
  return described.set("Result", results(context.jobs, jid));
}

function listJob(context: RunnerContext, args: ValueMap): Encodable {
  const jid = textArgument(args, "jid");
  return new Map<string, Encodable>([["jid", jid], ...jobWithResults(context, jid)]);
}

function printJob(context: RunnerContext, args: ValueMap): Encodable {
  const jid = textArgument(args, "jid");
  return new Map([[jid, jobWithResults(context, jid)]]);
}

/** Asks every minion what it runs; one entry per job, with the minions that run it and those that have returned. */
async function active(context: RunnerContext): Promise<Encodable> {
  if (context.master === undefined)
    throw new SaltworksError("MASTER_UNREACHABLE", "jobs.active asks the minions, which takes a running master");
  const { timeout, gather_job_timeout: gatherSeconds } = context.config;
  const outcome = await context.master.runJob({
    fun: "saltutil.running",
    arg: [],
    target: "*",
    targetKind: "glob",
    timeoutMs: timeout * 1_000,
    gatherTimeoutMs: gatherSeconds * 1_000,
  });
  const jobs = new Map<string, Map<string, Encodable>>();
  const running = new Map<string, Encodable[]>();
  for (const [id, value] of outcome.returns) {
    for (const record of Array.isArray(value) ? value : []) {
      if (!(record instanceof Map)) continue;
      const jid = String(record.get("jid"));
      const where = running.get(jid) ?? [];
      where.push(new Map([[id, record.get("pid") ?? null]]));
      running.set(jid, where);
      if (!jobs.has(jid)) jobs.set(jid, describe(record).set("StartTime", startTimeText(jid)));
    }
  }
  for (const [jid, described] of jobs) {
    described.set("Running", running.get(jid) ?? []);
    described.set(
      "Returned",
      context.jobs.getReturns(jid).map((stored) => stored.minionId),
    );
  }
  return jobs;
}

const jidParameter = { name: "jid", isRequired: true };

export const jobsRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "jobs.active",
    { parameters: [], doc: "Jobs that run now, by job id, with the minions that run them.", run: active },
  ],
  ["jobs.list_jobs", { parameters: [], doc: "Every job in the job cache, by job id.", isOffline: true, run: listJobs }],
  [
    "jobs.list_job",
    {
      parameters: [jidParameter],
      doc: "One job: who asked for what, and every result.",
      isOffline: true,
      run: listJob,
    },
  ],
  [
    "jobs.print_job",
    {
      parameters: [jidParameter],
      doc: "One job under its job id: who asked for what, and every result.",
      isOffline: true,
      run: printJob,
    },
  ],
  [
    "jobs.lookup_jid",
    {
      parameters: [jidParameter, { name: "missing", isRequired: false }, { name: "returned", isRequired: false }],
      doc: "Return values of a job by minion. missing=True adds the expected minions that have not returned; returned=False leaves the others out.",
      isOffline: true,
      run: lookupJid,
    },
  ],
]);
