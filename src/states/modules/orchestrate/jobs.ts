/** States `salt.state` and `salt.function`: jobs on minions. Source: Salt 3007's states. */
import { reprOf, strOf } from "../../../python/repr.ts";
import { isTrue, numberOf } from "../../../python/values.ts";
import { asValue, type Value, type ValueMap } from "../../../wire/values.ts";
import { argumentsOf } from "../../compile/read.ts";
import type { StateContext, StateResult, StateTable } from "../../run/contract.ts";
import { stateResult } from "../../run/result.ts";
import type { JobAnswers, JobAsk, MasterPort, MinionAnswer } from "./port.ts";

const jobParams = {
  name: undefined,
  tgt: undefined,
  ssh: false,
  tgt_type: "glob",
  ret: "",
  ret_config: null,
  ret_kwargs: null,
  expect_minions: true,
  fail_minions: null,
  timeout: null,
  batch: null,
  subset: null,
  failhard: null,
};
const stateParams = {
  ...jobParams,
  highstate: null,
  sls: null,
  top: null,
  saltenv: null,
  test: null,
  pillar: null,
  pillarenv: null,
  exclude: null,
  allow_fail: 0,
  concurrent: false,
  queue: false,
  orchestration_jid: null,
};
const functionParams = { ...jobParams, expect_minions: false, fail_function: null, arg: null, kwarg: null };
/** Arguments of Salt's states that this program does not have. */
const unsupported = ["ssh", "roster", "fail_function"];

function refusal(args: ValueMap, state: string): string | undefined {
  const found = unsupported.find((name) => isTrue(args.get(name) ?? null));
  return found === undefined ? undefined : `${found} of salt.${state} is not supported by this program's states`;
}

function askOf(args: ValueMap, fun: string, positional: readonly Value[], kwargs: ValueMap): JobAsk {
  const target = args.get("tgt") ?? null;
  return {
    target: Array.isArray(target) ? target.map(strOf) : strOf(target),
    targetKind: strOf(args.get("tgt_type") ?? "glob"),
    fun,
    args: positional,
    kwargs,
    ret: strOf(args.get("ret") ?? ""),
    timeoutSeconds: numberOf(args.get("timeout") ?? null),
    returnerSettings: Object.fromEntries(
      ["ret_config", "ret_kwargs"].flatMap((name) =>
        isTrue(args.get(name) ?? null) ? [[name, args.get(name) ?? null]] : [],
      ),
    ),
    subset: isTrue(args.get("subset") ?? null) ? numberOf(args.get("subset") ?? null) : undefined,
    batch: isTrue(args.get("batch") ?? null)
      ? { size: strOf(args.get("batch") ?? null), isFailHard: isTrue(args.get("failhard") ?? null) }
      : undefined,
  };
}

/** Minions whose failure does not count. */
function forgiven(args: ValueMap, result: StateResult): readonly string[] {
  const named = args.get("fail_minions") ?? null;
  if (named === null) return [];
  if (typeof named === "string") return named.split(",").map((name) => name.trim());
  if (Array.isArray(named)) return named.map(strOf);
  result.set("warnings", ["'fail_minions' needs to be a list or a comma separated string. Ignored."]);
  return [];
}

/** Answers that count: of silent minions only if minions are expected. */
function counted({ minions }: JobAnswers, args: ValueMap): [string, MinionAnswer][] {
  const isExpected = isTrue(args.get("expect_minions") ?? true);
  return [...minions].filter(([, { value }]) => value !== undefined || isExpected);
}

async function runStates(port: MasterPort, context: StateContext, args: ValueMap): Promise<StateResult> {
  const name = args.get("name") ?? null;
  const result = stateResult(name, false, "");
  const refused = refusal(args, "state");
  if (refused !== undefined) return result.set("comment", refused);
  const allowed = numberOf(args.get("allow_fail") ?? 0);
  if (allowed === undefined) return result.set("comment", "Passed invalid value for 'allow_fail', must be an int");
  const run = runOf(args);
  if (run === undefined) return result.set("comment", "No highstate or sls specified, no execution made");
  if (typeof args.get("concurrent") !== "boolean")
    return result.set("comment", "Must pass in boolean for value of 'concurrent'");
  const ask = askOf(args, run.fun, run.positional, stateKeywords(context, args));
  const answers = await port.runJob(ask);
  if (answers.jid !== undefined) result.set("__jid__", answers.jid);
  const minions = counted(answers, args);
  if (minions.length === 0 && isTrue(args.get("expect_minions") ?? true))
    return result.set("comment", "No minions returned");
  return judged(result, minions, { args, allowed, isTest: ask.kwargs.get("test") === true });
}

/** The function that minions run, with its arguments. Undefined without states. */
function runOf(args: ValueMap): { readonly fun: string; readonly positional: readonly Value[] } | undefined {
  const [highstate, top, sls] = ["highstate", "top", "sls"].map((name) => args.get(name) ?? null);
  if (isTrue(highstate ?? null)) return { fun: "state.highstate", positional: [] };
  if (isTrue(top ?? null)) return { fun: "state.top", positional: [top ?? null] };
  if (!isTrue(sls ?? null)) return undefined;
  return { fun: "state.sls", positional: [Array.isArray(sls) ? sls.map(strOf).join(",") : (sls ?? null)] };
}

function stateKeywords({ isTest }: StateContext, args: ValueMap): ValueMap {
  const kwargs: ValueMap = new Map();
  const test = args.get("test") ?? null;
  if (test !== null || isTest) kwargs.set("test", test ?? true);
  if (isTrue(args.get("pillar") ?? null)) kwargs.set("pillar", args.get("pillar") ?? null);
  for (const name of ["pillarenv", "saltenv", "exclude"])
    if ((args.get(name) ?? null) !== null) kwargs.set(name, args.get(name) ?? null);
  return kwargs.set("queue", args.get("queue") ?? false).set("concurrent", args.get("concurrent") ?? false);
}

type Judging = { readonly args: ValueMap; readonly allowed: number; readonly isTest: boolean };

function judged(
  result: StateResult,
  minions: readonly [string, MinionAnswer][],
  { args, allowed, isTest }: Judging,
): StateResult {
  const spared = forgiven(args, result);
  const changes: ValueMap = new Map();
  const unchanged: string[] = [];
  const failed = new Map<string, string>();
  for (const [id, { value }] of minions) {
    if (value === undefined || !isRunGood(value)) {
      if (!spared.includes(id)) failed.set(id, detailOf(id, value));
      changes.set(id, value ?? false);
    } else if (hasStateChanges(value)) changes.set(id, value);
    else unchanged.push(id);
  }
  if (changes.size > 0) result.set("changes", asValue({ out: "highstate", ret: changes }));
  if (failed.size > allowed) {
    const details = [...failed].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, detail]) => (detail ? [detail] : []));
    const lines = [`Run failed on minions: ${[...failed.keys()].join(", ")}`, ...details];
    return result.set("result", false).set("comment", lines.join("\n"));
  }
  const updated = changes.size > 0 ? ` Updating ${[...changes.keys()].map(strOf).join(", ")}.` : "";
  const left = unchanged.length > 0 ? ` No changes made to ${unchanged.join(", ")}.` : "";
  result.set("comment", `States ran successfully.${updated}${left}`);
  return result.set("result", isTest && changes.size > 0 ? null : true);
}

/** Whether a run's results have no failure. Sentences instead of results are a failure. */
function isRunGood(value: Value): boolean {
  if (!(value instanceof Map) || value.size === 0) return false;
  return [...value.values()].every((state) => !(state instanceof Map) || state.get("result") !== false);
}

function hasStateChanges(value: Value): boolean {
  return (
    value instanceof Map &&
    [...value.values()].some((state) => state instanceof Map && isTrue(state.get("changes") ?? null))
  );
}

function detailOf(id: string, value: Value | undefined): string {
  if (value === undefined) return `Minion ${id} did not return a state result.`;
  if (value instanceof Map) return "";
  if (!Array.isArray(value)) return `Minion ${id} returned ${reprOf(value)} instead of a state result.`;
  const parts = value.filter(isTrue).map(strOf);
  return parts.length === 0
    ? `Minion ${id} returned an empty error list.`
    : `Minion ${id} returned errors: ${parts.join("; ")}`;
}

async function runFunction(port: MasterPort, { isTest }: StateContext, args: ValueMap): Promise<StateResult> {
  const name = strOf(args.get("name") ?? null);
  const result = stateResult(name, true, "");
  const refused = refusal(args, "function");
  if (refused !== undefined) return result.set("result", false).set("comment", refused);
  const target = args.get("tgt") ?? null;
  const written = args.get("arg") ?? null;
  if (typeof written === "string") result.set("warnings", ["Please specify 'arg' as a list of arguments."]);
  const positional = typeof written === "string" ? written.split(/\s+/).filter(Boolean) : argumentsOf(written);
  const kwarg = args.get("kwarg") ?? null;
  if (isTest)
    return result.set("result", null).set("comment", `Function ${name} would be executed on target ${strOf(target)}`);
  let answers: JobAnswers;
  try {
    answers = await port.runJob(askOf(args, name, positional, kwarg instanceof Map ? kwarg : new Map()));
  } catch (error) {
    return result.set("result", false).set("comment", error instanceof Error ? error.message : String(error));
  }
  if (answers.jid !== undefined) result.set("__jid__", answers.jid);
  const minions = counted(answers, args);
  if (minions.length === 0) return result.set("result", false).set("comment", "No minions responded");
  const spared = forgiven(args, result);
  const changes: ValueMap = new Map();
  const failed: string[] = [];
  for (const [id, { value, retcode }] of minions) {
    const isBad = value === undefined || value === false;
    if (retcode !== 0 || (isBad && !spared.includes(id))) failed.push(id);
    changes.set(id, value ?? false);
  }
  const ran = ` Function ${name} ran on ${minions.map(([id]) => id).join(", ")}.`;
  result.set("changes", new Map<Value, Value>([["ret", changes]])).set("result", failed.length === 0);
  const start =
    failed.length > 0
      ? `Running function ${name} failed on minions: ${failed.join(", ")}`
      : "Function ran successfully.";
  return result.set("comment", start + ran);
}

export function jobStates(port: MasterPort): StateTable {
  return {
    "salt.state": { params: stateParams, takesMore: true, run: (context, args) => runStates(port, context, args) },
    "salt.function": {
      params: functionParams,
      takesMore: true,
      run: (context, args) => runFunction(port, context, args),
    },
  };
}
