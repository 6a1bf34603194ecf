/** The lane that renders pillars, one minion at a time. A slow pillar delays neither returns nor authentications. */
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { type CompiledPillar, PillarCompiler } from "../../pillar/compile.ts";
import { pillarSettings } from "../../pillar/input/settings.ts";
import { PillarCacheFiles } from "../../store/pillar-cache.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { nothing } from "../../wire/edit.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { PillarResult, PillarStart, PillarTask } from "../messages/pillar.ts";
import { askThrough, sitePythonOf } from "../python-line.ts";
import { isForgottenSince } from "../threads/forget-counts.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/pillar-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as PillarStart & LaneStart;
answerForMeasures(nameLaneThread("pillar", startedThreads));
yieldToOthers();
const python = config.salt_python === false ? undefined : sitePythonOf(config);
const settings = { ...pillarSettings(config), python };
const compiler = new PillarCompiler(settings);
const files = new PillarCacheFiles(join(config.cachedir, "pillar_cache"), config.pillar_cache_ttl * 1_000);

const needingPython: PillarResult = {
  ...{ pillar: nothing, record: nothing, faults: [], sources: [] },
  needsPython: true,
};

/** `budget`: one for all parts of a minion's request. A pillar that the master rendered needs none. */
function mapOf(bytes: Uint8Array | undefined, budget = new DecodeBudget()): ValueMap {
  const value = bytes === undefined ? undefined : decode(bytes, "text", budget);
  return value instanceof Map ? value : new Map();
}

function requestOf(task: PillarTask, override: ValueMap, budget: DecodeBudget) {
  const grains = mapOf(task.grains, budget);
  grains.set("id", task.id);
  return {
    minion: { id: task.id, grains },
    saltenv: task.saltenv,
    pillarenv: task.pillarenv,
    override,
    extraData: mapOf(task.extraData, budget),
    onDemand: task.onDemand && decode(task.onDemand, "text", budget),
    outcomes: task.outcomes,
  };
}

/** The pillar in network encoding for the minion, and in the new flavour for the store. */
function resultOf({ pillar, faults, sources }: CompiledPillar): PillarResult {
  return { pillar: encode(pillar, "raw"), record: encode(pillar, "bin"), faults, sources };
}

export default function handle(task: PillarTask): PillarResult | undefined {
  const { line } = task;
  python?.begin(askThrough(line));
  try {
    const result = answerTo(task);
    if (python?.wasNeeded === true) return { ...needingPython };
    return result && python?.wasUsed === true ? { ...result, usedPython: true } : result;
  } finally {
    line?.port.close();
  }
}

function answerTo(task: PillarTask): PillarResult | undefined {
  if (task.cache === "forget") {
    files.forget(task.id);
    return undefined;
  }
  const budget = DecodeBudget.ofRequest();
  const override = mapOf(task.override, budget);
  if (task.isTopOnly === true) {
    return resultOf(compiler.top(requestOf(task, override, budget)));
  }
  const environment = task.pillarenv ?? null;
  const kept = task.cache === "find" ? files.find(task.id, environment, Date.now()) : task.kept && mapOf(task.kept);
  if (kept !== undefined) return resultOf({ pillar: withOverride(kept, override), faults: [], sources: [] });
  if (task.cache === "find") return undefined;
  if (!config.pillar_cache) {
    return resultOf(compiler.compile(requestOf(task, override, budget)));
  }
  // The cached pillar is rendered without the minion's `override`, which is merged over it at each request.
  const { pillar, faults, sources } = compiler.compile(requestOf(task, new Map(), budget));
  const isKeepable = !pillar.has("_errors");
  const unkept = isKeepable && task.cache === "keep" ? keep(task, environment, pillar) : undefined;
  return {
    ...resultOf({ pillar: withOverride(pillar, override), faults, sources }),
    keepable: isKeepable ? encode(pillar, "bin") : undefined,
    unkept,
  };
}

/** Writes the pillar into the cache on disk. @returns the system's error code if that fails; the pillar is served all the same */
function keep({ id, mark }: PillarTask, environment: string | null, pillar: ValueMap): string | undefined {
  const isForgotten = () => mark !== undefined && isForgottenSince(mark);
  if (isForgotten()) return undefined;
  try {
    files.keep(id, environment, pillar, Date.now());
    // If the pillars were forgotten meanwhile, this file may have been written after the removal.
    if (isForgotten()) files.forget(id);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function withOverride(pillar: ValueMap, override: ReadonlyMap<Value, Value>): ValueMap {
  return override.size > 0 ? settings.merge(pillar, override as ValueMap) : pillar;
}
