/**
 * The lane that runs the commands of external pillar sources and asks their servers. One thread waits for many pillars, so that a slow
 * command or server blocks neither rendering nor requests.
 */
import { isMainThread, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { CommandGuard } from "../../pillar/external/command-guard.ts";
import { runSources } from "../../pillar/external/run-sources.ts";
import { pillarenvOf, pillarSettings } from "../../pillar/input/settings.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode } from "../../wire/msgpack.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { SourceResult, SourceStart, SourceTask } from "../messages/pillar.ts";
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
const guard = new CommandGuard();

export default function handle({ id, grains, saltenv, pillarenv }: SourceTask): Promise<SourceResult> {
  const read = grains === undefined ? undefined : decode(grains, "text", DecodeBudget.ofRequest());
  const environments = { saltenv, pillarenv: pillarenvOf(settings, { saltenv, pillarenv }) };
  const asked = { id, grains: read instanceof Map ? read : new Map(), ...environments };
  return runSources(settings, asked, environment, config.ext_pillar_timeout * 1_000, guard);
}
