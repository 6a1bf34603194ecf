/** Question: does a return's ack wait longer while the connection to the database swallows everything? Open loop. */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { BlackHole } from "../../test/databases/black-hole.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import { runFirst } from "../load/precedence.ts";
import { takeTurns } from "../peers/abba.ts";
import type { LoadTurn } from "../peers/load-report.ts";
import { countOf, runProgram, say, signalOfInterrupts } from "../peers/program.ts";
import { StormSide } from "../peers/storm-side.ts";
import { openResult } from "./result.ts";
import { Shipped } from "./shipped.ts";
import { DatabaseSite } from "./site.ts";

const usage = `usage: node dist/bench/databases/black-hole.js [options]
  --minions COUNT      default 1000
  --rate PER-SECOND    returns a second, of all minions together, at random times, default 1000
  --jobs COUNT         jobs that every minion returns to in one turn, default 6
  --rounds COUNT       turns of each kind that count, in alternating order, default 4
  --return-bytes SIZE  of the value that is returned, default 64, or a distribution such as 64:70%,4096:30%
  --workers COUNT      worker_threads of the master, default 2
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    minions: { type: "string", default: "1000" },
    rate: { type: "string", default: "1000" },
    jobs: { type: "string", default: "6" },
    rounds: { type: "string", default: "4" },
    "return-bytes": { type: "string", default: "64" },
    workers: { type: "string", default: "2" },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const database = "ours";
const warmUpTurns = 1;
const result = openResult("databases/black-hole");
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

function summary(name: string, turns: readonly LoadTurn[]) {
  const all = new LatencyHistogram();
  const storms = turns.flatMap(({ storm }) => storm ?? []);
  for (const { histogram } of storms) all.add(LatencyHistogram.decode(histogram));
  return {
    name,
    returns: all.count,
    percentilesUs: all.percentilesUs(),
    p99MsByTurn: storms.map(({ latencyUsP99 }) => Math.round(latencyUsP99 / 10) / 100),
    voidReasons: [...new Set(storms.flatMap(({ voidReasons }) => voidReasons))],
  };
}

async function measure(site: DatabaseSite, hole: BlackHole, side: StormSide): Promise<void> {
  const shipped = new Shipped(side.master);
  const isGeneratorFirst = runFirst(side.storm.processIds);
  const turn = () =>
    side.turn({
      kind: "returns",
      jobs: countOf("--jobs", values.jobs),
      returnBytes: values["return-bytes"],
      ratePerSecond: countOf("--rate", values.rate),
    });
  const sides = [
    {
      name: "healthy",
      turn: async () => {
        hole.pass();
        await shipped.untilEmpty();
        return await turn();
      },
    },
    {
      name: "black-holed",
      turn: async () => {
        hole.swallow();
        return await turn();
      },
    },
  ] as const;
  for (let warmUp = 0; warmUp < warmUpTurns; warmUp += 1) for (const { turn: one } of sides) await one();
  const rounds = countOf("--rounds", values.rounds);
  const turns = await takeTurns(sides, rounds, { progress, signal: signalOfInterrupts() });
  hole.pass();
  await shipped.untilEmpty();
  const returns = (2 * rounds + 2 * warmUpTurns) * Number(values.jobs) * side.minionCount;
  site.demandOnce(database, returns);
  const states = sides.map(({ name }) => summary(name, turns.get(name) ?? []));
  const [healthy = 0, holed = 0] = states.map(({ percentilesUs }) => percentilesUs.p99);
  for (const { name, percentilesUs, p99MsByTurn, voidReasons } of states)
    say(
      `${name}: p50 ${percentilesUs.p50} µs, p99 ${percentilesUs.p99} µs (turns ${p99MsByTurn.join(", ")} ms) ${voidReasons}`,
    );
  say(`black-holed / healthy: p99 ${(holed / healthy).toFixed(2)}; all ${returns} returns are in the database once`);
  const { minions, rate, jobs, "return-bytes": returnBytes, workers } = values;
  const parameters = { minions, rate, jobs, rounds, returnBytes, workers, isGeneratorFirst };
  result.print({ parameters, states, p99Ratio: holed / healthy });
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const site = await DatabaseSite.open([database]);
  const hole = await BlackHole.open(site.server.port);
  let side: StormSide | undefined;
  try {
    const config = site.configOf(database, hole.port);
    const phase = progress.phase("minions sign in");
    side = await StormSide.open({
      master: { kind: "saltworks", workers: countOf("--workers", values.workers), config },
      minionCount: countOf("--minions", values.minions),
      ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
    });
    phase.end();
    await measure(site, hole, side);
  } finally {
    await side?.close();
    hole.close();
    await site.close();
  }
}

await runProgram(main);
