/** Calls one state: conditions, the state's function, `check_cmd`, times, and `retry`. */
import { SaltworksError } from "../../errors.ts";
import { strOf } from "../../python/repr.ts";
import { tracebackOf } from "../../python/traceback.ts";
import { isEqual } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import { checkCommand, conditions } from "./checks.ts";
import type { Requirements, Results, StateHost, StateResult, StateTable } from "./contract.ts";
import { durationOf, stateResult, timeOfDay, unified } from "./result.ts";
import { bindArguments, chunkFaults } from "./verify-low.ts";

export type CallSettings = { readonly host: StateHost; readonly states: StateTable; readonly isTest: boolean };
export type Call = {
  readonly low: LowChunk;
  readonly running: Results;
  readonly requirements: Requirements;
  /** Takes the number of this result, `__run_num__`. */
  readonly number: () => number;
  /** Starts a parallel state. @returns its placeholder */
  readonly start: (low: LowChunk, run: () => Promise<StateResult>) => StateResult;
};

type Retry = { until: boolean; attempts: number; interval: number; splay: number };

export async function callState(settings: CallSettings, call: Call, tries = 1): Promise<StateResult> {
  const { host, states, isTest } = settings;
  const { low } = call;
  const started = host.now();
  const faults = chunkFaults(low, states);
  if (low.has("retry") && low.get("parallel") === true)
    faults.push("retry of a parallel state is not supported by this program's states");
  if (faults.length > 0) {
    const comment = faults.map((fault) => `${fault}\n`).join("");
    const failed = new Map<Value, Value>([
      ["result", false],
      ["name", low.get("name") ?? null],
      ["changes", new Map()],
      ["comment", comment],
    ]);
    return failed.set("__run_num__", call.number());
  }
  const result = unified(await runState(settings, call));
  if (low.get("__prereq__") === true) {
    low.set("__prereq__", false);
    return result;
  }
  result.set("__sls__", low.get("__sls__") ?? null).set("__run_num__", call.number());
  result.set("start_time", timeOfDay(started)).set("duration", durationOf(host.now() - started));
  result.set("__id__", low.get("__id__") ?? null);
  if (!low.has("retry")) return result;
  const retry = readRetry(low.get("retry") ?? null);
  if (!isTest) return await again(settings, call, { result, retry, tries });
  return result.set(
    "comment",
    `${strOf(result.get("comment") ?? null)}  The state would be retried every ${retry.interval} seconds ` +
      `(with a splay of up to ${retry.splay} seconds) a maximum of ${retry.attempts} times ` +
      `or until a result of ${strOf(retry.until)} is returned`,
  );
}

/** @throws SaltworksError FUNCTION_ARGUMENTS for an argument that the state does not take: it ends the whole run, as in Salt */
async function runState({ host, states, isTest }: CallSettings, call: Call): Promise<StateResult> {
  const { low, running, requirements, start } = call;
  const state = states[`${strOf(low.get("state") ?? null)}.${strOf(low.get("fun") ?? null)}`];
  if (state === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", "the state was verified and is missing");
  const args = bindArguments(state, low);
  const name = low.get("name") ?? null;
  const isTrial = low.get("__prereq__") === true;
  const context = {
    host,
    low,
    isTest: isTest || isTrial,
    saltenv: strOf(low.get("saltenv") ?? low.get("__env__") ?? "base"),
    running,
    requirements,
  };
  const run = async () => await state.run(context, args);
  try {
    const met = await conditions(host, low);
    let result: StateResult = new Map<Value, Value>([
      ["result", false],
      ["name", name],
      ["changes", new Map()],
    ]);
    for (const [key, value] of met ?? []) result.set(key, value);
    if (result.get("result") === false)
      result = !isTrial && low.get("parallel") === true ? start(low, () => guarded(name, run)) : await run();
    if (low.has("check_cmd")) for (const [key, value] of await checkCommand(host, low)) result.set(key, value);
    return result;
  } catch (error) {
    return failed(name, error);
  }
}

async function guarded(name: Value, run: () => Promise<StateResult>): Promise<StateResult> {
  try {
    return await run();
  } catch (error) {
    return failed(name, error);
  }
}

function failed(name: Value, error: unknown): StateResult {
  const result: ValueMap = new Map<Value, Value>([["result", false]]);
  const comment = `An exception occurred in this state: ${tracebackOf(error)}`;
  for (const [key, value] of stateResult(name, false, comment)) result.set(key, value);
  return result;
}

function readRetry(written: Value): Retry {
  const retry: Retry = { until: true, attempts: 2, interval: 30, splay: 0 };
  if (written === false) return { ...retry, attempts: 0 };
  if (!(written instanceof Map)) return retry;
  const until = written.get("until");
  if (typeof until === "boolean") retry.until = until;
  for (const key of ["attempts", "interval", "splay"] as const) {
    const value = written.get(key);
    if (typeof value === "number" && Number.isInteger(value)) retry[key] = value;
  }
  return retry;
}

async function again(
  settings: CallSettings,
  call: Call,
  { result, retry, tries }: { readonly result: StateResult; readonly retry: Retry; readonly tries: number },
): Promise<StateResult> {
  if (isEqual(result.get("result") ?? null, retry.until) || retry.attempts <= tries) return result;
  const splay = retry.splay > 0 ? Math.floor(Math.random() * (retry.splay + 1)) : 0;
  const waitMs = (retry.interval + splay) * 1_000;
  await settings.host.sleep(waitMs);
  const next = await callState(settings, call, tries + 1);
  const shown = `Attempt ${tries}: Returned a result of "${strOf(result.get("result") ?? null)}", with the following comment: "${strOf(result.get("comment") ?? null)}"`;
  const comment = next.get("comment") ?? "";
  next.set("comment", `${shown}\n${comment === null ? "" : strOf(comment)}`);
  next.set("duration", durationOf(numberIn(next) + numberIn(result) + waitMs));
  if (tries === 1) next.set("start_time", result.get("start_time") ?? null);
  return next;
}

function numberIn(result: StateResult): number {
  const duration = result.get("duration");
  if (typeof duration === "number") return duration;
  return typeof duration === "object" && duration !== null && "value" in duration ? Number(duration.value) : 0;
}
