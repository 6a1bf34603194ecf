/** Finds jobs by their state. The master knows the jobs that are not over; all others are over. */
import { SaltworksError } from "../../errors.ts";
import { compareNewestFirst, hasFacts, isInRange, type JobQuery, readJobFacts } from "../../store/jobs/facts.ts";
import { type JobState, jobStates } from "../../store/jobs/job-states.ts";
import type { RunnerContext, RunnerJobReader } from "../contract/contract.ts";

export type OpenJobs = ReadonlyMap<string, JobState>;
type Find = RunnerJobReader["find"];

/** Jobs whose loads are read together. */
const requestsAtOnce = 16;

/** The jobs that are not over. While the master is down there are none. */
export async function openJobsOf({ master }: RunnerContext): Promise<OpenJobs> {
  return (await master?.openJobs()) ?? new Map();
}

/** @throws SaltworksError FUNCTION_ARGUMENTS */
export function jobStateIn(text: string): JobState | undefined {
  const state = jobStates.find((known) => known === text);
  if (state !== undefined || text === "") return state;
  throw new SaltworksError("FUNCTION_ARGUMENTS", `search_state is one of ${jobStates.join(", ")}, not '${text}'`);
}

/** A search like `jobs.find`, for jobs in this state only. Reads no job that is over if others are asked for. */
export function findInState(jobs: RunnerJobReader, open: OpenJobs, state: JobState): Find {
  if (state === "over") return (query) => findOver(jobs, open, query);
  const jids = [...open].flatMap(([jid, known]) => (known === state ? [jid] : []));
  return (query) => findAmong(jobs, jids, query);
}

async function findAmong(jobs: RunnerJobReader, jids: readonly string[], query: JobQuery): Promise<string[]> {
  const candidates = jids.filter((jid) => isInRange(jid, query)).sort(compareNewestFirst);
  const found: string[] = [];
  for await (const { jid, load } of requestsOf(jobs, candidates)) {
    if (found.length >= query.limit) break;
    if (load !== undefined && hasFacts(readJobFacts(load), query)) found.push(jid);
  }
  return found;
}

/** Pages of the whole search, without the few jobs that are not over. */
async function findOver(jobs: RunnerJobReader, open: OpenJobs, query: JobQuery): Promise<string[]> {
  const found: string[] = [];
  for (let before = query.before; ; ) {
    const limit = query.limit - found.length;
    if (limit <= 0) return found;
    const page = await jobs.find({ ...query, limit, before });
    found.push(...page.filter((jid) => !open.has(jid)));
    if (page.length < limit) return found;
    before = page.at(-1);
  }
}

export async function* requestsOf(
  jobs: RunnerJobReader,
  jids: readonly string[],
): AsyncGenerator<{ readonly jid: string; readonly load: Uint8Array | undefined }, void> {
  for (let at = 0; at < jids.length; at += requestsAtOnce) {
    const part = jids.slice(at, at + requestsAtOnce);
    yield* await Promise.all(part.map(async (jid) => ({ jid, load: await jobs.request(jid) })));
  }
}
