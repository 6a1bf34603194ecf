/** The lane that renders pillars, one minion at a time. A slow pillar delays neither returns nor authentications. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { PillarCompiler } from "../../pillar/compile.ts";
import { merged } from "../../pillar/input/merge.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";
import { PillarCacheFiles } from "../../store/pillar-cache.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { PillarResult, PillarStart, PillarTask } from "../messages/pillar.ts";
import { isForgottenSince } from "../threads/forget-counts.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/pillar-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as PillarStart & LaneStart;
answerForMeasures(nameLaneThread("pillar", startedThreads));
yieldToOthers();
const settings = pillarSettings(config);
const compiler = new PillarCompiler(settings);
const files = new PillarCacheFiles(join(config.cachedir, "pillar_cache"), config.pillar_cache_ttl * 1_000);

function mapOf(bytes: Uint8Array | undefined): ValueMap {
  const value = bytes === undefined ? undefined : decode(bytes);
  return value instanceof Map ? value : new Map();
}

function requestOf(task: PillarTask, override: ValueMap) {
  const grains = mapOf(task.grains);
  grains.set("id", task.id);
  return {
    minion: { id: task.id, grains },
    saltenv: task.saltenv,
    pillarenv: task.pillarenv,
    override,
    extraData: mapOf(task.extraData),
    onDemand: task.onDemand && decode(task.onDemand),
    outcomes: task.outcomes,
  };
}

/** The pillar in both flavours: the minion's and the store's. */
function resultOf(pillar: ValueMap, faults: readonly string[]): PillarResult {
  return { pillar: encode(pillar, "raw"), record: encode(pillar, "bin"), faults };
}

export default function handle(task: PillarTask): PillarResult | undefined {
  if (task.cache === "forget") {
    files.forget(task.id);
    return undefined;
  }
  const override = mapOf(task.override);
  if (task.isTopOnly === true) {
    const { pillar, faults } = compiler.top(requestOf(task, override));
    return resultOf(pillar, faults);
  }
  const environment = task.pillarenv ?? null;
  const kept = task.cache === "find" ? files.find(task.id, environment, Date.now()) : task.kept && mapOf(task.kept);
  if (kept !== undefined) return resultOf(withOverride(kept, override), []);
  if (task.cache === "find") return undefined;
  if (!config.pillar_cache) {
    const { pillar, faults } = compiler.compile(requestOf(task, override));
    return resultOf(pillar, faults);
  }
  // The kept pillar is the same for all callers. A caller's own values are merged over it each time.
  const { pillar, faults } = compiler.compile(requestOf(task, new Map()));
  const isKeepable = !pillar.has("_errors");
  const unkept = isKeepable && task.cache === "keep" ? keep(task, environment, pillar) : undefined;
  return {
    ...resultOf(withOverride(pillar, override), faults),
    keepable: isKeepable ? encode(pillar, "bin") : undefined,
    unkept,
  };
}

/** @returns the system's error code if the pillar cannot be kept; it is served all the same */
function keep({ id, mark }: PillarTask, environment: string | null, pillar: ValueMap): string | undefined {
  const isForgotten = () => mark !== undefined && isForgottenSince(mark);
  if (isForgotten()) return undefined;
  try {
    files.keep(id, environment, pillar, Date.now());
    // Forgotten meanwhile: the file may have been written after the removal.
    if (isForgotten()) files.forget(id);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function withOverride(pillar: ValueMap, override: ReadonlyMap<Value, Value>): ValueMap {
  return override.size > 0 ? merged(pillar, override as ValueMap, settings.joinsLists) : pillar;
}
