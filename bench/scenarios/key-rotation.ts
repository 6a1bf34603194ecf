/** Question: how long after the master's key is rotated has every minion read the next publish, and what does that cost? */
import { setTimeout as wait } from "node:timers/promises";
import { demandRoomForMaster } from "../fleet/descriptors.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./measures/accounting.ts";
import { cpuOf, measured } from "./measures/measure.ts";
import { storageOf } from "./measures/storage.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { FleetCheck, openSimulatedFleet } from "./setup/fleet-setup.ts";
import { histogramOf, oneByOne } from "./setup/operations.ts";

type KeyRotation = { readonly minions: number; readonly rotations: number; readonly seconds: number };

/** A master rotates after a key is removed; it is done within a second. */
const rotationTakesMs = 1_500;

export const keyRotation = defineScenario<KeyRotation>({
  name: "key-rotation",
  version: 1,
  ownMaster: "deletes minions' keys",
  question:
    "How long after the master's key is rotated has every minion read the next publish, and what does that cost?",
  defaults: { minions: 300, rotations: 2, seconds: 120 },
  about: {
    minions: "simulated minions, each with the whole life of a real one; one more loses its key at each rotation",
    rotations: "how often; before them one publish without a rotation, to compare with",
    seconds: "that the minions may take",
  },
  demand: ({ minions, rotations }) => demandRoomForMaster(minions + rotations, 2 * (minions + rotations), false),
  // Salt checks for a due rotation once in each round of its maintenance.
  masterConfig: () => ({ loop_interval: 1 }),
  async run(context) {
    const { parameters: p } = context;
    // Minions that lose their keys come first in the fleet. Their returns are not expected.
    const fleet = await openSimulatedFleet(context, p.minions + p.rotations);
    try {
      const points = [await publishOnce(context, fleet, undefined)];
      for (let index = 0; index < p.rotations; index += 1) points.push(await publishOnce(context, fleet, index));
      return points;
    } finally {
      await fleet.close();
    }
  },
});

/** `rotation`: the minion whose key is deleted before the publish; undefined for none. */
async function publishOnce(
  { master, parameters: p, progress, signal }: ScenarioContext<KeyRotation>,
  fleet: Fleet,
  rotation: number | undefined,
): Promise<Point> {
  const label = rotation === undefined ? "no rotation" : `rotation ${rotation + 1}`;
  const phase = progress.phase(label);
  const ids = fleet.ids().slice(p.rotations);
  const client = master.client();
  try {
    const before = fleet.counters;
    if (rotation !== undefined) {
      await master.deleteKey?.(fleet.ids()[rotation] ?? "");
      await wait(rotationTakesMs, undefined, { signal });
    }
    const duplicatesBefore = await duplicatesSeen(master);
    const check = new FleetCheck(fleet);
    const { span, result } = await measured(master, signal, async () => {
      const startedMs = performance.now();
      const { jid } = await client.publish("*", "test.ping");
      const deadlineMs = startedMs + p.seconds * 1_000;
      while (!isSubset(ids, await fleet.acknowledged(jid)) && performance.now() < deadlineMs) {
        await wait(pollMs, undefined, { signal });
      }
      return { jid, tookMs: performance.now() - startedMs };
    });
    const { generator, cpuMs: fleetCpuMs } = check.stop();
    const now = fleet.counters;
    const acknowledged = await fleet.acknowledged(result.jid);
    return {
      label,
      parameters: { ...p },
      wallMs: result.tookMs,
      operations: { publishToLastReturn: oneByOne(histogramOf([result.tookMs]), result.tookMs) },
      cpu: cpuOf(span, p.minions),
      memory: span.memory,
      storage: storageOf(span, p.minions),
      series: span.series,
      correctness: await account(
        master,
        { jids: [result.jid], ids },
        {
          acknowledged: ids.filter((id) => acknowledged.has(id)).length,
          duplicatesBefore,
          errors: {
            "publishes that did not open": now.publishesUnreadable - before.publishesUnreadable,
            "given up by minions": now.returnsLost - before.returnsLost,
          },
        },
      ),
      generator,
      figures: {
        publishToLastReturnMs: result.tookMs,
        reauths: now.reauths - before.reauths,
        authsSent: now.authsSent - before.authsSent,
        authsTimedOut: now.authsTimedOut - before.authsTimedOut,
        generatorCpuMs: fleetCpuMs,
      },
    };
  } finally {
    client.close();
    phase.end();
  }
}

const pollMs = 20;

function isSubset(ids: readonly string[], of: ReadonlySet<string>): boolean {
  return ids.every((id) => of.has(id));
}
