/** Question: how much CPU does a master spend on a return that is also a row of MariaDB: ours, ours without a database, and Salt's? Closed loop. */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { runFirst } from "../load/precedence.ts";
import { takeTurns } from "../peers/abba.ts";
import { compareWith, describeComparison, describeSide, type LoadTurn, summarize } from "../peers/load-report.ts";
import { countOf, runProgram, saltVenv, say, signalOfInterrupts } from "../peers/program.ts";
import { StormSide } from "../peers/storm-side.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";
import { openResult } from "./result.ts";
import { DatabaseSite } from "./site.ts";

const usage = `usage: node dist/bench/databases/cpu-per-row.js [options]
  --salt VENV          a virtual environment with Salt (or SALTWORKS_SALT_VENV); without it Salt is left out
  --salt-clients DIR   a folder with the Python package pymysql, if the environment has none
  --minions COUNT      minions of each master, default 1000
  --rounds COUNT       turns of each master that count, in alternating order, default 4; fewer give no verdict
  --jobs COUNT         jobs that every minion returns to in one turn, default 20
  --salt-jobs COUNT    the same for Salt, default 1
  --rate PER-SECOND    open loop: returns a second, of all minions together; default: closed loop
  --return-bytes SIZE  of the value that is returned, default 64, or a distribution such as 64:70%,4096:30%
  --warm-up SECONDS    turns before them that do not count, at least one, default 10
  --workers COUNT      worker_threads of the masters, default 2
  --no-lmdb            leave the master without a database out
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  allowNegative: true,
  options: {
    salt: { type: "string" },
    "salt-clients": { type: "string" },
    minions: { type: "string", default: "1000" },
    rounds: { type: "string", default: "4" },
    jobs: { type: "string", default: "20" },
    "salt-jobs": { type: "string", default: "1" },
    rate: { type: "string" },
    "return-bytes": { type: "string", default: "64" },
    "warm-up": { type: "string", default: "10" },
    workers: { type: "string", default: "2" },
    lmdb: { type: "boolean", default: true },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

/** The databases of the two masters that have one. */
const databases = { ours: "ours", salt: "theirs" } as const;

const result = openResult("databases/cpu-per-row");

type Contestant = { readonly side: StormSide; readonly jobs: number };

const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

async function open(
  master: MasterChoice & { readonly name: string },
  jobs: number,
  copied?: (jids: readonly string[]) => Promise<void>,
): Promise<Contestant> {
  const phase = progress.phase(`${master.name}: minions sign in`);
  const side = await StormSide.open({
    name: master.name,
    master,
    minionCount: countOf("--minions", values.minions),
    ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
    ...(copied === undefined ? {} : { untilKept: copied }),
  });
  phase.end();
  return { side, jobs };
}

async function openAll(site: DatabaseSite, opened: Contestant[]): Promise<void> {
  const workers = countOf("--workers", values.workers);
  const [jobs, minions] = [countOf("--jobs", values.jobs), countOf("--minions", values.minions)];
  const copied = (name: string) => (jids: readonly string[]) => site.untilCopied(name, jids, minions);
  const ours = { kind: "saltworks", workers } as const;
  const withMysql = { ...ours, name: "saltworks, mysql", config: site.configOf(databases.ours) };
  opened.push(await open(withMysql, jobs, copied(databases.ours)));
  if (values.lmdb) opened.push(await open({ ...ours, name: "saltworks, lmdb alone" }, jobs));
  const salt = saltVenv(values.salt);
  if (salt === undefined) {
    say("salt: skipped, no --salt VENV given");
    return;
  }
  if (values["salt-clients"] !== undefined) process.env.PYTHONPATH = values["salt-clients"];
  const theirs = { kind: "salt", workers, salt, name: "salt, mysql", config: site.configOf(databases.salt) } as const;
  opened.push(await open(theirs, countOf("--salt-jobs", values["salt-jobs"]), copied(databases.salt)));
}

async function measure(site: DatabaseSite, contestants: readonly Contestant[]): Promise<void> {
  const rate = values.rate === undefined ? {} : { ratePerSecond: countOf("--rate", values.rate) };
  // A closed loop has no times at which to send. There the generator would take the cores from the masters.
  const isGeneratorFirst =
    values.rate !== undefined && contestants.every(({ side }) => runFirst(side.storm.processIds));
  /** CPU of the database server in turns that count. */
  const serverMs = new Map<string, number>();
  const sides = contestants.map(({ side, jobs }) => ({
    name: side.name,
    turn: async (): Promise<LoadTurn> => {
      const beforeMs = site.cpuMs();
      const turn = await side.turn({ kind: "returns", jobs, returnBytes: values["return-bytes"], ...rate });
      serverMs.set(side.name, (serverMs.get(side.name) ?? 0) + site.cpuMs() - beforeMs);
      return turn;
    },
  }));
  for (const side of sides) {
    const phase = progress.phase(`${side.name}: warm-up`);
    const endMs = performance.now() + Number(values["warm-up"]) * 1_000;
    do await side.turn();
    while (performance.now() < endMs);
    phase.end();
  }
  serverMs.clear();
  const turns = await takeTurns(sides, countOf("--rounds", values.rounds), {
    progress,
    signal: signalOfInterrupts(),
  });
  const masters = sides.map(({ name }) => {
    const summary = summarize(name, turns.get(name) ?? []);
    return {
      ...summary,
      rowsPerSecondOfCpu: Math.round(1_000_000 / summary.cpuUsPerOperation),
      serverCpuUsPerOperation: Math.round(((serverMs.get(name) ?? 0) * 1_000) / summary.operations),
    };
  });
  const comparisons = compareWith(sides[0]?.name ?? "", turns, "CPU per row");
  for (const master of masters) {
    say(describeSide(master, "return"));
    say(
      `  ${master.rowsPerSecondOfCpu} a second of CPU; the database server: ${master.serverCpuUsPerOperation} µs each`,
    );
  }
  for (const comparison of comparisons) say(describeComparison(comparison));
  const { minions, rounds, jobs, "salt-jobs": saltJobs, "return-bytes": returnBytes, workers } = values;
  const parameters = { minions, rounds, jobs, saltJobs, rate: values.rate, returnBytes, workers, isGeneratorFirst };
  const versions = Object.fromEntries(contestants.map(({ side }) => [side.name, side.master.version]));
  result.print({ parameters, versions, masters, comparisons });
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const site = await DatabaseSite.open(Object.values(databases));
  const contestants: Contestant[] = [];
  try {
    await openAll(site, contestants);
    await measure(site, contestants);
  } finally {
    await Promise.all(contestants.map(({ side }) => side.close()));
    await site.close();
  }
}

await runProgram(main);
