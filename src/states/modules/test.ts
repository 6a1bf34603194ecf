/** States `test.*`, which only pretend. Source: Salt 3007's states, recorded in test/golden/states. */
import { SaltworksError } from "../../errors.ts";
import { strOf } from "../../python/repr.ts";
import { isFloat, isInteger, isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { argumentsOf } from "../compile/read.ts";
import type { StateContext, StateFunction, StateResult, StateTable } from "../run/contract.ts";
import { hasChanges, stateResult, tagOf } from "../run/result.ts";

const named = { name: undefined };

function pretended(): ValueMap {
  const change = new Map<Value, Value>([
    ["old", "Unchanged"],
    ["new", "Something pretended to change"],
  ]);
  return new Map([["testing", change]]);
}

/** @throws SaltworksError FUNCTION_ARGUMENTS with Salt's sentence */
function refuse(text: string): never {
  throw new SaltworksError("FUNCTION_ARGUMENTS", text, { kind: "invocation" });
}

/** `inTest`: result and comment of a trial run. */
function pretends(
  isGood: boolean,
  changes: boolean,
  inTest?: { readonly result: boolean | null; readonly comment: string },
): StateFunction {
  return {
    params: named,
    takesMore: true,
    run: ({ isTest }, args) => {
      const comment = args.get("comment") ?? (isGood ? "Success!" : "Failure!");
      const outcome = isTest && inTest !== undefined ? inTest : { result: isGood, comment };
      return stateResult(args.get("name") ?? null, outcome.result, outcome.comment, changes ? pretended() : new Map());
    },
  };
}

function chosen(value: Value, option: string): boolean {
  if (typeof value === "boolean") return value;
  if (strOf(value).toLowerCase() === "random") return Math.random() < 0.5;
  if (option === "changes")
    refuse(
      "You have specified the state option 'changes' with invalid arguments. It must be either True, False, or 'Random'",
    );
  refuse(
    "You have specified the state option 'result' with invalid arguments. It must be either True, False, or 'Random'",
  );
}

function configurable({ isTest }: StateContext, args: ValueMap): StateResult {
  const comment = args.get("comment") ?? "";
  const changes = args.get("changes") ?? null;
  const warnings = args.get("warnings") ?? null;
  const isChanged = chosen(changes, "changes");
  const isGood = chosen(args.get("result") ?? null, "result");
  const result = stateResult(args.get("name") ?? null, isGood, comment, isChanged ? pretended() : new Map());
  if (typeof warnings === "string") result.set("warnings", [warnings]);
  else if (Array.isArray(warnings)) result.set("warnings", warnings);
  else if (warnings !== null)
    refuse(
      "You have specified the state option 'warnings' with invalid arguments. It must be a string or a list of strings",
    );
  if (!isTest) return result;
  const isRefused = isTrue(args.get("allow_test_mode_failure") ?? null) && args.get("result") === false;
  result.set("result", isRefused ? false : changes === false ? true : null);
  return result.set("comment", isTrue(comment) ? comment : "This is a test");
}

type Check = { readonly option: string; readonly shown: string; readonly holds: (value: Value) => boolean };
/** `shown`: how Python prints the type. */
const checks: readonly Check[] = [
  { option: "present", shown: "", holds: () => true },
  { option: "boolean", shown: "<class 'bool'>", holds: (value) => typeof value === "boolean" },
  {
    option: "integer",
    shown: "<class 'int'>",
    holds: (value) => typeof value === "boolean" || (isInteger(value) && !isFloat(value)) || typeof value === "bigint",
  },
  { option: "string", shown: "(<class 'str'>,)", holds: (value) => typeof value === "string" },
  { option: "listing", shown: "<class 'list'>", holds: Array.isArray },
  { option: "dictionary", shown: "<class 'dict'>", holds: (value) => value instanceof Map },
];

async function checkPillar({ host }: StateContext, args: ValueMap): Promise<StateResult> {
  const failed = new Map<string, string>();
  const fine: string[] = [];
  const asked = checks.map((check) => {
    const value = args.get(check.option) ?? null;
    return { ...check, keys: Array.isArray(value) ? value.map(strOf) : isTrue(value) ? [strOf(value)] : [] };
  });
  if (asked.every(({ keys }) => keys.length === 0)) refuse("Missing required argument text.");
  for (const { keys, shown, holds, option } of asked) {
    for (const key of keys) {
      const { value } = await host.call("pillar.get", [key, null], new Map());
      if (value === null) failed.set(key, "is missing");
      else if (!holds(value)) failed.set(key, `is not ${shown}`);
      else fine.push(`- ${key} (${option === "present" ? "None" : shown})\n`);
    }
  }
  const lines = Array.from(failed, ([key, fault]) => `Pillar key "${key}" ${fault}.\n`);
  if (isTrue(args.get("verbose") ?? null) && fine.length > 0) lines.push("Those keys passed the check:\n", ...fine);
  return stateResult(args.get("name") ?? null, failed.size === 0, lines.join(""));
}

function watched({ requirements, running }: StateContext, args: ValueMap): StateResult {
  const changed = argumentsOf([...(requirements.get("watch") ?? [])]).flatMap((chunk) => {
    if (!(chunk instanceof Map)) return [];
    const result = running.get(tagOf(chunk));
    const isChanged = result !== undefined && hasChanges(result);
    return isChanged ? [`${strOf(chunk.get("state") ?? null)}: ${strOf(chunk.get("__id__") ?? null)}`] : [];
  });
  const changes = args.get("changes") ?? new Map<Value, Value>([["Requisites with changes", changed]]);
  const result = stateResult(args.get("name") ?? null, true, args.get("comment") ?? "Watch statement fired.");
  return result.set("changes", changes).set("result", args.get("result") ?? true);
}

const nothing: StateFunction = {
  params: named,
  takesMore: true,
  run: (_context, args) => stateResult(args.get("name") ?? null, true, "Success!"),
};

export const testStates: StateTable = {
  "test.nop": nothing,
  "test.succeed_without_changes": pretends(true, false),
  "test.succeed_with_changes": pretends(true, true, {
    result: null,
    comment: "If we weren't testing, this would be successful with changes",
  }),
  "test.fail_without_changes": pretends(false, false, {
    result: false,
    comment: "If we weren't testing, this would be a failure!",
  }),
  "test.fail_with_changes": pretends(false, true, {
    result: null,
    comment: "If we weren't testing, this would be failed with changes",
  }),
  "test.configurable_test_state": {
    params: {
      name: undefined,
      changes: true,
      result: true,
      comment: "",
      warnings: null,
      allow_test_mode_failure: false,
    },
    run: configurable,
  },
  "test.show_notification": {
    params: { name: undefined, text: null },
    takesMore: true,
    run: (_context, args) => {
      const text = args.get("text") ?? null;
      if (!isTrue(text)) refuse("Missing required argument text.");
      return stateResult(args.get("name") ?? null, true, text);
    },
  },
  "test.check_pillar": {
    params: {
      name: undefined,
      present: null,
      boolean: null,
      integer: null,
      string: null,
      listing: null,
      dictionary: null,
      verbose: false,
    },
    run: checkPillar,
  },
  "test.mod_watch": { params: { name: undefined, sfun: null }, takesMore: true, run: watched },
};
