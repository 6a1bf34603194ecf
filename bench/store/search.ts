/**
 * Question: how long does one page of jobs take out of a job cache of a million jobs, by search, and what does the index cost a publish?
 *
 *     node dist/bench/store/search.js [--jobs 1000000] [--limit 100] [--rounds 30] [--directory /tmp]
 *
 * One JSON line. A page is the job ids and each job's decoded load, as `jobs.list_jobs` needs them. Every search starts from the newest job and, in
 * turn, from random places in the history.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SaltworksError } from "../../src/errors.ts";
import { patternsOf } from "../../src/runners/jobs/patterns.ts";
import { fieldsOf } from "../../src/runners/jobs/stored-body.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { indexJob } from "../../src/store/drivers/lmdb/job-index.ts";
import { ensureLayout, makeDirectory } from "../../src/store/drivers/lmdb/layout.ts";
import { encodeLoad, loadKey, openShards, type Shard } from "../../src/store/drivers/lmdb/records.ts";
import type { JobQuery } from "../../src/store/jobs/facts.ts";
import type { JobCache } from "../../src/store/jobs/job-cache.ts";
import { transact } from "../../src/store/lmdb/env.ts";
import { jidAt } from "../../src/wire/jid.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { seededRandom } from "../load/random.ts";
import { thisMachine } from "../machine.ts";

type Searched = { readonly what: string; readonly query: Omit<JobQuery, "limit"> };
type SearchResult = {
  readonly what: string;
  readonly jobsFound: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU time of the whole process, which a busy machine affects less than wall time. */
  readonly cpuP50Ms: number;
  readonly cpuP99Ms: number;
};

/** Jobs a second in the generated history: 1,000,000 are some 28 hours. */
const jobsPerSecond = 10;
const startMs = Date.UTC(2026, 0, 1);
/** Jobs in a transaction, as on a master. Transactions of thousands would leave LMDB a long free list, which it writes anew at every commit. */
const loadsPerTransaction = 200;
/** Names in the history, as many as a large site has. */
const counts = { functions: 500, users: 40, targets: 20_000, teams: 20 } as const;
const publishesMeasured = 300;
const random = seededRandom(7);
/** A skewed choice: a few names come often, most rarely. */
const skewed = (count: number): number => Math.floor(count * random() ** 4);

function jidOf(job: number): string {
  return jidAt(startMs + (job * 1_000) / jobsPerSecond, 0);
}

function loadOf(job: number): Buffer {
  const target = skewed(counts.targets);
  const isList = job % 9 === 0;
  const metadata = { ticket: `OPS-${Math.floor(job / 10)}`, team: `team${skewed(counts.teams)}` };
  const asked: Record<string, Encodable> = {
    cmd: "publish",
    fun: `module${skewed(counts.functions / 5)}.function${job % 5}`,
    arg: ["argument", job],
    tgt: isList
      ? [nodeName(target), nodeName(skewed(counts.targets))]
      : target < 20
        ? `group${target}*`
        : nodeName(target),
    tgt_type: isList ? "list" : "glob",
    ret: "",
    jid: jidOf(job),
    user: `user${skewed(counts.users)}`,
    ...(job % 3 === 0 ? { kwargs: { metadata } } : {}),
  };
  // A single job, long ago.
  if (job === 1_000) Object.assign(asked, { fun: "rare.function", tgt: "rare.example.org", user: "rare" });
  return encode(asked, "bin");
}

function nodeName(index: number): string {
  return `node${index}.dc${index % 7}.example.com`;
}

function fill(path: string, jobs: number): void {
  makeDirectory(path);
  const shards = openShards(path, 1, false);
  ensureLayout(path, 1);
  const [shard] = shards as [Shard];
  for (let at = 0; at < jobs; at += loadsPerTransaction) {
    transact(shard.environment, { records: loadsPerTransaction * 8, bytes: 0 }, () => {
      for (let job = at; job < Math.min(jobs, at + loadsPerTransaction); job += 1) {
        const key = loadKey(jidOf(job));
        const load = loadOf(job);
        shard.loads.putSync(key, encodeLoad({ jid: jidOf(job), load, minions: ["a", "b"] }));
        indexJob(shard.index, key, load, false);
      }
    });
  }
}

const map = (fields: Readonly<Record<string, Value>>) => new Map<Value, Value>(Object.entries(fields));

function searches(jobs: number): Searched[] {
  const hour = {
    from: jidOf(Math.floor(jobs / 2)).slice(0, 20),
    until: jidOf(Math.floor(jobs / 2) + 36_000).slice(0, 20),
  };
  return [
    { what: "no filter", query: {} },
    { what: "without one function", query: { exceptFunction: "module0.function0" } },
    { what: "function, frequent", query: { functions: patternsOf("module0.function0") } },
    { what: "function, once long ago", query: { functions: patternsOf("rare.function") } },
    { what: "function glob module1*", query: { functions: patternsOf("module1*") } },
    { what: "function glob *.function3", query: { functions: patternsOf("*.function3") } },
    { what: "function, not there", query: { functions: patternsOf("nothing.here") } },
    { what: "target, frequent", query: { targets: patternsOf("group0*".replace("*", "[*]")) } },
    { what: "target, rare", query: { targets: patternsOf(nodeName(19_990)) } },
    { what: "target glob node1999*", query: { targets: patternsOf("node1999*") } },
    { what: "target glob *.dc3.example.com", query: { targets: patternsOf("*.dc3.example.com") } },
    { what: "target glob *.example.org, once long ago", query: { targets: patternsOf("*.example.org") } },
    { what: "user", query: { users: patternsOf("user3") } },
    { what: "user, once long ago", query: { users: patternsOf("rare") } },
    { what: "metadata pair of ten jobs", query: { metadata: map({ ticket: "OPS-500" }) } },
    { what: "metadata pair, frequent", query: { metadata: map({ team: "team1" }) } },
    { what: "an hour", query: hour },
    { what: "function and user", query: { functions: patternsOf("module3.function3"), users: patternsOf("user5") } },
    {
      what: "function and metadata and an hour",
      query: { ...hour, functions: patternsOf("module0*"), metadata: map({ team: "team0" }) },
    },
    {
      what: "two frequent that never meet",
      query: { functions: patternsOf("module0.function0"), metadata: map({ team: "absent", ticket: "OPS-1" }) },
    },
  ];
}

async function page(cache: JobCache, query: JobQuery): Promise<number> {
  const jids = await cache.find(query);
  let count = 0;
  for (const jid of jids) count += fieldsOf((await cache.request(jid)) ?? Buffer.alloc(0)).size > 0 ? 1 : 0;
  return count;
}

async function measure(
  cache: JobCache,
  { what, query }: Searched,
  jobs: number,
  limit: number,
  rounds: number,
): Promise<SearchResult> {
  const times: number[] = [];
  const cpuTimes: number[] = [];
  let jobsFound = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = round % 2 === 0 ? undefined : jidOf(Math.floor(jobs * random()));
    const cpuBefore = process.cpuUsage();
    const started = performance.now();
    const found = await page(cache, { ...query, limit, before });
    times.push(performance.now() - started);
    const { user, system } = process.cpuUsage(cpuBefore);
    cpuTimes.push((user + system) / 1_000);
    jobsFound = Math.max(jobsFound, found);
  }
  const [firstMs = 0] = times;
  return {
    what,
    jobsFound,
    firstMs: rounded(firstMs),
    p50Ms: at(times, 0.5),
    p99Ms: at(times, 0.99),
    maxMs: at(times, 1),
    cpuP50Ms: at(cpuTimes, 0.5),
    cpuP99Ms: at(cpuTimes, 0.99),
  };
}

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** Wall time of a durable load into the full cache, and CPU time, with the index and with the load's record alone. */
async function publishes(cache: JobCache, path: string, jobs: number): Promise<Readonly<Record<string, number>>> {
  const indexed = await timed(async (at) => {
    const jid = jidOf(jobs + at);
    await cache.keepJobs([{ jid, load: loadOf(jobs + at), minions: ["a", "b"] }]);
  });
  const [shard] = openShards(path, 1, true) as [Shard];
  const bare = await timed(async (at) => {
    const record = encodeLoad({ jid: "", load: loadOf(jobs + at), minions: ["a", "b"] });
    transact(
      shard.environment,
      { records: 1, bytes: record.byteLength },
      () => void shard.loads.putSync(loadKey(jidOf(jobs * 2 + at)), record),
    );
  });
  return { indexedP50Ms: indexed.p50Ms, indexedCpuUs: indexed.cpuUs, bareP50Ms: bare.p50Ms, bareCpuUs: bare.cpuUs };
}

async function timed(step: (at: number) => Promise<void>): Promise<{ readonly p50Ms: number; readonly cpuUs: number }> {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < publishesMeasured; at += 1) {
    const started = performance.now();
    await step(at);
    times.push(performance.now() - started);
  }
  const { user, system } = process.cpuUsage(before);
  const p50Ms = rounded(times.sort((a, b) => a - b)[publishesMeasured >> 1] ?? 0);
  return { p50Ms, cpuUs: Math.round((user + system) / publishesMeasured) };
}

const text = { type: "string" } as const;
const { values } = parseArgs({ options: { jobs: text, limit: text, rounds: text, directory: text } });
const number = (name: "jobs" | "limit" | "rounds", otherwise: number): number => {
  const value = Number(values[name] ?? otherwise);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new SaltworksError("USAGE", `--${name} takes a whole number above 0`, { name });
};
const root = mkdtempSync(join(values.directory ?? tmpdir(), "saltworks-search-bench-"));
try {
  const [jobs, limit, rounds] = [number("jobs", 1_000_000), number("limit", 100), number("rounds", 30)];
  const path = join(root, "jobs");
  const started = performance.now();
  fill(path, jobs);
  const fillMs = Math.round(performance.now() - started);
  const cache = openLmdbJobCache({ path, shards: 1, durability: "fsync" });
  const results: SearchResult[] = [];
  for (const search of searches(jobs)) results.push(await measure(cache, search, jobs, limit, rounds));
  const fileBytes = statSync(join(path, "0.mdb")).size;
  const publish = await publishes(cache, path, jobs);
  await cache.close();
  process.stdout.write(
    `${JSON.stringify({ jobs, limit, rounds, fillMs, fileBytes, publish, results, ...thisMachine() })}\n`,
  );
} finally {
  rmSync(root, { recursive: true, force: true });
}
