/** Question: how fast does a master copy what waited during an outage of the database, and are returns still served meanwhile? */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { lmdbDriver } from "../../src/store/drivers/lmdb/driver.ts";
import { jidAt } from "../../src/wire/jid.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import { thisMachine } from "../machine.ts";
import { countOf, runProgram, say } from "../peers/program.ts";
import { StormSide } from "../peers/storm-side.ts";
import { noProgress } from "../scenarios/scenario.ts";
import { publishJobs } from "../scenarios/setup/storm-setup.ts";
import { poissonMs } from "../scenarios/storm-returns.ts";
import { Shipped } from "./shipped.ts";
import { DatabaseSite } from "./site.ts";

const usage = `usage: node dist/bench/databases/catch-up.js [options]
  --rows COUNT         returns that wait when the database comes back, default 1000000
  --minions COUNT      that return meanwhile, default 1000
  --rate PER-SECOND    their returns a second, at random times, default 500
  --return-bytes SIZE  of the value in each return, default 64
  --workers COUNT      worker_threads of the master, default 2
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    minions: { type: "string", default: "1000" },
    rate: { type: "string", default: "500" },
    "return-bytes": { type: "string", default: "64" },
    workers: { type: "string", default: "2" },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const database = "ours";
const minionsOfJob = 1_000;
/** Returns that are stored at once. */
const putBatch = 256;
const turnSeconds = 4;
const lane = "load";
const never = new AbortController().signal;
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

/** Stores jobs and returns as a master does whose database is down: all of them wait. */
async function fill(cachedir: string, rows: number): Promise<number> {
  const jobs = Math.ceil(rows / minionsOfJob);
  const phase = progress.phase("returns are stored", jobs);
  const cache = lmdbDriver.open({ cachedir, hash_type: "sha256", master_job_cache: "mysql" }, {});
  const minions = Array.from({ length: minionsOfJob }, (_, index) => `waited-${String(index).padStart(6, "0")}`);
  const text = "x".repeat(countOf("--return-bytes", values["return-bytes"]));
  const startMs = Date.now() - jobs;
  for (let job = 0; job < jobs; job += 1) {
    const jid = jidAt(startMs + job, 0);
    const request = {
      cmd: "publish",
      tgt: "*",
      tgt_type: "glob",
      fun: "cmd.run",
      arg: ["df -h"],
      jid,
      ret: "",
      user: "root",
    };
    await cache.keepJobs([{ jid, load: encode(request, "bin"), minions }]);
    const own = minions.slice(0, Math.min(minionsOfJob, rows - job * minionsOfJob));
    for (let at = 0; at < own.length; at += putBatch)
      await cache.keepReturns(
        own.slice(at, at + putBatch).map((minionId) => ({ jid, minionId, body: returnOf(jid, minionId, text) })),
      );
    phase.step();
  }
  await cache.close();
  phase.end();
  return jobs;
}

/** The fields that a stock minion sends. */
function returnOf(jid: string, id: string, text: string): Uint8Array {
  const head = { cmd: "_return", id, success: true, return: text, retcode: 0, jid, fun: "cmd.run" };
  return encode({ ...head, fun_args: ["df -h"], user: "root", _stamp: new Date().toISOString() }, "bin");
}

/** Returns of the whole fleet for some seconds, at the rate. Nothing waits until the master is at rest, because it is not. */
async function serve(side: StormSide, seed: number) {
  const rate = countOf("--rate", values.rate);
  const jobs = Math.max(1, Math.round((rate * turnSeconds) / side.minionCount));
  const fun = "test.ping";
  const jids = await publishJobs({ master: side.master, progress: noProgress, signal: never }, jobs, fun);
  await side.storm.prepareReturns({ lane, jids, fun, returnBytes: values["return-bytes"], seed });
  const plannedMs = poissonMs(jobs * side.minionCount, rate, seed);
  const outcome = await side.storm.run([{ lane, plannedMs }]);
  const total = outcome.lanes[lane];
  if (total === undefined || total.completed < total.planned || total.wrong > 0)
    throw new SaltworksError("FUNCTION_FAILED", `${total?.completed} of ${total?.planned} returns were acknowledged`);
  return { returns: total.completed, operation: total.operation, voidReasons: outcome.generator.voidReasons };
}

/** Serves returns, turn by turn, until what waited is copied. */
async function serveUntilCopied(side: StormSide, shipped: Shipped, waited: number) {
  const latencies = new LatencyHistogram();
  const voidReasons = new Set<string>();
  const marks: { readonly atMs: number; readonly rows: number }[] = [];
  let isDone = false;
  const watching = shipped
    .until("all that waited is copied", ({ rows }) => {
      if (rows > 0) marks.push({ atMs: performance.now(), rows });
      return rows >= waited;
    })
    .finally(() => {
      isDone = true;
    });
  let returns = 0;
  for (let turn = 1; !isDone; turn += 1) {
    const served = await serve(side, turn);
    returns += served.returns;
    latencies.add(LatencyHistogram.decode(served.operation.histogram));
    for (const reason of served.voidReasons) voidReasons.add(reason);
  }
  await watching;
  return { returns, latencies, marks, voidReasons: [...voidReasons] };
}

async function measure(site: DatabaseSite, side: StormSide, waited: { rows: number; jobs: number }): Promise<void> {
  const shipped = new Shipped(side.master);
  await shipped.until("the database fails", ({ failures }) => failures > 0);
  const serverMs = site.cpuMs();
  await site.server.run();
  const upMs = performance.now();
  const { returns, latencies, marks, voidReasons } = await serveUntilCopied(side, shipped, waited.rows + waited.jobs);
  const serverSpentMs = site.cpuMs() - serverMs;
  const [first, last] = [marks[0], marks.at(-1)];
  if (first === undefined || last === undefined) throw new Error("no row was seen");
  const seconds = (last.atMs - first.atMs) / 1_000;
  const rowsPerSecond = Math.round((last.rows - first.rows) / seconds);
  await shipped.untilEmpty();
  site.demandOnce(database, waited.rows + returns);
  const { p50, p99 } = latencies.percentilesUs();
  const figures = {
    ...{ rowsPerSecond, seconds, firstRowAfterMs: Math.round(first.atMs - upMs), rows: last.rows },
    ...{ returnsServed: returns, returnP50Ms: p50 / 1_000, returnP99Ms: p99 / 1_000 },
    serverCpuUsPerRow: Math.round((serverSpentMs * 1_000) / last.rows),
  };
  say(
    `${rowsPerSecond} rows/s over ${seconds.toFixed(1)} s; ${returns} returns were served meanwhile: p50 ${p50} µs, p99 ${p99} µs`,
  );
  say(`all ${waited.rows + returns} returns are in the database once ${voidReasons.join("; ")}`);
  const { rows, minions, rate, "return-bytes": returnBytes, workers } = values;
  const parameters = { rows, minions, rate, returnBytes, workers };
  const line = { bench: "databases/catch-up", parameters, figures, voidReasons, ...thisMachine() };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const cachedir = mkdtempSync(join(tmpdir(), "sw-catch-up-"));
  const rows = countOf("--rows", values.rows);
  let site: DatabaseSite | undefined;
  let side: StormSide | undefined;
  try {
    site = await DatabaseSite.open([database]);
    const jobs = await fill(cachedir, rows);
    await site.server.kill("SIGTERM");
    // Otherwise paths elsewhere are taken for paths below the master's directory.
    const config = { ...site.configOf(database), root_dir: "/", cachedir };
    side = await StormSide.open({
      master: { kind: "saltworks", workers: countOf("--workers", values.workers), config },
      minionCount: countOf("--minions", values.minions),
      ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
    });
    await measure(site, side, { rows, jobs });
  } finally {
    await side?.close();
    await site?.close();
    rmSync(cachedir, { recursive: true, force: true });
  }
}

await runProgram(main);
