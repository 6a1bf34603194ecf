/** States `module.run` and `module.wait`: call execution functions. Source: Salt 3007's states, recorded in test/golden/states. */
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { argumentsOf } from "../compile/read.ts";
import type { StateContext, StateResult, StateTable } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";

/** Arguments that are not functions. */
const ownNames = ["name", "sfun", "__reqs__"];
/** Arguments of the old form that are not the function's. */
const oldNames = [...ownNames, "args", "kwargs", "returner"];

async function run(context: StateContext, args: ValueMap): Promise<StateResult> {
  const keys = [...args.keys()].map(strOf).filter((key) => !ownNames.includes(key));
  const isOld = keys.length === 0 || keys.some((key) => !key.includes("."));
  return isOld ? await runOld(context, args) : await runNew(context, args, keys);
}

/** `- test.echo: [arguments]`, any number of functions. */
async function runNew(context: StateContext, args: ValueMap, functions: readonly string[]): Promise<StateResult> {
  const { host, isTest } = context;
  const watching = args.has("sfun") ? ["sfun", "__reqs__"] : [];
  const result = stateResult([...functions, ...watching], null, "");
  const missing = functions.map(functionName).filter((name) => !host.has(name));
  const found = functions.map(functionName).filter((name) => host.has(name));
  if (missing.length > 0 || isTest) {
    // As in Salt, several functions are "functionTrue".
    const plural = (names: readonly string[]) => (names.length > 1 ? "True" : "");
    const parts = [
      missing.length > 0 ? `Unavailable function${plural(missing)}: ${missing.join(", ")}.` : "",
      isTest && found.length > 0 ? `Function${plural(found)} ${found.join(", ")} to be executed.` : "",
    ];
    result.set("comment", parts.join(" ").trim());
    return missing.length > 0 ? result.set("result", false) : result;
  }
  const [failures, successes]: [string[], string[]] = [[], []];
  const changes: ValueMap = new Map();
  for (const key of functions) {
    const outcome = await called(context, functionName(key), args.get(key) ?? null);
    if ("fault" in outcome) failures.push(`'${key}' failed: ${outcome.fault}`);
    else if (saysGood(outcome.value)) {
      const comment = outcome.value instanceof Map ? (outcome.value.get("comment") ?? "Success") : outcome.value;
      successes.push(`${key}: ${strOf(comment)}`);
      changes.set(key, outcome.value);
    } else if (outcome.value instanceof Map)
      failures.push(`'${key}' failed: ${strOf(outcome.value.get("comment") ?? "(error message N/A)")}`);
    else failures.push(`'${key}': ${strOf(outcome.value)}`);
  }
  result.set("changes", changes).set("comment", [...failures, ...successes].join(", "));
  return result.set("result", failures.length === 0);
}

/** A function may stand twice: `test.echo:second`. */
function functionName(key: string): string {
  return key.split(":")[0] ?? key;
}

async function called(
  { host }: StateContext,
  name: string,
  given: Value,
): Promise<{ readonly value: Value } | { readonly fault: string }> {
  const positional: Value[] = [];
  const keywords: ValueMap = new Map();
  for (const argument of argumentsOf(given)) {
    if (argument instanceof Map) for (const [key, value] of argument) keywords.set(key, value);
    else positional.push(argument);
  }
  try {
    return { value: (await host.call(name, positional, keywords)).value };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether an answer is a success: not False, and without `result: False` or another `retcode` than 0 inside. */
function saysGood(value: Value): boolean {
  if (typeof value === "boolean") return value;
  if (!(value instanceof Map)) return true;
  for (const [key, member] of value) {
    if (key === "result" && member === false) return false;
    if (key === "retcode" && member !== 0) return false;
    if (member instanceof Map && !saysGood(member)) return false;
  }
  return true;
}

/** `- name: test.echo` with the function's arguments beside it. */
async function runOld({ host, isTest }: StateContext, args: ValueMap): Promise<StateResult> {
  const name = strOf(args.get("name") ?? null);
  if (!host.has(name)) return stateResult(name, false, `Module function ${name} is not available`);
  if (isTrue(args.get("returner") ?? null))
    return stateResult(name, false, "returner of module.run is not supported by this program's states");
  if (isTest) return stateResult(name, null, `Module function ${name} is set to execute`);
  const keywords: ValueMap = new Map();
  // `m_name` stands for an argument of the function whose name the state needs itself.
  for (const [key, value] of args)
    if (!oldNames.includes(strOf(key)))
      keywords.set(strOf(key).replace(/^m_(?=name$|fun$|names$|state$|saltenv$)/, ""), value);
  const more = args.get("kwargs");
  if (more instanceof Map) for (const [key, value] of more) keywords.set(key, value);
  try {
    const { value } = await host.call(name, argumentsOf(args.get("args")), keywords);
    const changes: ValueMap = value === null ? new Map() : new Map([["ret", value]]);
    return stateResult(name, saysGood(value), `Module function ${name} executed`, changes);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return stateResult(name, false, `Module function ${name} threw an exception. Exception: ${text}`);
  }
}

const waits: StateTable[string] = {
  params: { name: undefined },
  takesMore: true,
  run: (_context, args) => stateResult(args.get("name") ?? null, true, ""),
};

export const moduleStates: StateTable = {
  "module.run": { params: {}, takesMore: true, run },
  "module.wait": waits,
  "module.watch": waits,
  "module.mod_watch": { params: {}, takesMore: true, run },
};
