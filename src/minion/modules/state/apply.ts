/** `state.apply` and its kin: run states on this machine. Source: Salt 3007's `state`, docs/functions.md. */
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { HighData } from "../../../states/compile/contract.ts";
import { listAt } from "../../../states/compile/read.ts";
import { topFaults } from "../../../states/compile/top.ts";
import { allStates } from "../../../states/modules/registry.ts";
import type { StateTable } from "../../../states/run/contract.ts";
import { tagOf } from "../../../states/run/result.ts";
import { isGood } from "../../../states/run/retcode.ts";
import { type RunSettings, runHighData, runSingle } from "../../../states/run/runtime.ts";
import { chunkFaults } from "../../../states/run/verify-low.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { findSetting } from "../declare/settings.ts";
import { argument } from "../declare/signature.ts";
import { stateHost } from "./host.ts";
import {
  compiler,
  conflicts,
  keywordsOf,
  matchesOf,
  namesIn,
  openRun,
  option,
  pillarErrors,
  type Run,
  stateCodes,
  topOf,
} from "./run.ts";

/** Whether a run only tries: `test=`, or the setting `test`. */
function isTest(context: CallContext, test: Value): boolean {
  if (typeof test === "boolean") return test;
  if (test !== null) return isTrue(test);
  return findSetting(context, "test") === true;
}

function statesOf(context: CallContext): StateTable {
  return { ...allStates, ...context.extras?.orchestration?.states };
}

function settingsOf(run: Run, args: BoundArguments): RunSettings {
  const { context } = run;
  const events = option(args, "state_events") ?? context.config.state_events;
  return {
    host: stateHost(run, isTrue(events)),
    states: statesOf(context),
    isTest: isTest(context, option(args, "test")),
    failsHard: context.config.failhard,
  };
}

/** Runs high data and sets the job's retcode. */
async function execute(
  run: Run,
  args: BoundArguments,
  high: HighData,
  processed: ReadonlySet<string>,
): Promise<Encodable> {
  const { context } = run;
  const results = await runHighData(settingsOf(run, args), high, processed);
  if (!(results instanceof Map)) {
    context.setRetcode(stateCodes.compilerError);
    return results;
  }
  context.setRetcode(isGood(results, high) ? 0 : stateCodes.failure);
  return results as Map<Value, Value>;
}

function disabledSentences(context: CallContext, names: readonly string[]): string[] {
  const disabled = context.grains().get("state_runs_disabled");
  const patterns = Array.isArray(disabled) ? disabled.map(strOf) : [];
  return names.flatMap((name) =>
    patterns.flatMap((pattern) => {
      if (pattern.includes(".*")) {
        const start = `${pattern.split(".")[0]}.`;
        const text = `The state file "${name}" is currently disabled by "${pattern}", to re-enable, run state.enable ${pattern}.`;
        return name.startsWith(start) ? [text] : [];
      }
      const text = `The state file "${pattern}" is currently disabled, to re-enable, run state.enable ${pattern}.`;
      return pattern === name ? [text] : [];
    }),
  );
}

async function opened(context: CallContext, args: BoundArguments, isForFiles: boolean): Promise<Run | Encodable[]> {
  const run = await openRun(context, keywordsOf(args), isForFiles);
  const errors = pillarErrors(run);
  if (errors.length === 0) return run;
  context.setRetcode(stateCodes.pillarFailure);
  return ["Pillar failed to render with the following messages:", ...errors];
}

function exclude(high: HighData, excluded: Value): void {
  if (!isTrue(excluded)) return;
  listAt(high, "__exclude__").push(...(Array.isArray(excluded) ? excluded : namesIn(excluded)));
}

export async function sls(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const busy = await conflicts(context, args);
  if (busy.length > 0) return busy;
  const files = argument(args, "mods");
  const disabled = disabledSentences(context, Array.isArray(files) ? files.map(strOf) : [strOf(files)]);
  if (disabled.length > 0) {
    context.setRetcode(stateCodes.compilerError);
    return disabled;
  }
  const run = await opened(context, args, true);
  if (!("source" in run)) return run;
  const high = compiler(run);
  const { value, errors } = await high.compile(new Map([[run.saltenv ?? "base", namesIn(files)]]));
  if (errors.length > 0) {
    context.setRetcode(stateCodes.compilerError);
    return errors;
  }
  exclude(value, option(args, "exclude"));
  return await execute(run, args, value, high.processed);
}

function noStates(comment: string): ValueMap {
  const result = new Map<Value, Value>([
    ["result", false],
    ["comment", comment],
    ["name", "No States"],
    ["changes", new Map()],
    ["__run_num__", 0],
  ]);
  return new Map([["no_|-states_|-states_|-None", result]]);
}

export async function highstate(context: CallContext, args: BoundArguments): Promise<Encodable> {
  if (disabledSentences(context, ["highstate"]).length > 0)
    return {
      name: "Salt highstate run is disabled. To re-enable, run state.enable highstate",
      result: "False",
      comment: "Disabled",
    };
  const busy = await conflicts(context, args);
  if (busy.length > 0) return busy;
  const run = await opened(context, args, false);
  if (!("source" in run)) return run;
  const top = await topOf(run);
  const faults = topFaults(top);
  const matches = faults.length > 0 ? new Map<string, string[]>() : await matchesOf(run, top);
  if (matches.size === 0 && faults.length === 0) {
    context.setRetcode(stateCodes.failure);
    return noStates("No Top file or master_tops data matches found. Please see master log for details.");
  }
  const high = compiler(run);
  const { value, errors } = await high.compile(onlyListed(matches, option(args, "whitelist")));
  exclude(value, option(args, "exclude"));
  if (faults.length + errors.length > 0) {
    context.setRetcode(stateCodes.compilerError);
    return [...faults, ...errors];
  }
  if (value.size > 0) return await execute(run, args, value, high.processed);
  context.setRetcode(stateCodes.failure);
  return noStates("No states found for this minion");
}

function onlyListed(matches: ReadonlyMap<string, readonly string[]>, whitelist: Value) {
  if (!isTrue(whitelist)) return matches;
  const listed = Array.isArray(whitelist) ? whitelist.map(strOf) : strOf(whitelist).split(",");
  const kept = Array.from(matches, ([name, files]): [string, string[]] => [
    name,
    files.filter((sls) => listed.includes(sls)),
  ]);
  return new Map(kept.filter(([, files]) => files.length > 0));
}

export async function single(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const busy = await conflicts(context, args);
  if (busy.length > 0) return busy;
  const fun = strOf(argument(args, "fun"));
  const name = argument(args, "name");
  const [module = "", short] = fun.split(".");
  if (short === undefined) {
    context.setRetcode(stateCodes.compilerError);
    return "Invalid function passed";
  }
  const keywords = keywordsOf(args);
  const run = await openRun(context, keywords, false);
  const low = new Map(keywords);
  for (const own of ["pillar", "saltenv", "pillarenv", "concurrent", "force"]) low.delete(own);
  low.set("state", module).set("fun", short).set("__id__", name).set("name", name);
  const faults = chunkFaults(low, statesOf(context));
  if (faults.length > 0) {
    context.setRetcode(stateCodes.compilerError);
    return faults;
  }
  const result = await runSingle(settingsOf(run, args), low);
  const results = new Map([[tagOf(low), result]]);
  context.setRetcode(isGood(results, undefined) ? 0 : stateCodes.failure);
  return results as Map<Value, Value>;
}

export async function apply(context: CallContext, args: BoundArguments): Promise<Encodable> {
  return isTrue(argument(args, "mods")) ? await sls(context, args) : await highstate(context, args);
}
