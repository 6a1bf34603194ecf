/** Which runner functions exist. A runner has a file; each is one line here. */
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { authRunner } from "./auth.ts";
import { batchesRunner } from "./batches.ts";
import { cacheBanksRunner } from "./cache-banks.ts";
import { callFunction } from "./call.ts";
import { configRunner } from "./config.ts";
import type { RunnerContext, RunnerFunction } from "./contract.ts";
import { docRunner } from "./doc.ts";
import { eventRunner } from "./event.ts";
import { fileserverRunner } from "./fileserver.ts";
import { jobStatusRunner } from "./job-status.ts";
import { jobsRunner } from "./jobs.ts";
import { keyRegenRunner } from "./key-regen.ts";
import { manageRunner } from "./manage.ts";
import { matchRunner } from "./match.ts";
import { mineRunner } from "./mine.ts";
import { minionCacheRunner } from "./minion-cache.ts";
import { pillarRunner } from "./pillar.ts";
import { presenceRunner } from "./presence.ts";
import { saltRunner } from "./salt.ts";
import { saltutilRunner } from "./saltutil.ts";
import { saltworksRunner } from "./saltworks.ts";
import { surveyRunner } from "./survey.ts";
import { testRunner } from "./test.ts";
import { wheelFunctions } from "./wheel.ts";

export const runnerFunctions: ReadonlyMap<string, RunnerFunction> = new Map([
  ...authRunner,
  ...jobsRunner,
  ...jobStatusRunner,
  ...batchesRunner,
  ...manageRunner,
  ...keyRegenRunner,
  ...presenceRunner,
  ...minionCacheRunner,
  ...cacheBanksRunner,
  ...configRunner,
  ...docRunner(
    () => runnerFunctions,
    () => wheelFunctions,
  ),
  ...eventRunner,
  ...fileserverRunner,
  ...matchRunner,
  ...mineRunner,
  ...pillarRunner,
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
