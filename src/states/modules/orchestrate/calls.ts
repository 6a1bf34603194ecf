/** States `salt.runner`, `salt.wheel`, `salt.parallel_runners` and `salt.wait_for_event`. Source: Salt 3007's states. */
import { compileGlob } from "../../../python/fnmatch.ts";
import { strOf } from "../../../python/repr.ts";
import { isEqual, numberOf } from "../../../python/values.ts";
import type { Value, ValueMap } from "../../../wire/values.ts";
import { argumentsOf } from "../../compile/read.ts";
import type { StateContext, StateResult, StateTable } from "../../run/contract.ts";
import { stateResult } from "../../run/result.ts";
import { jobStates } from "./jobs.ts";
import type { CallAnswer, MasterPort } from "./port.ts";

const waitSeconds = 300;

/** The positional arguments (`arg`) and the keywords of a call. */
function argumentsFor(args: ValueMap): { readonly positional: readonly Value[]; readonly kwargs: ValueMap } {
  const kwargs: ValueMap = new Map([...args].filter(([key]) => !["name", "arg", "kwarg"].includes(strOf(key))));
  const more = args.get("kwarg");
  if (more instanceof Map) for (const [key, value] of more) kwargs.set(key, value);
  return { positional: argumentsOf(args.get("arg")), kwargs };
}

async function call(
  kind: "Runner" | "Wheel",
  ask: () => Promise<CallAnswer>,
  { isTest }: StateContext,
  name: string,
): Promise<StateResult> {
  if (isTest) return stateResult(name, null, `${kind} function '${name}' would be executed.`);
  const { value, isSuccess, jid } = await ask();
  const isGood = isSuccess && !(value instanceof Map && value.has("Error"));
  const comment = `${kind} function '${name}' ${isGood ? "executed" : "failed"}.`;
  const result = stateResult(name, isGood, comment, new Map([["return", value]]));
  return jid === undefined ? result : result.set("__jid__", jid);
}

/** `runners`: by id a list of `name` and `kwarg`. All start at once. */
async function parallelRunners(port: MasterPort, _context: StateContext, args: ValueMap): Promise<StateResult> {
  const name = args.get("name") ?? null;
  const written = args.get("runners") ?? null;
  const runners = typeof written === "string" ? new Map<Value, Value>([[written, null]]) : written;
  if (!(runners instanceof Map)) return stateResult(name, false, "The runners parameter must be a string or dict.");
  const outcomes = await Promise.all(
    Array.from(runners, async ([id, config]): Promise<[string, CallAnswer]> => {
      const settings: ValueMap = new Map();
      for (const part of config instanceof Map ? [config] : argumentsOf(config))
        if (part instanceof Map) for (const [key, value] of part) settings.set(key, value);
      const kwargs = settings.get("kwarg");
      const fun = strOf(settings.get("name") ?? id);
      return [strOf(id), await port.runRunner(fun, [], kwargs instanceof Map ? kwargs : new Map())];
    }),
  );
  const failed = outcomes.filter(([, { value, isSuccess }]) => !isSuccess || exitCodeOf(value) !== 0);
  const ids = failed.map(([id]) => id);
  const changes = new Map<Value, Value>(outcomes.map(([id, { value }]) => [id, value]));
  const failure = ids.length === 1 ? `Runner ${ids[0]} failed.` : `Runners ${ids.join(", ")} failed.`;
  const comment = ids.length === 0 ? "All runner functions executed successfully." : failure;
  return stateResult(name, ids.length === 0, comment, new Map([["ret", changes]]));
}

function exitCodeOf(value: Value): number {
  return value instanceof Map ? (numberOf(value.get("exit_code") ?? 0) ?? 0) : 0;
}

/** Waits until events with this tag have named all ids. */
async function waitForEvent(port: MasterPort, { host, isTest }: StateContext, args: ValueMap): Promise<StateResult> {
  const name = strOf(args.get("name") ?? null);
  if (isTest) return stateResult(name, null, `Orchestration would wait for event '${name}'`);
  const glob = compileGlob(name);
  const key = strOf(args.get("event_id") ?? "id");
  const missing = [...argumentsOf(args.get("id_list"))];
  const seen: Value[] = [];
  const started = host.now();
  const ending = AbortSignal.timeout((numberOf(args.get("timeout") ?? null) ?? waitSeconds) * 1_000);
  const changes = () => (seen.length > 0 ? new Map<Value, Value>([["minions_seen", seen]]) : new Map());
  for await (const { tag, data } of port.events(ending)) {
    if (glob.matches(tag)) {
      const found = valueIn(data, key);
      for (const id of Array.isArray(found) ? found : found === null ? [] : [found]) {
        const place = missing.findIndex((wanted) => isEqual(wanted, id));
        if (place >= 0) seen.push(...missing.splice(place, 1));
      }
    }
    if (missing.length === 0)
      return stateResult(name, true, `All events seen in ${(host.now() - started) / 1_000} seconds.`, changes());
  }
  return stateResult(name, false, "Timeout value reached.", changes());
}

/** The event's member, or that of its inner `data`. */
function valueIn(data: Value, key: string): Value {
  if (!(data instanceof Map)) return null;
  const inner = data.get("data");
  return data.get(key) ?? (inner instanceof Map ? (inner.get(key) ?? null) : null);
}

/** The states that only an orchestration has. */
export function masterStates(port: MasterPort): StateTable {
  const named = { name: undefined };
  return {
    ...jobStates(port),
    "salt.runner": {
      params: named,
      takesMore: true,
      run: (context, args) => {
        const name = strOf(args.get("name") ?? null);
        const { positional, kwargs } = argumentsFor(args);
        return call("Runner", () => port.runRunner(name, positional, kwargs), context, name);
      },
    },
    "salt.wheel": {
      params: named,
      takesMore: true,
      run: (context, args) => {
        const name = strOf(args.get("name") ?? null);
        return call("Wheel", () => port.runWheel(name, argumentsFor(args).kwargs), context, name);
      },
    },
    "salt.parallel_runners": {
      params: { name: undefined, runners: undefined },
      takesMore: true,
      run: (context, args) => parallelRunners(port, context, args),
    },
    "salt.wait_for_event": {
      params: { name: undefined, id_list: undefined, event_id: "id", timeout: waitSeconds, node: "master" },
      run: (context, args) => waitForEvent(port, context, args),
    },
  };
}
