/** Question: how fast does a master copy what waited during an outage of the database, and are returns still served meanwhile? */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import type { DatabaseName } from "../../src/config/options/job-cache-drivers.ts";
import { SaltworksError } from "../../src/errors.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import { runFirst } from "../load/precedence.ts";
import { countOf, runProgram, say } from "../peers/program.ts";
import { StormSide } from "../peers/storm-side.ts";
import { noProgress } from "../scenarios/scenario.ts";
import { publishJobs } from "../scenarios/setup/storm-setup.ts";
import { poissonMs } from "../scenarios/storm-returns.ts";
import { demandOnce, type OutageSite, openOutageSite } from "./outage.ts";
import { openResult } from "./result.ts";
import { Shipped, type ShippedRows } from "./shipped.ts";
import { minionsOfJob, storeWaiting, waitingJob } from "./waiting.ts";

const usage = `usage: node dist/bench/databases/catch-up.js [options]
  --database NAME      mysql (default), pgjsonb, postgres, redis or sqlite3, which needs Node.js 22.13
  --rows COUNT         returns that wait when the database comes back, default 1000000
  --minions COUNT      that return meanwhile, default 1000
  --rate PER-SECOND    their returns a second, at random times, default 500
  --warm-up COUNT      of their returns to the master before, as fast as it takes them, default 20000; they wait, too
  --return-bytes SIZE  of the value in each return, default 64
  --workers COUNT      worker_threads of the master, default 2
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    database: { type: "string", default: "mysql" },
    rows: { type: "string", default: "1000000" },
    minions: { type: "string", default: "1000" },
    rate: { type: "string", default: "500" },
    "warm-up": { type: "string", default: "20000" },
    "return-bytes": { type: "string", default: "64" },
    workers: { type: "string", default: "2" },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const turnSeconds = 4;
const lane = "load";
const never = new AbortController().signal;
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

const result = openResult("databases/catch-up");

/** Stores jobs and returns as a master does whose database is down: all of them wait. @returns the number of jobs */
async function fill(driver: DatabaseName, cachedir: string, rows: number): Promise<number> {
  const jobs = Math.ceil(rows / minionsOfJob);
  const phase = progress.phase("returns are stored", jobs);
  const text = "x".repeat(countOf("--return-bytes", values["return-bytes"]));
  const startMs = Date.now() - jobs;
  const made = function* () {
    for (let job = 0; job < jobs; job += 1) {
      yield waitingJob(startMs + job, text, Math.min(minionsOfJob, rows - job * minionsOfJob));
      phase.step();
    }
  };
  await storeWaiting(cachedir, made(), driver);
  phase.end();
  return jobs;
}

/** Returns of the whole fleet to some jobs. `ratePerSecond`: at random times; undefined: as fast as the master takes them. */
async function serve(side: StormSide, o: { jobs: number; seed: number; ratePerSecond?: number }) {
  const { jobs, seed, ratePerSecond } = o;
  const fun = "test.ping";
  // Nothing waits until the master is at rest, because it is not.
  const jids = await publishJobs({ master: side.master, progress: noProgress, signal: never }, jobs, fun);
  await side.storm.prepareReturns({ lane, jids, fun, returnBytes: values["return-bytes"], seed });
  const count = jobs * side.minionCount;
  const planned = ratePerSecond === undefined ? {} : { plannedMs: poissonMs(count, ratePerSecond, seed) };
  const outcome = await side.storm.run([{ lane, ...planned }]);
  const total = outcome.lanes[lane];
  if (total === undefined || total.completed < total.planned || total.wrong > 0)
    throw new SaltworksError("FUNCTION_FAILED", `${total?.completed} of ${total?.planned} returns were acknowledged`);
  return { returns: total.completed, operation: total.operation, voidReasons: outcome.generator.voidReasons };
}

/** Compiles the master's and the generator's hot code while the database is down. @returns the returns, which wait for it */
async function warmUp(side: StormSide): Promise<number> {
  const jobs = Math.ceil(countOf("--warm-up", values["warm-up"]) / side.minionCount);
  const phase = progress.phase("warm-up");
  const { returns } = await serve(side, { jobs, seed: 0 });
  phase.end();
  return returns;
}

/** Serves returns, turn by turn, until what waited is copied. */
async function serveUntilCopied(side: StormSide, shipped: Shipped, waited: number) {
  const latencies = new LatencyHistogram();
  const voidReasons = new Set<string>();
  const marks: { readonly atMs: number; readonly rows: number }[] = [];
  const ratePerSecond = countOf("--rate", values.rate);
  const jobs = Math.max(1, Math.round((ratePerSecond * turnSeconds) / side.minionCount));
  let isDone = false;
  const isCopied = ({ rows }: ShippedRows) => {
    if (rows > 0) marks.push({ atMs: performance.now(), rows });
    return rows >= waited;
  };
  const watch = async () => {
    await shipped.until("all that waited is copied", isCopied);
    isDone = true;
  };
  let returns = 0;
  const serveOn = async () => {
    for (let turn = 1; !isDone; turn += 1) {
      const served = await serve(side, { jobs, seed: turn, ratePerSecond });
      returns += served.returns;
      latencies.add(LatencyHistogram.decode(served.operation.histogram));
      for (const reason of served.voidReasons) voidReasons.add(reason);
    }
  };
  await Promise.all([watch(), serveOn()]);
  return { returns, latencies, marks, voidReasons: [...voidReasons] };
}

type Waited = { readonly returns: number; readonly jobs: number; readonly isFirst: boolean };

async function measure(site: OutageSite, side: StormSide, waited: Waited): Promise<void> {
  const shipped = new Shipped(side.master);
  const warmUpReturns = await warmUp(side);
  const waitedReturns = waited.returns + warmUpReturns;
  await shipped.until("the database fails", ({ failures }) => failures > 0);
  const serverMs = site.cpuMs();
  await site.run();
  const upMs = performance.now();
  // A master that has failed for seconds tries again only after as many. Returns are served and counted from then on.
  await shipped.until("the first row", ({ rows }) => rows > 0);
  const { returns, latencies, marks, voidReasons } = await serveUntilCopied(side, shipped, waitedReturns + waited.jobs);
  const serverSpentMs = site.cpuMs() - serverMs;
  const [first, last] = [marks[0], marks.at(-1)];
  if (first === undefined || last === undefined) throw new Error("no row was seen");
  const seconds = (last.atMs - first.atMs) / 1_000;
  const rowsPerSecond = Math.round((last.rows - first.rows) / seconds);
  await shipped.untilEmpty();
  demandOnce(site, waitedReturns + returns);
  const { p50, p99 } = latencies.percentilesUs();
  const figures = {
    ...{ rowsPerSecond, seconds, firstRowAfterMs: Math.round(first.atMs - upMs), rows: last.rows },
    ...{ returnsServed: returns, returnP50Ms: p50 / 1_000, returnP99Ms: p99 / 1_000 },
    serverCpuUsPerRow: Math.round((serverSpentMs * 1_000) / last.rows),
  };
  say(
    `${site.driver}: ${rowsPerSecond} rows/s over ${seconds.toFixed(1)} s; ${returns} returns were served meanwhile: p50 ${p50} µs, p99 ${p99} µs`,
  );
  say(`all ${waitedReturns + returns} returns are in the database once ${voidReasons.join("; ")}`);
  const { rows, minions, rate, "warm-up": warmUpCount, "return-bytes": returnBytes, workers } = values;
  const { isFirst: isGeneratorFirst } = waited;
  const parameters = {
    database: site.driver,
    rows,
    minions,
    rate,
    warmUp: warmUpCount,
    returnBytes,
    workers,
    isGeneratorFirst,
  };
  result.print({ parameters, figures, voidReasons });
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const cachedir = mkdtempSync(join(tmpdir(), "sw-catch-up-"));
  const returns = countOf("--rows", values.rows);
  let site: OutageSite | undefined;
  let side: StormSide | undefined;
  try {
    site = await openOutageSite(values.database);
    const jobs = await fill(site.driver, cachedir, returns);
    await site.stop();
    // Otherwise paths elsewhere are taken for paths below the master's directory.
    const config = { ...site.config, root_dir: "/", cachedir };
    side = await StormSide.open({
      master: { kind: "saltworks", workers: countOf("--workers", values.workers), config },
      minionCount: countOf("--minions", values.minions),
      ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
    });
    await measure(site, side, { returns, jobs, isFirst: runFirst(side.storm.processIds) });
  } finally {
    await side?.close();
    await site?.close();
    rmSync(cachedir, { recursive: true, force: true });
  }
}

await runProgram(main);
