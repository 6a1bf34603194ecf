/** Question: does a return cost a master more CPU as its fleet grows, and how much more at a load so light that every batch holds one return? */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { describeLimits, descriptorLimits } from "../fleet/descriptors.ts";
import { thisMachine } from "../machine.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";
import { takeTurns } from "./abba.ts";
import { compileFloor } from "./floor.ts";
import { compareWith, describeComparison, describeSide, summarize } from "./load-report.ts";
import { countOf, countsOf, runProgram, say, signalOfInterrupts } from "./program.ts";
import { type Load, StormSide } from "./storm-side.ts";

const usage = `usage: node dist/bench/peers/fleet-growth.js [options]
  --minions LIST       fleets under full load, each with a master of its own, default 1000,8000; the first is what the others are compared with
  --light COUNT        minions of the fleet under light load, default 100
  --rate LIST          its load: returns a second of all of them together, at random times, default 200,1000
  --linger LIST        batch_linger_us of the masters under light load, one master for each and each rate, default 0,2000
  --returns COUNT      returns of a turn under full load, default 40000
  --seconds SECONDS    length of a turn under light load, default 5
  --rounds COUNT       turns of each master that count, in alternating order, default 4; fewer give no verdict
  --workers COUNT      worker_threads of the masters, default 2
  --warm-up-returns COUNT  returns before them that do not count, as fast as they are answered, default 40000
  --floor              the C floor with the same fleets, beside
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    minions: { type: "string", default: "1000,8000" },
    light: { type: "string", default: "100" },
    rate: { type: "string", default: "200,1000" },
    linger: { type: "string", default: "0,2000" },
    returns: { type: "string", default: "40000" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "4" },
    workers: { type: "string", default: "2" },
    "warm-up-returns": { type: "string", default: "40000" },
    floor: { type: "boolean", default: false },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const returnBytes = "64";
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

type Plan = {
  readonly name: string;
  /** The key of a load: equal for two masters under the same load. */
  readonly fleet: string;
  readonly master: MasterChoice;
  readonly minionCount: number;
  readonly load: Load;
};

function loadOf(minionCount: number, returns: number, ratePerSecond?: number): Load {
  const jobs = Math.max(1, Math.round(returns / minionCount));
  return { kind: "returns", jobs, returnBytes, ...(ratePerSecond === undefined ? {} : { ratePerSecond }) };
}

/** The fleets under full load come first; the first fleet is the baseline. */
function plansOf(master: MasterChoice): Plan[] {
  const plan = (fleet: string, minionCount: number, load: Load): Plan => {
    return { name: `${master.kind}, ${fleet}`, fleet, master, minionCount, load };
  };
  const returns = countOf("--returns", values.returns);
  const full = countsOf("--minions", values.minions).map((count) =>
    plan(`${count} minions`, count, loadOf(count, returns)),
  );
  const minionCount = countOf("--light", values.light);
  const light = countsOf("--rate", values.rate).map((rate) => {
    const load = loadOf(minionCount, rate * countOf("--seconds", values.seconds), rate);
    return plan(`${minionCount} minions, ${rate} returns/s`, minionCount, load);
  });
  return [...full, ...(master.kind === "floor" ? light : light.flatMap(withLinger))];
}

/** 0 is the master's default, and the value that is compared with the floor. */
function withLinger(plan: Plan): Plan[] {
  return values.linger.split(",").map((text) => {
    const name = Number(text) === 0 ? plan.name : `${plan.name}, batch_linger_us ${text}`;
    const config = { batch_linger_us: Number(text) };
    return { ...plan, name, fleet: name.slice(name.indexOf(",") + 2), master: { ...plan.master, config } };
  });
}

type Grown = Plan & { readonly side: StormSide };

async function open(plan: Plan): Promise<Grown> {
  const phase = progress.phase(`${plan.name}: minions sign in`);
  const { name, master, minionCount } = plan;
  const keys = values.keys === undefined ? {} : { keyDirectory: values.keys };
  const side = await StormSide.open({ name, master, minionCount, ...keys });
  phase.end();
  return { ...plan, side };
}

/** Compares each fleet with the first one of its kind, and with the floor under the same load. */
function pairsOf(plans: readonly Plan[]): [candidate: string, baseline: string][] {
  return plans.flatMap((plan): [string, string][] => {
    const first = plans.find(({ master }) => master.kind === plan.master.kind);
    const floor = plans.find(({ master, fleet }) => master.kind === "floor" && fleet === plan.fleet);
    return [first, floor].flatMap((other): [string, string][] =>
      other === undefined || other.name === plan.name ? [] : [[plan.name, other.name]],
    );
  });
}

async function measure(grown: readonly Grown[], signal: AbortSignal) {
  for (const { name, side, minionCount } of grown) {
    const phase = progress.phase(`${name}: warm-up`);
    await side.turn(loadOf(minionCount, countOf("--warm-up-returns", values["warm-up-returns"])));
    phase.end();
  }
  const sides = grown.map(({ name, side, load }) => ({ name, turn: () => side.turn(load) }));
  const turns = await takeTurns(sides, countOf("--rounds", values.rounds), { progress, signal });
  const masters = [...turns].map(([name, own]) => summarize(name, own));
  const comparisons = pairsOf(grown).flatMap(([candidate, baseline]) => {
    const pair = new Map([...turns].filter(([name]) => name === candidate || name === baseline));
    return compareWith(candidate, pair, "CPU per return");
  });
  for (const master of masters) say(describeSide(master, "return"));
  for (const comparison of comparisons) say(describeComparison(comparison));
  return { masters, comparisons };
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  say(describeLimits(descriptorLimits()));
  const kinds: MasterChoice[] = [{ kind: "saltworks", workers: countOf("--workers", values.workers) }];
  if (values.floor) {
    const compiled = compileFloor();
    if ("missing" in compiled) say(`floor: skipped, ${compiled.missing}`);
    else kinds.push({ kind: "floor" });
  }
  const signal = signalOfInterrupts();
  const grown: Grown[] = [];
  try {
    for (const plan of kinds.flatMap(plansOf)) grown.push(await open(plan));
    const found = await measure(grown, signal);
    const { minions, light, rate, linger, returns, seconds, rounds, workers } = values;
    const parameters = { minions, light, rate, linger, returns, seconds, rounds, workers };
    process.stdout.write(`${JSON.stringify({ bench: "fleet-growth", parameters, ...found, ...thisMachine() })}\n`);
  } finally {
    await Promise.all(grown.map(({ side }) => side.close()));
  }
}

await runProgram(main);
