/** Wheel functions: what operators and our own command line ask of the master itself, answered in the reply. */
import { SaltworksError } from "../errors.ts";
import type { Encodable, ValueMap } from "../wire/values.ts";
import type { RunnerContext } from "./contract.ts";
import { fieldsOf } from "./stored-body.ts";

/** Returns fetched at once: one return may be as large as `job_cache_max_return_bytes`. */
const returnsPerCallMax = 10_000;

type WheelFunction = (context: RunnerContext, kwargs: ValueMap) => Promise<Encodable> | Encodable;

/** The whole stored loads of a job's returns: for events whose values were trimmed. */
function returns(context: RunnerContext, kwargs: ValueMap): Encodable {
  const jid = String(kwargs.get("jid") ?? "");
  const ids = kwargs.get("ids");
  if (!Array.isArray(ids) || ids.length > returnsPerCallMax) {
    throw new SaltworksError(
      "FUNCTION_ARGUMENTS",
      `saltworks.returns needs a list of at most ${returnsPerCallMax} ids`,
    );
  }
  const found = new Map<string, Encodable>();
  for (const id of ids) {
    const body = context.jobs.getReturn(jid, String(id));
    if (body !== undefined) found.set(String(id), fieldsOf(body));
  }
  return found;
}

function needMaster(context: RunnerContext): NonNullable<RunnerContext["master"]> {
  if (context.master === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "the master is not running");
  return context.master;
}

export const wheelFunctions: ReadonlyMap<string, WheelFunction> = new Map<string, WheelFunction>([
  ["saltworks.returns", returns],
  ["saltworks.counters", (context) => needMaster(context).counters()],
  ["minions.connected", async (context) => [...(await needMaster(context).connected())].sort()],
]);

/** @throws SaltworksError FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS, MASTER_UNREACHABLE */
export async function runWheel(context: RunnerContext, name: string, kwargs: ValueMap): Promise<Encodable> {
  const found = wheelFunctions.get(name);
  if (found === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", `'${name}' is not available.`, { name });
  return found(context, kwargs);
}
