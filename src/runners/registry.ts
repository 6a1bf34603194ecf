/** Table of the runner functions: one line for each runner's file. */
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { callFunction } from "./contract/call.ts";
import type { RunnerContext, RunnerFunction } from "./contract/contract.ts";
import { batchesRunner } from "./jobs/batches.ts";
import { jobsRunner } from "./jobs/jobs.ts";
import { jobMinionsRunner } from "./jobs/minions.ts";
import { jobStatusRunner } from "./jobs/status.ts";
import { authRunner } from "./master/auth.ts";
import { clusterRunner } from "./master/cluster.ts";
import { configRunner } from "./master/config.ts";
import { docRunner } from "./master/doc.ts";
import { eventRunner } from "./master/event.ts";
import { fileserverRunner } from "./master/fileserver.ts";
import { gitPillarRunner } from "./master/git-pillar.ts";
import { httpRunner } from "./master/http.ts";
import { networkRunner } from "./master/network.ts";
import { queueRunner } from "./master/queue.ts";
import { reactorRunner } from "./master/reactor.ts";
import { saltutilRunner } from "./master/saltutil.ts";
import { saltworksRunner } from "./master/saltworks.ts";
import { testRunner } from "./master/test.ts";
import { minionCacheRunner } from "./minions/cache.ts";
import { cacheBanksRunner } from "./minions/cache-banks.ts";
import { keyRegenRunner } from "./minions/key-regen.ts";
import { manageRunner } from "./minions/manage.ts";
import { matchRunner } from "./minions/match.ts";
import { mineRunner } from "./minions/mine.ts";
import { pillarRunner } from "./minions/pillar.ts";
import { presenceRunner } from "./minions/presence.ts";
import { saltRunner } from "./minions/salt.ts";
import { surveyRunner } from "./minions/survey.ts";
import { wheelFunctions } from "./wheel.ts";

export const runnerFunctions: ReadonlyMap<string, RunnerFunction> = new Map([
  ...authRunner,
  ...jobsRunner,
  ...jobStatusRunner,
  ...jobMinionsRunner,
  ...batchesRunner,
  ...manageRunner,
  ...keyRegenRunner,
  ...presenceRunner,
  ...minionCacheRunner,
  ...cacheBanksRunner,
  ...clusterRunner,
  ...configRunner,
  ...docRunner(
    () => runnerFunctions,
    () => wheelFunctions,
  ),
  ...eventRunner,
  ...fileserverRunner,
  ...gitPillarRunner,
  ...matchRunner,
  ...mineRunner,
  ...httpRunner,
  ...networkRunner,
  ...pillarRunner,
  ...queueRunner,
  ...reactorRunner,
  ...saltRunner,
  ...saltutilRunner,
  ...surveyRunner,
  ...testRunner,
  ...saltworksRunner,
]);

/** @throws SaltworksError as `callFunction` */
export function runRunner(
  context: RunnerContext,
  name: string,
  args: readonly Value[],
  kwargs: ValueMap,
): Promise<Encodable> {
  return callFunction(runnerFunctions, context, name, args, kwargs);
}
