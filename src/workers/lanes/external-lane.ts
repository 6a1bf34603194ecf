/**
 * The lane that runs the commands of external pillar sources and asks their servers. One thread waits for many pillars, so that a slow
 * command or server blocks neither rendering nor requests.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { absentStates } from "../../config/options/unbuilt.ts";
import { SaltworksError } from "../../errors.ts";
import { CommandLauncher } from "../../pillar/external/programs/launcher.ts";
import type { RunProgram } from "../../pillar/external/programs/run-program.ts";
import { runSources } from "../../pillar/external/run-sources.ts";
import { pillarenvOf, pillarSettings } from "../../pillar/input/settings.ts";
import { extNodes } from "../../pillar/tops/ext-nodes.ts";
import { addTops } from "../../pillar/tops/merged-tops.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { SourceResult, SourceStart, SourceTask, TopsResult, TopsTask } from "../messages/pillar.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";
import { countTurns } from "../threads/turns.ts";

if (isMainThread)
  throw new SaltworksError("WORKER_LOST", "workers/lanes/external-lane.ts runs in a worker thread only");

const { config, environment, startedThreads, turns } = workerData as SourceStart & LaneStart;
answerForMeasures(nameLaneThread("external", startedThreads));
countTurns(turns);
yieldToOthers();
const settings = pillarSettings(config);
const launcher = new CommandLauncher();
const programs: RunProgram = (command, place, limits) => launcher.run(command, place, limits);
/** States that make a highstate fail, because `accept_missing` names a source of it. */
const absent = [...absentStates(config.unbuilt)];

export default function handle(task: SourceTask | TopsTask): Promise<SourceResult | TopsResult> {
  return "masterTops" in task ? findTops(task) : runFor(task);
}

async function findTops({ id, masterTops, others }: TopsTask): Promise<TopsResult> {
  const limits = { timeoutMs: config.ext_pillar_timeout * 1_000, programs };
  const found = masterTops === undefined ? undefined : await extNodes(masterTops, id, environment, limits);
  const { states, fault } = { states: new Map(), fault: undefined, ...found };
  if (others !== undefined) addTops(states, decode(others));
  for (const [name, files] of states) states.set(name, Array.isArray(files) ? [...files, ...absentIn(name)] : files);
  if (!states.has("base") && absent.length > 0) states.set("base", absent);
  return { states: encode(states, "raw"), fault };
}

function absentIn(environmentName: Value): readonly string[] {
  return environmentName === "base" ? absent : [];
}

function runFor({ id, grains, saltenv, pillarenv }: SourceTask): Promise<SourceResult> {
  const read = grains === undefined ? undefined : decode(grains, "text", DecodeBudget.ofRequest());
  const environments = { saltenv, pillarenv: pillarenvOf(settings, { saltenv, pillarenv }) };
  const asked = { id, grains: read instanceof Map ? read : new Map(), ...environments };
  return runSources(settings, asked, environment, config.ext_pillar_timeout * 1_000, programs);
}
