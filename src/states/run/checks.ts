/** Conditions of a state: `onlyif`, `unless`, `creates` before it runs, and `check_cmd` after it. Source: Salt 3007, recorded. */
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { copyOf, type Value, type ValueMap } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import { shown } from "../compile/read.ts";
import type { StateHost } from "./contract.ts";

/** `isMet`: true if the state need not run, or for `check_cmd`, if it succeeded. */
type Outcome = { isMet: boolean; comment?: string; skipsWatch?: boolean };

/** Arguments of a command's state that its conditions share. */
const sharedArguments = ["cwd", "root", "runas", "env", "prepend_path", "umask", "timeout", "success_retcodes"];

/** Members for the result of a state with conditions. `result` is true if the state must not run. */
export async function conditions(host: StateHost, low: LowChunk): Promise<ValueMap | undefined> {
  const names = ["onlyif", "unless", "creates"].filter((name) => low.has(name));
  if (names.length === 0) return undefined;
  const options = commandOptions(host, low);
  const outcomes: Outcome[] = [];
  if (low.has("onlyif")) outcomes.push(await onlyIf(host, low.get("onlyif") ?? null, options));
  if (low.has("unless")) outcomes.push(await unless(host, low.get("unless") ?? null, options));
  if (low.has("creates")) outcomes.push(creates(host, low.get("creates") ?? null));
  const members = new Map<Value, Value>([
    ["result", outcomes.some(({ isMet }) => isMet)],
    ["comment", outcomes.map(({ comment }) => comment ?? null)],
  ]);
  for (const key of ["__sls__", "__id__", "name"]) members.set(key, low.get(key) ?? null);
  if (outcomes.some(({ skipsWatch }) => skipsWatch === true)) members.set("skip_watch", true);
  return members;
}

function commandOptions(host: StateHost, low: LowChunk): ValueMap {
  const left = low.get("cmd_opts_exclude") ?? [];
  const excluded = Array.isArray(left) ? left : [left];
  const options: ValueMap = new Map();
  for (const name of sharedArguments)
    if (!excluded.includes(name) && (low.get(name) ?? null) !== null) options.set(name, low.get(name) ?? null);
  const shell = low.has("shell") && !excluded.includes("shell") ? low.get("shell") : host.grains.get("shell");
  if (shell !== undefined) options.set("shell", shell);
  return options;
}

async function retcodeOf(host: StateHost, command: string, options: ValueMap): Promise<number> {
  const kwargs = new Map(options).set("ignore_retcode", true).set("python_shell", true);
  const { value } = await host.call("cmd.retcode", [command], kwargs);
  return typeof value === "number" ? value : 1;
}

function entriesOf(value: Value): readonly Value[] {
  return Array.isArray(value) ? value : [value];
}

async function onlyIf(host: StateHost, value: Value, options: ValueMap): Promise<Outcome> {
  const outcome: Outcome = { isMet: false };
  const fails: Outcome = { isMet: true, comment: "onlyif condition is false", skipsWatch: true };
  for (const entry of entriesOf(value)) {
    if (typeof entry === "string") {
      if ((await failingCommand(host, entry, options, 100)) !== 0) return fails;
    } else if (entry instanceof Map) {
      if (!entry.has("fun")) return { isMet: false, comment: `no \`fun\` argument in onlyif: ${shown(entry)}` };
      if (!(await isFunctionTrue(host, entry))) return fails;
    } else return { isMet: false, comment: "onlyif execution failed, bad type passed" };
    outcome.comment = "onlyif condition is true";
  }
  return outcome;
}

async function unless(host: StateHost, value: Value, options: ValueMap): Promise<Outcome> {
  let outcome: Outcome = { isMet: false };
  for (const entry of entriesOf(value)) {
    let holds = false;
    if (typeof entry === "string") holds = (await failingCommand(host, entry, options, 0)) === 0;
    else if (entry instanceof Map) {
      if (!entry.has("fun")) return { isMet: false, comment: `no \`fun\` argument in unless: ${shown(entry)}` };
      holds = await isFunctionTrue(host, entry);
    } else {
      outcome = { isMet: false, comment: "unless condition is false, bad type passed" };
      continue;
    }
    if (!holds) return { isMet: false, comment: "unless condition is false" };
    outcome = { isMet: true, comment: "unless condition is true", skipsWatch: true };
  }
  return outcome;
}

/** The command's retcode, or a stand-in if it cannot start. */
async function failingCommand(host: StateHost, command: string, options: ValueMap, standIn: number): Promise<number> {
  try {
    return await retcodeOf(host, command, options);
  } catch {
    return standIn;
  }
}

/** Whether a function says yes: its retcode if it set one, otherwise its result. */
async function isFunctionTrue(host: StateHost, entry: ValueMap): Promise<boolean> {
  const kwargs = copyOf(entry);
  const fun = strOf(kwargs.get("fun") ?? null);
  const args = kwargs.get("args") ?? [];
  const path = kwargs.get("get_return") ?? null;
  for (const key of ["fun", "args", "get_return"]) kwargs.delete(key);
  const { value, retcode } = await host.call(fun, Array.isArray(args) ? args : [], kwargs);
  if (retcode !== 0) return false;
  return isTrue(isTrue(path) ? memberAt(value, strOf(path)) : value);
}

function memberAt(value: Value, path: string): Value {
  let found: Value = value;
  for (const part of path.split(":")) {
    const inner: Value | undefined = Array.isArray(found)
      ? found[Number(part)]
      : found instanceof Map
        ? found.get(part)
        : undefined;
    found = inner ?? null;
  }
  return found;
}

function creates(host: StateHost, value: Value): Outcome {
  if (typeof value === "string" && host.exists(value))
    return { isMet: true, comment: `${value} exists`, skipsWatch: true };
  if (Array.isArray(value) && value.every((path) => host.exists(strOf(path))))
    return { isMet: true, comment: "All files in creates exist", skipsWatch: true };
  return { isMet: false, comment: "Creates files not found" };
}

/** Members for the result of a state with `check_cmd`, which decides about its success. */
export async function checkCommand(host: StateHost, low: LowChunk): Promise<ValueMap> {
  const shell = host.grains.get("shell");
  const options: ValueMap = new Map(shell === undefined ? [] : [["shell", shell]]);
  let outcome: Outcome = { isMet: false };
  for (const entry of entriesOf(low.get("check_cmd") ?? null)) {
    if ((await retcodeOf(host, strOf(entry), options)) === 0)
      outcome = { isMet: true, comment: "check_cmd determined the state succeeded" };
    else {
      outcome = { isMet: false, comment: "check_cmd determined the state failed" };
      break;
    }
  }
  const members = new Map<Value, Value>([["result", outcome.isMet]]);
  for (const key of ["__sls__", "__id__", "name"]) members.set(key, low.get(key) ?? null);
  if (outcome.comment !== undefined) members.set("comment", outcome.comment);
  return members;
}
