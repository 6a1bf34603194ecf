/** Question: how much CPU does one durable return take in our master, in Salt's and in the C floor? Closed loop unless a rate is given. */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { describeLimits, descriptorLimits } from "../fleet/descriptors.ts";
import { thisMachine } from "../machine.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";
import { takeTurns } from "./abba.ts";
import { compileFloor } from "./floor.ts";
import { compareWith, describeComparison, describeSide, type LoadTurn, summarize } from "./load-report.ts";
import { PingSide } from "./ping-side.ts";
import { countOf, countsOf, runProgram, saltVenv, say, signalOfInterrupts } from "./program.ts";
import { StormSide } from "./storm-side.ts";

const usage = `usage: node dist/bench/peers/cpu-per-return.js [options]
  --salt VENV          a virtual environment with Salt (or SALTWORKS_SALT_VENV); without it Salt is left out
  --load storm|ping    storm (default): returns that were sealed before; ping: test.ping to minions that do all that real ones do
  --minions COUNT      minions of each master, default 1000
  --rounds COUNT       turns of each master that count, in alternating order, default 4; fewer give no verdict
  --jobs COUNT         jobs that every minion returns to in one turn, default 40
  --salt-jobs COUNT    the same for Salt, default 2
  --rate PER-SECOND    open loop: returns a second, of all minions together; default: closed loop
  --return-bytes SIZE  of the value that is returned, default 64, or a distribution such as 64:70%,4096:30%
  --warm-up SECONDS    turns before them that do not count, at least one, default 15
  --workers COUNT      worker_threads of our master, default 2
  --salt-workers LIST  one Salt master for each count, default as --workers
  --no-floor           leave the C floor out
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  allowNegative: true,
  options: {
    salt: { type: "string" },
    load: { type: "string", default: "storm" },
    minions: { type: "string", default: "1000" },
    rounds: { type: "string", default: "4" },
    jobs: { type: "string", default: "40" },
    "salt-jobs": { type: "string", default: "2" },
    rate: { type: "string" },
    "return-bytes": { type: "string", default: "64" },
    "warm-up": { type: "string", default: "15" },
    workers: { type: "string", default: "2" },
    "salt-workers": { type: "string" },
    floor: { type: "boolean", default: true },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

type Contestant = {
  readonly name: string;
  turn(): Promise<LoadTurn>;
  readonly returnEvents: () => number;
  close(): Promise<void>;
};

const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

function mastersToMeasure(): MasterChoice[] {
  const workers = countOf("--workers", values.workers);
  const salt = saltVenv(values.salt);
  const masters: MasterChoice[] = [{ kind: "saltworks", workers }];
  if (salt === undefined) say("salt: skipped, no --salt VENV given");
  else {
    const counts = countsOf("--salt-workers", values["salt-workers"] ?? values.workers);
    masters.push(...counts.map((count): MasterChoice => ({ kind: "salt", workers: count, salt })));
  }
  if (!values.floor || values.load === "ping") return masters;
  const compiled = compileFloor();
  if ("missing" in compiled) say(`floor: skipped, ${compiled.missing}`);
  else masters.push({ kind: "floor" });
  return masters;
}

async function open(master: MasterChoice): Promise<Contestant> {
  const phase = progress.phase(`${master.kind}: minions sign in`);
  const jobs = countOf("--jobs", master.kind === "salt" ? values["salt-jobs"] : values.jobs);
  const minionCount = countOf("--minions", values.minions);
  const options = { master, minionCount, ...(values.keys === undefined ? {} : { keyDirectory: values.keys }) };
  const side = values.load === "ping" ? await PingSide.open(options) : await StormSide.open(options);
  phase.end();
  const rate = values.rate === undefined ? {} : { ratePerSecond: countOf("--rate", values.rate) };
  const load = { kind: "returns", jobs, returnBytes: values["return-bytes"], ...rate } as const;
  return {
    name: side.name,
    turn: () => (side instanceof PingSide ? side.turn(jobs) : side.turn(load)),
    returnEvents: () => side.returnEvents,
    close: () => side.close(),
  };
}

/** Warms all masters up for the same time. Compiling hot code takes some ten thousand returns. */
async function warmUp(side: Contestant): Promise<void> {
  const deadlineMs = performance.now() + Number(values["warm-up"]) * 1_000;
  do await side.turn();
  while (performance.now() < deadlineMs);
}

async function measure(sides: readonly Contestant[]): Promise<void> {
  const signal = signalOfInterrupts();
  for (const side of sides) {
    const phase = progress.phase(`${side.name}: warm-up`);
    await warmUp(side);
    phase.end();
  }
  const turns = await takeTurns(sides, countOf("--rounds", values.rounds), { progress, signal });
  const masters = sides.map((side) => ({
    ...summarize(side.name, turns.get(side.name) ?? []),
    // Includes the warm-up.
    returnEvents: side.returnEvents(),
  }));
  const comparisons = compareWith(sides[0]?.name ?? "", turns, "CPU per return");
  for (const side of masters) say(describeSide(side, "return"));
  for (const comparison of comparisons) say(describeComparison(comparison));
  const { load, minions, rounds, jobs, "salt-jobs": saltJobs, rate, "return-bytes": returnBytes } = values;
  const parameters = { load, minions, rounds, jobs, saltJobs, rate, returnBytes, workers: values.workers };
  const line = { bench: "cpu-per-return", parameters, masters, comparisons, ...thisMachine() };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (values.load !== "storm" && values.load !== "ping")
    throw new SaltworksError("USAGE", `--load is storm or ping, not ${values.load}`);
  say(describeLimits(descriptorLimits()));
  const sides: Contestant[] = [];
  try {
    for (const master of mastersToMeasure()) sides.push(await open(master));
    await measure(sides);
  } finally {
    await Promise.all(sides.map((side) => side.close()));
  }
}

await runProgram(main);
