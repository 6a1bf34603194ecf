/** Which runner functions exist. A runner has a file; each is one line here. */
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { batchesRunner } from "./batches.ts";
import { callFunction } from "./call.ts";
import type { RunnerContext, RunnerFunction } from "./contract.ts";
import { jobsRunner } from "./jobs.ts";
import { manageRunner } from "./manage.ts";
import { saltworksRunner } from "./saltworks.ts";

export const runnerFunctions: ReadonlyMap<string, RunnerFunction> = new Map([
  ...jobsRunner,
  ...batchesRunner,
  ...manageRunner,
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
