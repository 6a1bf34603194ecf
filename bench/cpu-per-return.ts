/** Question: how much CPU does a master spend on one return of a fleet's `test.ping`, ours and Salt's side by side? Closed loop. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { EventSubscriber } from "../src/transport/event-stream-client.ts";
import { splitEvent } from "../src/wire/event.ts";
import { cpuTimeMs } from "./cpu-time.ts";
import { describeLimits, descriptorLimits, descriptorsForMaster } from "./fleet/descriptors.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import type { LocalClient } from "./local-client.ts";
import { thisMachine } from "./machine.ts";
import { MasterProcess } from "./master-process.ts";

const usage = `usage: node dist/bench/cpu-per-return.js [options]
  --salt VENV        a virtual environment with Salt (or SALTWORKS_SALT_VENV); without it only ours is measured
  --minions COUNT    simulated minions of each master, default 1000
  --publishes COUNT  test.ping publishes in each of a master's two turns, default 10
  --warm-up SECONDS  publishing before them that does not count, default 15
  --workers COUNT    worker_threads of both masters, default 2
  --keys DIR         where the fleet's primes are kept
`;

const { values } = parseArgs({
  options: {
    salt: { type: "string" },
    minions: { type: "string", default: "1000" },
    publishes: { type: "string", default: "10" },
    "warm-up": { type: "string", default: "15" },
    workers: { type: "string", default: "2" },
    keys: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const minionCount = Number(values.minions);
const publishCount = Number(values.publishes);
const warmUpSeconds = Number(values["warm-up"]);
const upTimeoutMs = 300_000;
const returnsTimeoutMs = 120_000;
/** A master is at rest when it used no more than this in one look. */
const restMs = 20;
const restLookMs = 250;
const restLooksMax = 40;

type Side = {
  readonly name: "saltworks" | "salt";
  readonly master: MasterProcess;
  readonly fleet: Fleet;
  readonly client: LocalClient;
  readonly subscriber: EventSubscriber;
  readonly events: { returns: number };
  readonly turns: { cpuMs: number; fleetCpuMs: number; returns: number; wallMs: number }[];
};

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function openSide(name: Side["name"], command: readonly string[]): Promise<Side> {
  const master = await MasterProcess.start({
    command,
    config: { auto_accept: true, worker_threads: Number(values.workers), log_level: "warning" },
    descriptors: descriptorsForMaster(minionCount),
  });
  const fleet = await openFleet({
    masterHost: "127.0.0.1",
    requestPort: master.requestPort,
    minionCount,
    ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
  });
  await fleet.untilUp(upTimeoutMs);
  const events = { returns: 0 };
  // Somebody follows the events, as the operator's command does: a master without followers could skip that work.
  const subscriber = await EventSubscriber.connect(join(master.socketDirectory, "master_event_pub.ipc"), {
    onEvent: (body) => {
      if (/^salt\/job\/\d+\/ret\//.test(splitEvent(body).tag)) events.returns += 1;
    },
    onClose: () => say(`${name}: the event bus closed`),
  });
  say(`${name}: ${minionCount} minions up`);
  return { name, master, fleet, client: master.client(), subscriber, events, turns: [] };
}

/** What a master does after its last answer belongs to the work it was asked for. */
async function untilRest(master: MasterProcess): Promise<void> {
  let before = cpuTimeMs(master.processId);
  for (let look = 0; look < restLooksMax; look += 1) {
    await wait(restLookMs);
    const now = cpuTimeMs(master.processId);
    if (now - before <= restMs) return;
    before = now;
  }
}

async function publishAll(side: Side, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const wanted = side.fleet.counters.returnsAcknowledged + minionCount;
    await side.client.publish("*", "test.ping");
    await side.fleet.until("all returns", (now) => now.returnsAcknowledged >= wanted, returnsTimeoutMs);
  }
}

function fleetCpuTimeMs(fleet: Fleet): number {
  return fleet.processIds.reduce((sum, pid) => sum + cpuTimeMs(pid), 0);
}

/** The same time for both: what compiles its code while it runs needs some thousand returns to be done with that. */
async function warmUp(side: Side): Promise<void> {
  const deadlineMs = performance.now() + warmUpSeconds * 1_000;
  do await publishAll(side, 1);
  while (performance.now() < deadlineMs);
}

async function takeTurn(side: Side): Promise<void> {
  await untilRest(side.master);
  const cpuMs = cpuTimeMs(side.master.processId);
  const fleetCpuMs = fleetCpuTimeMs(side.fleet);
  const startedMs = performance.now();
  await publishAll(side, publishCount);
  const wallMs = performance.now() - startedMs;
  await untilRest(side.master);
  const turn = {
    cpuMs: cpuTimeMs(side.master.processId) - cpuMs,
    fleetCpuMs: fleetCpuTimeMs(side.fleet) - fleetCpuMs,
    returns: publishCount * minionCount,
    wallMs,
  };
  side.turns.push(turn);
  say(`${side.name}: ${turn.returns} returns, ${turn.cpuMs} ms of CPU in ${Math.round(wallMs)} ms`);
}

function summary(side: Side) {
  const returns = side.turns.reduce((sum, turn) => sum + turn.returns, 0);
  const cpuMs = side.turns.reduce((sum, turn) => sum + turn.cpuMs, 0);
  const fleetCpuMs = side.turns.reduce((sum, turn) => sum + turn.fleetCpuMs, 0);
  const { returnsLost, returnsRepeated, repliesUnreadable } = side.fleet.counters;
  return {
    returns,
    cpuMs,
    cpuUsPerReturn: (cpuMs * 1_000) / returns,
    cpuUsPerReturnByTurn: side.turns.map((turn) => (turn.cpuMs * 1_000) / turn.returns),
    fleetCpuUsPerReturn: (fleetCpuMs * 1_000) / returns,
    returnsPerSecond: Math.round(returns / (side.turns.reduce((sum, turn) => sum + turn.wallMs, 0) / 1_000)),
    returnEvents: side.events.returns,
    errors: { returnsLost, returnsRepeated, repliesUnreadable },
  };
}

async function closeSide(side: Side): Promise<void> {
  side.subscriber.close();
  side.client.close();
  await side.fleet.close();
  await side.master.remove();
}

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  say(describeLimits(descriptorLimits()));
  const venv = values.salt ?? process.env.SALTWORKS_SALT_VENV;
  const sides: Side[] = [];
  try {
    const ours = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
    sides.push(await openSide("saltworks", [process.execPath, ours, "master"]));
    if (venv === undefined) say("salt: skipped, no --salt VENV given");
    else if (!existsSync(join(venv, "bin", "salt-master"))) throw new Error(`no salt-master in ${venv}`);
    else sides.push(await openSide("salt", [join(venv, "bin", "salt-master")]));
    for (const side of sides) await warmUp(side);
    // ABBA: what drifts on the machine meets both alike.
    for (const side of [...sides, ...sides.toReversed()]) await takeTurn(side);
    const [saltworks, salt] = sides.map(summary);
    const ratio = saltworks && salt && salt.cpuUsPerReturn / saltworks.cpuUsPerReturn;
    const parameters = {
      minions: minionCount,
      publishesPerTurn: publishCount,
      warmUpSeconds,
      workerThreads: Number(values.workers),
    };
    const line = { bench: "cpu-per-return", ...parameters, saltworks, salt, saltPerSaltworks: ratio, ...thisMachine() };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    await Promise.all(sides.map(closeSide));
  }
}

await main();
