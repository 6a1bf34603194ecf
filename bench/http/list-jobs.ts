/**
 * Question: how long does one page of jobs take by HTTP, with 100,000 jobs in the job cache?
 *
 *     node dist/bench/http/list-jobs.js [--jobs 100000] [--limit 100] [--rounds 200]
 *
 * One JSON line for each request. A master of its own with its API answers one request after the other.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { SaltworksError } from "../../src/errors.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import type { LoadToPut } from "../../src/store/jobs/job-cache.ts";
import { jidAt } from "../../src/wire/jid.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { descriptorsForMaster } from "../fleet/descriptors.ts";
import { freePorts } from "../free-ports.ts";
import { thisMachine } from "../machine.ts";
import { MasterProcess } from "../master-process.ts";

type Asked = { readonly what: string; readonly path: string; readonly body?: unknown };

const cliFile = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
/** Jobs of one transaction. */
const jobsAtOnce = 500;
/** Between two jobs of the history. */
const jobEveryMs = 500;
/** Requests before the measured ones, so that the code of all three threads is compiled. */
const warmUpRounds = 100;
const apiPollMs = 100;

function jobAt(index: number, count: number): LoadToPut {
  const jid = jidAt(Date.now() - (count - index) * jobEveryMs, index % 1_000);
  const asked = {
    cmd: "publish",
    fun: index === 10 ? "rare.function" : `module${index % 20}.function${index % 5}`,
    arg: ["argument", index],
    tgt: index % 9 === 0 ? [`node${index % 500}`, `node${index % 499}`] : `node${index % 500}`,
    tgt_type: index % 9 === 0 ? "list" : "glob",
    ret: "",
    jid,
    user: `user${index % 30}`,
    kwargs: { show_timeout: true, show_jid: false, delimiter: ":" },
  };
  return { jid, load: encode(asked, "bin"), minions: ["node1", "node2"] };
}

async function fill(cachedir: string, count: number): Promise<void> {
  const cache = lmdbDriver.open({ cachedir, hash_type: "sha256", job_cache_durability: "commit" }, {});
  for (let at = 0; at < count; at += jobsAtOnce) {
    const length = Math.min(jobsAtOnce, count - at);
    await cache.keepJobs(Array.from({ length }, (_, index) => jobAt(at + index, count)));
  }
  await cache.close();
}

/** Resolves with a session's id when the API answers. */
async function login(base: string): Promise<string> {
  const body = JSON.stringify({ username: "bench", password: "any", eauth: "auto" });
  for (;;) {
    const answer = await fetch(`${base}/login`, { method: "POST", body }).catch(() => undefined);
    const id = answer?.headers.get("x-auth-token");
    if (id) return id;
    await wait(apiPollMs);
  }
}

function requests(limit: number, next: string): Asked[] {
  const runner = { client: "runner", fun: "jobs.list_jobs" };
  return [
    { what: "POST / jobs.list_jobs, first page", path: "/", body: [{ ...runner, limit }] },
    { what: "GET /jobs, first page", path: `/jobs?limit=${limit}` },
    { what: "GET /jobs, a later page", path: next },
    { what: "GET /jobs, by user", path: `/jobs?limit=${limit}&user=user3` },
    { what: "GET /jobs, by glob of function", path: `/jobs?limit=${limit}&fun=module1*` },
    { what: "GET /jobs, by target", path: `/jobs?limit=${limit}&target=node7` },
    { what: "GET /jobs, a job long ago", path: `/jobs?limit=${limit}&fun=rare.*` },
    { what: "GET /jobs, that are over", path: `/jobs?limit=${limit}&state=over` },
    { what: "GET /jobs, that run", path: `/jobs?limit=${limit}&state=running` },
  ];
}

async function ask(base: string, id: string, { path, body }: Asked): Promise<string> {
  const headers = { "x-auth-token": id, "content-type": "application/json" };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(base + path, init);
  const text = await answer.text();
  if (answer.status !== 200) throw new SaltworksError("REQUEST_REFUSED", `${path}: ${answer.status} ${text}`);
  return text;
}

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2));
}

async function measure(base: string, id: string, asked: Asked, rounds: number): Promise<void> {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    bytes = (await ask(base, id, asked)).length;
    times.push(performance.now() - started);
  }
  const figures = { p50Ms: at(times, 0.5), p95Ms: at(times, 0.95), p99Ms: at(times, 0.99), maxMs: at(times, 1) };
  process.stdout.write(`${JSON.stringify({ what: asked.what, rounds, bytes, ...figures })}\n`);
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { jobs: text, limit: text, rounds: text } });
  const [jobs, limit, rounds] = [values.jobs ?? 100_000, values.limit ?? 100, values.rounds ?? 200].map(Number);
  if (!jobs || !limit || !rounds) throw new SaltworksError("USAGE", "--jobs, --limit and --rounds are whole numbers");
  const cachedir = mkdtempSync(join(tmpdir(), "saltworks-list-jobs-"));
  let master: MasterProcess | undefined;
  try {
    await fill(cachedir, jobs);
    const [port = 0] = await freePorts(1);
    const config = {
      cachedir,
      // Otherwise the directory would be taken for one below the master's own.
      root_dir: "/",
      log_level: "warning",
      external_auth: { auto: { bench: ["@runner"] } },
      netapi_enable_clients: ["runner"],
      rest_cherrypy: { port, host: "127.0.0.1", disable_ssl: true },
    };
    const command = [process.execPath, cliFile, "master"];
    master = await MasterProcess.start({ command, config, descriptors: descriptorsForMaster(10) });
    const base = `http://127.0.0.1:${port}`;
    const id = await login(base);
    const first = { what: "", path: `/jobs?limit=${limit}` };
    for (let round = 0; round < warmUpRounds; round += 1) await ask(base, id, first);
    const page = JSON.parse(await ask(base, id, first)) as { readonly _links: { readonly next: { href: string }[] } };
    const next = page._links.next[0]?.href ?? first.path;
    process.stdout.write(`${JSON.stringify({ machine: thisMachine(), jobs, limit })}\n`);
    for (const asked of requests(limit, next)) await measure(base, id, asked, rounds);
  } finally {
    await master?.remove();
    rmSync(cachedir, { recursive: true, force: true });
  }
}

await main();
