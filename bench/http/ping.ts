/** Question: how much CPU does a `test.ping` to 100 minions by `POST /` take in our master and API, and in Salt's? */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { thisMachine } from "../machine.ts";
import { takeTurns } from "../peers/abba.ts";
import type { Turn } from "../peers/bootstrap.ts";
import { compareWith, describeComparison } from "../peers/load-report.ts";
import { countOf, runProgram, saltVenv, say, signalOfInterrupts } from "../peers/program.ts";
import { ApiSide } from "./sides/api-side.ts";
import { demandRight, type LoadOutcome, putLoad } from "./sides/load.ts";

const usage = `usage: node dist/bench/http/ping.js [options]
  --salt VENV        a virtual environment with Salt and CherryPy (or SALTWORKS_SALT_VENV); without it Salt is left out
  --minions COUNT    simulated minions of each master, default 100
  --clients COUNT    HTTP clients, each with one request under way, default 32
  --rounds COUNT     turns of each API that count, in alternating order, default 4; fewer give no verdict
  --requests COUNT   requests of one client in one turn, default 10
  --salt-requests COUNT  the same for Salt, default 1
  --warm-up COUNT    turns of ours before them that do not count, default 3; of Salt one request
  --timeout SECONDS  both masters' \`timeout\`: the time until they ask who still works on a job, default 20
`;

const { values } = parseArgs({
  options: {
    salt: { type: "string" },
    minions: { type: "string", default: "100" },
    clients: { type: "string", default: "32" },
    rounds: { type: "string", default: "4" },
    requests: { type: "string", default: "10" },
    "salt-requests": { type: "string", default: "1" },
    "warm-up": { type: "string", default: "3" },
    timeout: { type: "string", default: "20" },
    help: { type: "boolean", default: false },
  },
});

/** Longer than Salt's answer when a client has missed an event: both waits, and the queue before them. */
const requestTimeoutSeconds = 150;

type PingTurn = Turn & { readonly outcome: LoadOutcome };
type Contestant = { readonly side: ApiSide; readonly requests: number; readonly warmUps: number };

async function openAll(opened: Contestant[]): Promise<void> {
  const minionCount = countOf("--minions", values.minions);
  const timeout = countOf("--timeout", values.timeout);
  const config = { timeout, gather_job_timeout: timeout, rest_timeout: 300, worker_threads: 2 };
  const common = { minionCount, config };
  const requests = countOf("--requests", values.requests);
  const ours = await ApiSide.open({ ...common, master: { kind: "saltworks" } });
  opened.push({ side: ours, requests, warmUps: countOf("--warm-up", values["warm-up"]) });
  const salt = saltVenv(values.salt);
  if (salt === undefined) {
    say("salt: skipped, no --salt VENV given");
    return;
  }
  const theirs = await ApiSide.open({ ...common, master: { kind: "salt", salt } });
  opened.push({ side: theirs, requests: countOf("--salt-requests", values["salt-requests"]), warmUps: 0 });
}

async function turn(side: ApiSide, clients: number, each: number): Promise<PingTurn> {
  const minionCount = countOf("--minions", values.minions);
  const isRight = (text: string) => text.split(": true").length - 1 === minionCount;
  const body = [{ client: "local", tgt: "*", fun: "test.ping" }];
  const asked = { url: `${side.url}/`, headers: side.headers, body, isRight };
  const amount = { requests: clients * each };
  const { result: outcome, cpuMs } = await side.measured(() =>
    putLoad(asked, { connections: clients, amount, timeoutSeconds: requestTimeoutSeconds }),
  );
  // Salt's client misses returns when many wait at once. Such answers are counted, and their CPU, too.
  if (side.master.kind === "saltworks") demandRight(side.name, outcome);
  return { cpuMs, operations: outcome.requests, outcome };
}

function summaryOf(name: string, turns: readonly PingTurn[]) {
  const requests = turns.reduce((sum, { operations }) => sum + operations, 0);
  const cpuMs = turns.reduce((sum, each) => sum + each.cpuMs, 0);
  const byTurn = turns.map((each) => Math.round((each.cpuMs / each.operations) * 100) / 100);
  return {
    name,
    requests,
    wrong: turns.reduce((sum, { outcome }) => sum + outcome.wrong, 0),
    cpuMsPerRequest: Math.round((cpuMs / requests) * 100) / 100,
    cpuMsPerRequestByTurn: byTurn,
    turns: turns.map(({ outcome }) => outcome),
  };
}

async function measure(contestants: readonly Contestant[]): Promise<void> {
  const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });
  const clients = countOf("--clients", values.clients);
  for (const { side, requests, warmUps } of contestants) {
    await turn(side, 1, 1);
    for (let round = 0; round < warmUps; round += 1) await turn(side, clients, requests);
  }
  const sides = contestants.map(({ side, requests }) => ({
    name: side.name,
    turn: () => turn(side, clients, requests),
  }));
  const rounds = countOf("--rounds", values.rounds);
  const turns = await takeTurns(sides, rounds, { progress, signal: signalOfInterrupts() });
  const results = sides.map(({ name }) => summaryOf(name, turns.get(name) ?? []));
  const comparisons = compareWith(sides[0]?.name ?? "", turns, "CPU per POST");
  for (const { name, cpuMsPerRequest, requests, wrong } of results)
    say(
      `${name}: ${cpuMsPerRequest} ms of CPU a request (${requests} requests, ${wrong} without the returns of all minions)`,
    );
  for (const comparison of comparisons) say(describeComparison(comparison));
  const { minions, requests, "salt-requests": saltRequests, timeout } = values;
  const parameters = { minions, clients, rounds, requests, saltRequests, timeout };
  process.stdout.write(
    `${JSON.stringify({ bench: "http/ping", parameters, results, comparisons, ...thisMachine() })}\n`,
  );
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const contestants: Contestant[] = [];
  try {
    await openAll(contestants);
    await measure(contestants);
  } finally {
    await Promise.all(contestants.map(({ side }) => side.close()));
  }
}

await runProgram(main);
