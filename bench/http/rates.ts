/** Question: how many requests a second does our API answer, beside a bare fastify route with the same body, and Salt's? */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { SaltworksError } from "../../src/errors.ts";
import { thisMachine } from "../machine.ts";
import { takeTurns } from "../peers/abba.ts";
import type { Turn } from "../peers/bootstrap.ts";
import { countOf, runProgram, saltVenv, say, signalOfInterrupts } from "../peers/program.ts";
import { ApiSide } from "./sides/api-side.ts";
import { BareSide } from "./sides/bare-side.ts";
import { type Asked, demandRight, type LoadOutcome, putLoad } from "./sides/load.ts";

const usage = `usage: node dist/bench/http/rates.js [options]
  --salt VENV        a virtual environment with Salt and CherryPy (or SALTWORKS_SALT_VENV); without it Salt is left out
  --minions COUNT    minions of each master, whose keys key.list_all lists, default 100
  --clients COUNT    HTTP clients, each with one request under way, default 32
  --rounds COUNT     turns of each that count, in alternating order, default 4
  --seconds COUNT    of one turn, default 3
  --warm-up SECONDS  of each request before the turns, default 5
`;

const { values } = parseArgs({
  options: {
    salt: { type: "string" },
    minions: { type: "string", default: "100" },
    clients: { type: "string", default: "32" },
    rounds: { type: "string", default: "4" },
    seconds: { type: "string", default: "3" },
    "warm-up": { type: "string", default: "5" },
    help: { type: "boolean", default: false },
  },
});

const timeoutSeconds = 60;

type Point = { readonly what: string; readonly route: string; readonly path: string; readonly body?: unknown };
type Side = Pick<ApiSide, "name" | "url"> & { readonly headers?: Readonly<Record<string, string>> };
type RateTurn = Turn & { readonly outcome: LoadOutcome };

const points: readonly Point[] = [
  { what: "GET /stats", route: "GET /stats", path: "/stats" },
  {
    what: "POST / wheel key.list_all",
    route: "POST /",
    path: "/",
    body: [{ client: "wheel", fun: "key.list_all" }],
  },
];

function askedOf(side: Side, { path, body }: Point): Asked {
  const { headers = {} } = side;
  return { url: side.url + path, headers, ...(body === undefined ? {} : { body }) };
}

/** The answers of our API, for the bare routes. */
async function answersOf(side: ApiSide): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const { what, route, path, body } of points) {
    const headers = { ...side.headers, "content-type": "application/json" };
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(side.url + path, init);
    if (answer.status !== 200) throw new SaltworksError("REQUEST_REFUSED", `${what}: ${answer.status}`);
    answers[route] = await answer.text();
  }
  return answers;
}

async function turn(side: Side, point: Point, seconds: number): Promise<RateTurn> {
  const connections = countOf("--clients", values.clients);
  const outcome = await putLoad(askedOf(side, point), { connections, amount: { seconds }, timeoutSeconds });
  demandRight(`${side.name}, ${point.what}`, outcome);
  return { cpuMs: outcome.wallMs, operations: outcome.requests, outcome };
}

function summaryOf(name: string, turns: readonly RateTurn[]) {
  const requests = turns.reduce((sum, { operations }) => sum + operations, 0);
  const wallMs = turns.reduce((sum, { outcome }) => sum + outcome.wallMs, 0);
  const perSecond = Math.round(requests / (wallMs / 1_000));
  return { name, requests, perSecond, turns: turns.map(({ outcome }) => outcome) };
}

async function measurePoint(sides: readonly Side[], point: Point) {
  const [rounds, seconds] = [countOf("--rounds", values.rounds), countOf("--seconds", values.seconds)];
  const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });
  for (const side of sides) await turn(side, point, countOf("--warm-up", values["warm-up"]));
  const players = sides.map((side) => ({ name: side.name, turn: () => turn(side, point, seconds) }));
  const turns = await takeTurns(players, rounds, { progress, signal: signalOfInterrupts() });
  const results = players.map(({ name }) => summaryOf(name, turns.get(name) ?? []));
  const [ours, bare] = results;
  const shareOfBare = Math.round(((ours?.perSecond ?? 0) / (bare?.perSecond ?? 1)) * 1_000) / 1_000;
  say(`${point.what}: ${results.map(({ name, perSecond }) => `${name} ${perSecond}/s`).join(", ")}: ${shareOfBare}`);
  return { what: point.what, shareOfBare, results };
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const opened: { readonly close: () => Promise<void> | void }[] = [];
  try {
    const minionCount = countOf("--minions", values.minions);
    const config = { worker_threads: 2 };
    const ours = await ApiSide.open({ master: { kind: "saltworks" }, minionCount, config });
    opened.push(ours);
    const bare = await BareSide.open(await answersOf(ours));
    opened.push(bare);
    const sides: Side[] = [ours, bare];
    const salt = saltVenv(values.salt);
    if (salt === undefined) say("salt: skipped, no --salt VENV given");
    else {
      const theirs = await ApiSide.open({ master: { kind: "salt", salt }, minionCount, config });
      opened.push(theirs);
      sides.push(theirs);
    }
    const measured: Awaited<ReturnType<typeof measurePoint>>[] = [];
    for (const point of points) measured.push(await measurePoint(sides, point));
    const { minions, clients, rounds, seconds } = values;
    const line = {
      bench: "http/rates",
      parameters: { minions, clients, rounds, seconds },
      points: measured,
      ...thisMachine(),
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    await Promise.all(opened.map((each) => each.close()));
  }
}

await runProgram(main);
