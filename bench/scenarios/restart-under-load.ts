/** Question: what is lost, and how long are minions without a master, when it is killed or restarted in the middle of a fleet's returns? */
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import { encodeClearRequest } from "../../src/wire/request.ts";
import { demandRoomForMaster } from "../fleet/descriptors.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { Connection } from "../fleet/storm/connection.ts";
import { memoryOf } from "../memory.ts";
import type { Point } from "../results/schema.ts";
import { account, openStored } from "./measures/accounting.ts";
import { cpuOf, spentSinceStart } from "./measures/measure.ts";
import { Sampler } from "./measures/sampler.ts";
import { untilRest } from "./measures/usage.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { FleetCheck, isSettled, openSimulatedFleet, untilSubscribed } from "./setup/fleet-setup.ts";
import { histogramOf, oneByOne } from "./setup/operations.ts";

type RestartUnderLoad = {
  readonly minions: number;
  readonly restarts: number;
  readonly isKilled: boolean;
  readonly spreadMs: number;
  readonly returnBytes: number;
  readonly seconds: number;
};

export const restartUnderLoad = defineScenario<RestartUnderLoad>({
  name: "restart-under-load",
  version: 1,
  ownMaster: "stops and starts the master",
  question:
    "What is lost, and how long are minions without a master, when it is killed or restarted in the middle of a fleet's returns?",
  defaults: { minions: 300, restarts: 3, isKilled: true, spreadMs: 1_000, returnBytes: 1_000, seconds: 120 },
  about: {
    minions: "simulated minions, each with the whole life of a real one",
    restarts: "jobs, in each of which the master goes down after a third of the returns was acknowledged",
    isKilled: "whether by KILL; otherwise by TERM, as a service manager does",
    spreadMs: "over which the returns of one job come",
    returnBytes: "size of the returned text",
    seconds: "that minions may take to have everything acknowledged after a restart",
  },
  demand: ({ minions }) => demandRoomForMaster(minions, 2 * minions, false),
  async run(context) {
    const { parameters: p } = context;
    const fleet = await openSimulatedFleet(context, p.minions, {
      returnBytes: [p.returnBytes, p.returnBytes],
      returnDelayMs: [0, p.spreadMs],
      returnTimeoutMs: [2_000, 3_000],
      returnTries: 20,
      reconnectMs: [100, 500],
    });
    try {
      const points: Point[] = [];
      for (let index = 0; index < p.restarts; index += 1) points.push(await restart(context, fleet, index));
      return points;
    } finally {
      await fleet.close();
    }
  },
});

async function restart(
  { master, parameters: p, progress, signal }: ScenarioContext<RestartUnderLoad>,
  fleet: Fleet,
  index: number,
): Promise<Point> {
  const phase = progress.phase(`restart ${index + 1} of ${p.restarts}`);
  await untilSubscribed(fleet, master, signal);
  await fleet.until("returns settled", isSettled, p.seconds * 1_000);
  const before = fleet.counters;
  const check = new FleetCheck(fleet);
  const sampler = new Sampler(master);
  const client = master.client();
  const startedMs = performance.now();
  const { jid } = await client.publish("*", "bench.text");
  client.close();
  const third = before.returnsAcknowledged + Math.ceil(p.minions / 3);
  await fleet.until("a third", ({ returnsAcknowledged }) => returnsAcknowledged >= third, p.seconds * 1_000);
  const atDown = fleet.counters.returnsAcknowledged - before.returnsAcknowledged;
  const downMs = performance.now();
  const restarted = master.restart({ kill: p.isKilled });
  const back = Promise.all([restarted, untilBack(master.requestPort, signal)]);
  // Waits for the restart even after a failure, because a master that is being started cannot be removed. `back` throws the error.
  const [, upMs] = await back.finally(() => restarted.catch(() => undefined));
  await fleet.until(
    "all returns",
    (now) => isSettled(now) && now.jobsMatched - before.jobsMatched >= p.minions,
    p.seconds * 1_000,
  );
  const doneMs = performance.now();
  const series = await sampler.stop();
  await untilRest(master, signal);
  const { generator, cpuMs: fleetCpuMs } = check.stop();
  const now = fleet.counters;
  const acknowledged = await fleet.acknowledged(jid);
  const lost = await notStored(master, jid, acknowledged);
  phase.end();
  return {
    label: `${p.isKilled ? "KILL" : "TERM"} ${index + 1}`,
    parameters: { ...p },
    wallMs: doneMs - startedMs,
    operations: { downtime: oneByOne(histogramOf([upMs - downMs]), upMs - downMs) },
    cpu: cpuOf(spentSinceStart(master), p.minions - atDown),
    memory: memoryOf(master.processId),
    series,
    correctness: await account(
      master,
      { jids: [jid], ids: fleet.ids() },
      {
        acknowledged: acknowledged.size,
        // The counters were reset by the restart.
        duplicatesBefore: 0,
        errors: {
          "acknowledged, not stored": lost,
          "given up by minions": now.returnsLost - before.returnsLost,
        },
      },
    ),
    generator,
    figures: {
      downtimeMs: upMs - downMs,
      upToLastReturnMs: doneMs - upMs,
      acknowledgedBeforeDown: atDown,
      acknowledgedNotStored: lost,
      returnsRepeated: now.returnsRepeated - before.returnsRepeated,
      reauths: now.reauths - before.reauths,
      generatorCpuMs: fleetCpuMs,
    },
  };
}

/** Asks every few milliseconds, from before the master ends until the new one answers. */
async function untilBack(port: number, signal: AbortSignal): Promise<number> {
  let wasDown = false;
  for (;;) {
    await wait(lookMs, undefined, { signal });
    try {
      const connection = await Connection.open({ host: "127.0.0.1", port, type: "REQ" });
      try {
        await connection.request(ping, pingTimeoutMs);
        if (wasDown) return performance.now();
      } finally {
        connection.close();
      }
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      wasDown = true;
    }
  }
}

const lookMs = 20;
const pingTimeoutMs = 1_000;
const ping = encodeClearRequest({ cmd: "ping" }, 3);

async function notStored(
  master: ScenarioContext<RestartUnderLoad>["master"],
  jid: string,
  acknowledged: ReadonlySet<string>,
): Promise<number> {
  const stored = openStored(master);
  if (stored === undefined) return 0;
  try {
    const present = await stored.of(jid);
    return [...acknowledged].filter((id) => !present.has(id)).length;
  } finally {
    await stored.close();
  }
}
