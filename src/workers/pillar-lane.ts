/** The lane that renders pillars: files in, values out, one minion at a time, so that a slow one delays neither returns nor authentications. */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../errors.ts";
import { PillarCompiler } from "../pillar/compile.ts";
import { pillarSettings } from "../pillar/settings.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";
import { answerForMeasures } from "./lane-measures.ts";
import type { LaneStart, PillarResult, PillarStart, PillarTask } from "./messages.ts";
import { nameLaneThread } from "./thread-name.ts";
import { yieldToOthers } from "./thread-priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/pillar-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as PillarStart & LaneStart;
answerForMeasures(nameLaneThread("pillar", startedThreads));
yieldToOthers();
const compiler = new PillarCompiler(pillarSettings(config));

function mapOf(bytes: Uint8Array | undefined): ValueMap {
  const value = bytes === undefined ? undefined : decode(bytes);
  return value instanceof Map ? value : new Map();
}

export default function handle(task: PillarTask): PillarResult {
  const grains = mapOf(task.grains);
  grains.set("id", task.id);
  const request = {
    minion: { id: task.id, grains },
    saltenv: task.saltenv,
    pillarenv: task.pillarenv,
    override: mapOf(task.override),
  };
  const { pillar, faults } = task.isTopOnly === true ? compiler.top(request) : compiler.compile(request);
  // In both flavours: the minion's, and the store's.
  return { pillar: encode(pillar, "raw"), record: encode(pillar, "bin"), faults };
}
