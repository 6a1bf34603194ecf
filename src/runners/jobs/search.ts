/** Lists jobs of the cache: searches page by page, newest first. Shapes and texts are Salt's, which operators know. */

import { SaltworksError } from "../../errors.ts";
import { listedBytesMax, listedInEventBytesMax, listedPageJobs, listedValuesMax } from "../../limits.ts";
import { isTrue } from "../../python/values.ts";
import type { JobFilter, JobQuery } from "../../store/jobs/facts.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { isGivenTrue, parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction, RunnerJobReader } from "../contract/contract.ts";
import { momentOf } from "./date-text.ts";
import { findInState, jobStateIn, openJobsOf, requestsOf } from "./job-states.ts";
import { printed } from "./lookup.ts";
import { patternsOf } from "./patterns.ts";
import { addEndTime, type Described, describe, sourceOf } from "./shape.ts";
import { fieldsOf } from "./stored-body.ts";

/** Jobs read from the store at a time. */
const pageJobs = 1_000;
const findJob = "saltutil.find_job";

/** `cutAt`: the last job listed, if older ones did not fit into the answer. */
type Listed = {
  readonly jobs: readonly (readonly [jid: string, load: ValueMap])[];
  readonly cutAt: string | undefined;
};

/** Upper bound of the bytes that headings, start and end add to a job's load. */
const describedBytes = 256;

/** Newest first, up to the size of an answer to this caller. */
async function list(
  { caller }: RunnerContext,
  jobs: RunnerJobReader,
  query: JobQuery,
  find: RunnerJobReader["find"] = (asked) => jobs.find(asked),
): Promise<Listed> {
  const bytesMax = caller?.isByEvent === true ? listedInEventBytesMax : listedBytesMax;
  const listed: (readonly [string, ValueMap])[] = [];
  let bytes = 0;
  let values = 0;
  let before = query.before;
  for (;;) {
    const limit = Math.min(pageJobs, query.limit - listed.length);
    const page = limit > 0 ? await find({ ...query, limit, before }) : [];
    for await (const { jid, load } of requestsOf(jobs, page)) {
      // The store removed the job after the search found it.
      if (load === undefined) continue;
      const fields = fieldsOf(load);
      bytes += load.byteLength + describedBytes;
      values +=
        headingCount + countOf(fields.get("arg")) + countOf(fields.get("tgt")) + countOf(fields.get("metadata"));
      if (listed.length > 0 && (bytes > bytesMax || values > listedValuesMax))
        return { jobs: listed, cutAt: listed.at(-1)?.[0] };
      listed.push([jid, fields]);
    }
    if (page.length < limit || limit <= 0) return { jobs: listed, cutAt: undefined };
    before = page.at(-1);
  }
}

/** Upper bound of the values of a listed job besides its arguments, target and metadata: headings and short values. */
const headingCount = 16;

function countOf(value: Value | undefined): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, member) => sum + countOf(member), 1);
  if (!(value instanceof Map)) return 1;
  let sum = 1;
  for (const member of value.values()) sum += 1 + countOf(member);
  return sum;
}

function say(context: RunnerContext, { jobs, cutAt }: Listed): void {
  if (cutAt === undefined) return;
  context.note?.(
    `These are the newest ${jobs.length} jobs; more do not fit into an answer. For older jobs add before=${cutAt}`,
  );
}

/** @throws SaltworksError FUNCTION_FAILED for a date that cannot be read */
function filterOf(
  args: ValueMap,
  names: { function: string; target: string; metadata: string },
): JobFilter | undefined {
  const metadata = args.get(names.metadata);
  // As in Salt, metadata that is not a map finds no job.
  if (isTrue(metadata ?? null) && !(metadata instanceof Map)) return undefined;
  const moment = (name: string) =>
    isGivenTrue(args, name) ? momentOf(textArgument(args, name), Date.now()) : undefined;
  return {
    functions: patternsOf(args.get(names.function)),
    targets: patternsOf(args.get(names.target)),
    users: patternsOf(args.get("search_user")),
    metadata: metadata instanceof Map && metadata.size > 0 ? metadata : undefined,
    from: moment("start_time"),
    until: moment("end_time"),
  };
}

/** @throws SaltworksError FUNCTION_ARGUMENTS */
function countArgument(args: ValueMap, name: string): number {
  const value = args.get(name);
  if (value === undefined || value === null) return Number.MAX_SAFE_INTEGER;
  const count = Number(value);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new SaltworksError("FUNCTION_ARGUMENTS", `${name} is a whole number, not ${String(value)}`, { name });
}

/** @param bounds of the limit; without them all jobs are listed. @throws SaltworksError FUNCTION_ARGUMENTS */
function pageOf(args: ValueMap, bounds?: typeof listedPageJobs): Pick<JobQuery, "limit" | "before"> {
  const before = textArgument(args, "before");
  const isGiven = (args.get("limit") ?? null) !== null;
  const limit = bounds !== undefined && !isGiven ? bounds.usual : countArgument(args, "limit");
  if (bounds !== undefined && (limit < 1 || limit > bounds.most))
    throw new SaltworksError("FUNCTION_ARGUMENTS", `a page has 1 to ${bounds.most} jobs, not ${limit}`);
  return { limit, before: before === "" ? undefined : before };
}

function shown(args: ValueMap, data: Encodable): Encodable {
  const outputter = textArgument(args, "outputter");
  return outputter === "" ? data : { outputter, data };
}

async function listJobs(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const source = await sourceOf(context, args);
  const names = { function: "search_function", target: "search_target", metadata: "search_metadata" };
  const filter = filterOf(args, names);
  const state = jobStateIn(textArgument(args, "search_state"));
  const isPaged = isGivenTrue(args, "paged");
  const open = isPaged || state !== undefined ? await openJobsOf(context) : undefined;
  const find = state === undefined || open === undefined ? undefined : findInState(source, open, state);
  const page = isPaged ? pageOf(args, listedPageJobs) : pageOf(args);
  // One job more shows whether there is another page.
  const limit = isPaged ? page.limit + 1 : page.limit;
  const listed = filter === undefined ? none : await list(context, source, { ...filter, ...page, limit }, find);
  if (!isPaged) say(context, listed);
  const jobs = isPaged ? listed.jobs.slice(0, page.limit) : listed.jobs.toReversed();
  const described = new Map<string, Described>();
  for (const [jid, load] of jobs) described.set(jid, describe(load).set("StartTime", startTimeText(jid)));
  if (isPaged) for (const [jid, job] of described) job.set("State", open?.get(jid) ?? "over");
  await addEndTimes(context, source, described);
  const next = listed.jobs.length > jobs.length ? jobs.at(-1)?.[0] : listed.cutAt;
  return shown(args, isPaged ? { jobs: described, next: next ?? null } : described);
}

/** Reads several jobs together, because each query reads the log of the newest returns. */
async function addEndTimes(
  context: RunnerContext,
  jobs: RunnerJobReader,
  described: ReadonlyMap<string, Described>,
): Promise<void> {
  const all = [...described];
  for (let at = 0; at < all.length; at += pageJobs) {
    const part = all.slice(at, at + pageJobs);
    await Promise.all(part.map(([jid, job]) => addEndTime(context, jobs, jid, job)));
  }
}

const none: Listed = { jobs: [], cutAt: undefined };

async function listJobsFilter(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const source = await sourceOf(context, args);
  const isFindJobHidden = args.get("filter_find_job") === undefined || isGivenTrue(args, "filter_find_job");
  const { before } = pageOf(args);
  const limit = countArgument(args, "count");
  const listed = await list(context, source, { limit, before, exceptFunction: isFindJobHidden ? findJob : undefined });
  say(context, listed);
  const described = listed.jobs
    .toReversed()
    .map(([jid, load]) => describe(load).set("JID", jid).set("StartTime", startTimeText(jid)));
  return shown(args, described);
}

/** The latest job that matches, as `print_job` shows it. */
async function lastRun(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const source = await sourceOf(context, args);
  const filter = filterOf(args, { function: "function", target: "target", metadata: "metadata" });
  const [jid] = filter === undefined ? [] : await source.find({ ...filter, limit: 1 });
  return jid === undefined ? false : shown(args, await printed(context, source, jid));
}

export const jobsSearch: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.list_jobs",
    {
      parameters: parametersOf(
        "ext_source",
        "outputter",
        "search_metadata",
        "search_function",
        "search_target",
        "start_time",
        "end_time",
        "display_progress",
        "search_user",
        "limit",
        "before",
        "search_state",
        "paged",
      ),
      doc: "Jobs of the job cache by job id. All conditions must hold: search_function, search_target (the target as it was given) and search_user take globs, separated by commas or as a list; of search_metadata one equal pair suffices; start_time and end_time are dates; search_state is running, paused, waiting or over. limit=N gives the newest N, before=JID those before that one. paged=True gives one page, newest first, with each job's state, and what to give as `before` for the next page.",
      isOffline: true,
      run: listJobs,
    },
  ],
  [
    "jobs.list_jobs_filter",
    {
      parameters: parametersOf("count!", "filter_find_job", "ext_source", "outputter", "display_progress", "before"),
      doc: "The newest `count` jobs, without saltutil.find_job unless filter_find_job=False. before=JID lists jobs before that one.",
      isOffline: true,
      run: listJobsFilter,
    },
  ],
  [
    "jobs.last_run",
    {
      parameters: parametersOf("ext_source", "outputter", "metadata", "function", "target", "display_progress"),
      doc: "The latest matching job, with its results; False without one.",
      isOffline: true,
      run: lastRun,
    },
  ],
];
