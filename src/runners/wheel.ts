/** Table of the wheel functions: operators and our command line call them on the master, which answers in the reply. */
import { SaltworksError } from "../errors.ts";
import { allReturns } from "../store/jobs/job-cache.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import { callFunction } from "./contract/call.ts";
import type { RunnerContext, RunnerFunction } from "./contract/contract.ts";
import { batchesWheel } from "./jobs/batches.ts";
import { HeldReturns } from "./jobs/held-returns.ts";
import { ownerOf, requireOwner } from "./jobs/owner.ts";
import { peerReturnsWheel } from "./jobs/peer-returns.ts";
import { fieldsOf } from "./jobs/stored-body.ts";
import { errorFunction } from "./master/config.ts";
import { saltworksRunner } from "./master/saltworks.ts";
import { configWheel } from "./master/wheel-config.ts";
import { rootsWheel } from "./master/wheel-roots.ts";
import { keyWheel } from "./minions/wheel-keys.ts";

/** Bound of ids in one call, because one return may be as large as `job_cache_max_return_bytes`. */
const returnsPerCallMax = 10_000;

/** The whole stored loads of a job's returns, for clients whose events carry trimmed values. */
async function returns(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const jid = String(args.get("jid") ?? "");
  const ids = args.get("ids");
  if (!Array.isArray(ids) || ids.length > returnsPerCallMax) {
    throw new SaltworksError(
      "FUNCTION_ARGUMENTS",
      `saltworks.returns needs a list of at most ${returnsPerCallMax} ids`,
    );
  }
  if (context.caller?.isOwnOnly === true) requireOwner(context, jid, await ownerOf(context, jid));
  const found = new Map<string, Encodable>();
  const held = new HeldReturns();
  for await (const { minionId, body } of allReturns(context.jobs, jid, ids.map(String))) {
    held.add(body);
    found.set(minionId, fieldsOf(body));
  }
  return found;
}

export const wheelFunctions: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "minions.connected",
    {
      parameters: [],
      doc: "Ids of the minions that are connected, sorted.",
      run: async ({ master }) => [...((await master?.connected()) ?? [])].sort(),
    },
  ],
  [
    "saltworks.returns",
    {
      parameters: [
        { name: "jid", isRequired: true },
        { name: "ids", isRequired: true },
      ],
      doc: "Stored returns of a job, by minion id.",
      isOffline: true,
      run: returns,
    },
  ],
  ...batchesWheel,
  ...configWheel,
  ["error.error", errorFunction],
  ...keyWheel,
  ...peerReturnsWheel,
  ...rootsWheel,
  ...saltworksRunner,
]);

/** @throws SaltworksError as `callFunction` */
export function runWheel(
  context: RunnerContext,
  name: string,
  args: readonly Value[],
  kwargs: ValueMap,
): Promise<Encodable> {
  return callFunction(wheelFunctions, context, name, args, kwargs);
}
