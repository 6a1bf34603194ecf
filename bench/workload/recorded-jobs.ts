/** What a master's job cache tells of its days: for each function how often, to how many minions, and with which returns and delays. */
import { openJobCacheReadOnly } from "../../src/client/read-job-cache.ts";
import type { MasterConfig } from "../../src/config/load.ts";
import { returnPageBytesMax } from "../../src/limits.ts";
import { compareIds, type JobCacheReader, type StoredReturn } from "../../src/store/jobs/job-cache.ts";
import { isJid, jidTime } from "../../src/wire/jid.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { ValueMap } from "../../src/wire/values.ts";

/** Jobs of one function. `targets`: expected minions of each; `bytes` and `delaysMs`: of a sample of the returns. */
export type FunctionRecord = {
  readonly name: string;
  readonly targets: number[];
  readonly bytes: number[];
  readonly delaysMs: number[];
};

export type RecordedJobs = {
  /** The time that the jobs are of: all that was asked for and that the cache keeps, or from the oldest job that was read. */
  readonly seconds: number;
  /** Jobs that operators published, by function. */
  readonly published: ReadonlyMap<string, FunctionRecord>;
  /** Jobs that minions ran by themselves: schedules and `salt-call`. */
  readonly own: ReadonlyMap<string, FunctionRecord>;
  /** Returns of published jobs and own ones in the hour that has most, and the mean of all hours. */
  readonly busiestHourFactor: number;
  /** Jobs within the time that were left out because there are more than `jobsMax`. */
  readonly jobsLeftOut: number;
};

const jobsMax = 20_000;
/** Returns read of one job, spread over its minions, and of all jobs of a function. */
const returnsPerJobMax = 50;
const returnsPerFunctionMax = 2_000;
const msPerHour = 3_600_000;

type Asked = {
  readonly hours: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** Called for each job that was read. */
  readonly onJob: () => void;
};
type Kept = Pick<MasterConfig, "keep_jobs_seconds" | "keep_jobs_count">;
type Reader = Pick<JobCacheReader, "job" | "list" | "returns">;

export async function recordJobs(config: MasterConfig, o: Asked): Promise<RecordedJobs> {
  const jobs = openJobCacheReadOnly(config);
  try {
    return await recordFrom(jobs, config, o);
  } finally {
    await jobs.close();
  }
}

/** `kept`: how long the cache keeps jobs. */
export async function recordFrom(jobs: Reader, kept: Kept, o: Asked): Promise<RecordedJobs> {
  const hoursKept = kept.keep_jobs_seconds === 0 ? o.hours : (kept.keep_jobs_seconds * 1_000) / msPerHour;
  const sinceMs = o.nowMs - Math.min(o.hours, hoursKept) * msPerHour;
  const listed = await jobs.list({ newestFirst: true, limit: jobsMax + 1 });
  const dated = listed.flatMap((jid) => {
    const atMs = isJid(jid) ? jidTime(jid).getTime() : undefined;
    return atMs === undefined || atMs < sinceMs || atMs > o.nowMs ? [] : [{ jid, atMs }];
  });
  const read = dated.slice(0, jobsMax);
  const published = new Map<string, FunctionRecord>();
  const own = new Map<string, FunctionRecord>();
  const returnsByHour = new Map<number, number>();
  for (const { jid, atMs } of read) {
    o.signal.throwIfAborted();
    const found = await jobs.job(jid);
    o.onJob();
    if (found === undefined) continue;
    const load = decode(found.load);
    if (!(load instanceof Map)) continue;
    const name = nameOf(load);
    const into = isOwn(load) ? own : published;
    const record = into.get(name) ?? { name, targets: [], bytes: [], delaysMs: [] };
    into.set(name, record);
    record.targets.push(found.minions.length);
    const hour = Math.floor((o.nowMs - atMs) / msPerHour);
    returnsByHour.set(hour, (returnsByHour.get(hour) ?? 0) + found.minions.length);
    if (record.bytes.length < returnsPerFunctionMax)
      await sampleReturns(jobs, { jid, publishedMs: atMs, minions: found.minions }, record);
  }
  const jobsLeftOut = dated.length - read.length;
  // Of older jobs nothing is known.
  const isCut = jobsLeftOut > 0 || (kept.keep_jobs_count > 0 && listed.length >= kept.keep_jobs_count);
  const seconds = Math.max(1, (o.nowMs - (isCut ? (read.at(-1)?.atMs ?? sinceMs) : sinceMs)) / 1_000);
  const busiestHourFactor = busiestFactor([...returnsByHour.values()], seconds);
  return { seconds, published, own, busiestHourFactor, jobsLeftOut };
}

/** `counts`: returns of each hour that has any. */
function busiestFactor(counts: readonly number[], seconds: number): number {
  const mean = counts.reduce((sum, count) => sum + count, 0) / Math.max(1, (seconds * 1_000) / msPerHour);
  return mean > 0 ? Math.max(1, Math.max(...counts) / mean) : 1;
}

type SampledJob = { readonly jid: string; readonly publishedMs: number; readonly minions: readonly string[] };

async function sampleReturns(
  jobs: Pick<Reader, "returns">,
  job: SampledJob,
  { bytes, delaysMs }: FunctionRecord,
): Promise<void> {
  for await (const { body } of spreadReturns(jobs, job)) {
    const load = decode(body);
    if (!(load instanceof Map)) continue;
    bytes.push(encode(load.get("return") ?? null, "bin").length);
    // In UTC without a zone, as minions send it.
    const stamp = load.get("_stamp");
    const delayMs = typeof stamp === "string" ? Date.parse(`${stamp}Z`) - job.publishedMs : Number.NaN;
    if (delayMs >= 0 && delayMs < msPerHour) delaysMs.push(delayMs);
  }
}

/** At most `returnsPerJobMax`: the first one after each of as many marks, which are spread over all minions of the job. */
async function* spreadReturns(
  jobs: Pick<Reader, "returns">,
  { jid, minions }: SampledJob,
): AsyncGenerator<StoredReturn, void> {
  const ids = minions.toSorted(compareIds);
  let after: string | undefined;
  for (let step = 0; step < returnsPerJobMax; step += 1) {
    const mark = ids[Math.floor((step * ids.length) / returnsPerJobMax) - 1];
    if (mark !== undefined && (after === undefined || compareIds(mark, after) > 0)) after = mark;
    const { returns } = await jobs.returns(jid, { after, limit: 1, bytesMax: returnPageBytesMax });
    const [found] = returns;
    if (found === undefined) return;
    yield found;
    after = found.minionId;
  }
}

function nameOf(load: ValueMap): string {
  const fun = load.get("fun");
  return typeof fun === "string" ? fun : Array.isArray(fun) ? fun.map(String).join(",") : "unknown";
}

/** The load of a job that a minion started is made from its return. */
function isOwn(load: ValueMap): boolean {
  return load.has("fun_args") || load.has("retcode") || load.has("success");
}
