/** What a master's job cache tells of its days: for each function how often, to how many minions, and with which returns and delays. */
import { openJobCacheReadOnly } from "../../src/client/read-job-cache.ts";
import type { MasterConfig } from "../../src/config/load.ts";
import { allReturns, type JobCacheReader } from "../../src/store/jobs/job-cache.ts";
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
  /** From the oldest recorded job until now. */
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
/** Returns read of one job, and of all jobs of a function. */
const returnsPerJobMax = 50;
const returnsPerFunctionMax = 2_000;
const msPerHour = 3_600_000;

/** `onJob`: called for each job that was read. */
export async function recordJobs(
  config: MasterConfig,
  o: { readonly hours: number; readonly nowMs: number; readonly signal: AbortSignal; readonly onJob: () => void },
): Promise<RecordedJobs> {
  const jobs = openJobCacheReadOnly(config);
  try {
    const sinceMs = o.nowMs - o.hours * msPerHour;
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
      if (record.bytes.length < returnsPerFunctionMax) await sampleReturns(jobs, jid, atMs, record);
    }
    const oldestMs = read.at(-1)?.atMs ?? o.nowMs;
    const seconds = Math.max(1, (o.nowMs - oldestMs) / 1_000);
    const counts = [...returnsByHour.values()];
    const mean = counts.reduce((sum, count) => sum + count, 0) / Math.max(1, Math.ceil(seconds / 3_600));
    const busiestHourFactor = mean > 0 ? Math.max(...counts) / mean : 1;
    return { seconds, published, own, busiestHourFactor, jobsLeftOut: dated.length - read.length };
  } finally {
    await jobs.close();
  }
}

async function sampleReturns(
  jobs: Pick<JobCacheReader, "returns">,
  jid: string,
  publishedMs: number,
  { bytes, delaysMs }: FunctionRecord,
): Promise<void> {
  let seen = 0;
  for await (const { body } of allReturns(jobs, jid)) {
    seen += 1;
    if (seen > returnsPerJobMax) return;
    const load = decode(body);
    if (!(load instanceof Map)) continue;
    bytes.push(encode(load.get("return") ?? null, "bin").length);
    // In UTC without a zone, as minions send it.
    const stamp = load.get("_stamp");
    const delayMs = typeof stamp === "string" ? Date.parse(`${stamp}Z`) - publishedMs : Number.NaN;
    if (delayMs >= 0 && delayMs < msPerHour) delaysMs.push(delayMs);
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
