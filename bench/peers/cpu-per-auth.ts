/** Question: how much CPU does a master spend on one `_auth` of an accepted minion, ours and Salt's, beside what RSA alone costs? Closed loop. */
import { parseArgs } from "node:util";
import { openProgress } from "../../src/cli/host/progress.ts";
import { thisMachine } from "../machine.ts";
import type { MasterChoice } from "../scenarios/setup/master-under-test.ts";
import { takeTurns } from "./abba.ts";
import { compareWith, describeComparison, describeSide, type LoadTurn, summarize } from "./load-report.ts";
import { countOf, runProgram, saltVenv, say, signalOfInterrupts } from "./program.ts";
import { measureIdleRsaFloor } from "./rsa-floor.ts";
import { StormSide } from "./storm-side.ts";

const usage = `usage: node dist/bench/peers/cpu-per-auth.js [options]
  --salt VENV          a virtual environment with Salt (or SALTWORKS_SALT_VENV); without it Salt is left out
  --minions COUNT      minions of each master, all accepted, default 200
  --connections COUNT  over which they ask, each with one request outstanding, default 32
  --rounds COUNT       turns of each master that count, in alternating order, default 4; fewer give no verdict
  --auths COUNT        of each minion in one turn, default 10
  --salt-auths COUNT   the same for Salt, default 2
  --workers COUNT      worker_threads of both masters, default 2
  --idle-wait SECONDS  each turn of RSA alone waits this long at most for an idle machine, default 10
  --keys DIR           where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    salt: { type: "string" },
    minions: { type: "string", default: "200" },
    connections: { type: "string", default: "32" },
    rounds: { type: "string", default: "4" },
    auths: { type: "string", default: "10" },
    "salt-auths": { type: "string", default: "2" },
    workers: { type: "string", default: "2" },
    "idle-wait": { type: "string", default: "10" },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

/** Repetitions in a turn of the RSA floor: half a second of this process. */
const rsaIterations = 700;
/** Milliseconds. */
const idleWaitMaxMs = 1_000 * countOf("--idle-wait", values["idle-wait"]);
const rsaName = "RSA-2048 alone on an idle core";
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });

/** `connectsEach`: every `_auth` over a new connection, as a minion's that signs in; otherwise over open ones. */
type Way = { readonly hasToken: boolean; readonly connectsEach: boolean };
type Contestant = { readonly name: string; turn(way: Way): Promise<LoadTurn> };

/** Other programs' share of the machine in each turn of RSA alone. */
const otherShares: number[] = [];

/** A turn of RSA alone counts as one `_auth`, because the loop repeats it itself. The masters have nothing to do meanwhile. */
const rsaFloor: Contestant = {
  name: rsaName,
  turn: async ({ hasToken }) => {
    const startedMs = performance.now();
    const floor = await measureIdleRsaFloor(rsaIterations, idleWaitMaxMs);
    otherShares.push(floor.otherShare);
    const cpuMs = (hasToken ? floor.withTokenUs : floor.withoutTokenUs) / 1_000;
    return { cpuMs, operations: 1, wallMs: performance.now() - startedMs, generatorCpuMs: 0 };
  },
};

async function openMaster(master: MasterChoice): Promise<{ side: StormSide; contestant: Contestant }> {
  const phase = progress.phase(`${master.kind}: minions sign in`);
  const side = await StormSide.open({
    master,
    minionCount: countOf("--minions", values.minions),
    connections: countOf("--connections", values.connections),
    ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
  });
  phase.end();
  const rounds = countOf("--auths", master.kind === "salt" ? values["salt-auths"] : values.auths);
  const turn = ({ hasToken, connectsEach }: Way) => side.turn({ kind: "auths", rounds, hasToken, connectsEach });
  return { side, contestant: { name: side.name, turn } };
}

/** With a token, or without, as at a minion's first contact. */
async function measure(contestants: readonly Contestant[], way: Way, signal: AbortSignal) {
  const sides = contestants.map(({ name, turn }) => ({ name, turn: () => turn(way) }));
  for (const side of sides) await side.turn();
  const turns = await takeTurns(sides, countOf("--rounds", values.rounds), { progress, signal });
  const operation = `_auth ${way.hasToken ? "with" : "without"} token${way.connectsEach ? ", each connecting" : ""}`;
  const masters = [...turns].map(([name, own]) => summarize(name, own));
  const comparisons = compareWith(contestants[0]?.name ?? "", turns, `CPU per ${operation}`);
  for (const master of masters.filter(({ name }) => name !== rsaName)) say(describeSide(master, operation));
  const rsa = masters.find(({ name }) => name === rsaName);
  const othersMost = Math.round(100 * Math.max(...otherShares));
  say(
    `${rsaName}: ${rsa?.cpuUsPerOperation} µs per ${operation}; other programs took up to ${othersMost} % of the machine`,
  );
  for (const comparison of comparisons) say(describeComparison(comparison));
  return { masters, comparisons };
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const workers = countOf("--workers", values.workers);
  const salt = saltVenv(values.salt);
  if (salt === undefined) say("salt: skipped, no --salt VENV given");
  const choices: MasterChoice[] = [
    { kind: "saltworks", workers },
    ...(salt === undefined ? [] : [{ kind: "salt", workers, salt } as const]),
  ];
  const signal = signalOfInterrupts();
  const opened: Awaited<ReturnType<typeof openMaster>>[] = [];
  try {
    for (const choice of choices) opened.push(await openMaster(choice));
    const contestants = [...opened.map(({ contestant }) => contestant), rsaFloor];
    const withoutToken = await measure(contestants, { hasToken: false, connectsEach: false }, signal);
    const withToken = await measure(contestants, { hasToken: true, connectsEach: false }, signal);
    const connecting = await measure(contestants, { hasToken: false, connectsEach: true }, signal);
    const { minions, connections, rounds } = values;
    const parameters = { minions, connections, rounds, workers };
    const line = {
      bench: "cpu-per-auth",
      parameters,
      withoutToken,
      withToken,
      connecting,
      otherShares,
      ...thisMachine(),
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    await Promise.all(opened.map(({ side }) => side.close()));
  }
}

await runProgram(main);
