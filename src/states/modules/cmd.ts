/** States `cmd.run`, `cmd.script` and their forms that wait for a watched state. Source: Salt 3007's states, recorded. */
import { loadJson } from "../../python/json.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import { shellWords } from "../../wire/shell-words.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import type { StateContext, StateFunction, StateResult, StateTable } from "../run/contract.ts";
import { stateResult } from "../run/result.ts";

const commandParams = {
  name: undefined,
  cwd: null,
  root: null,
  runas: null,
  password: null,
  shell: null,
  env: null,
  prepend_path: null,
  stateful: false,
  output_loglevel: "debug",
  hide_output: false,
  timeout: null,
  ignore_timeout: false,
  use_vt: false,
  success_retcodes: null,
  success_stdout: null,
  success_stderr: null,
};
const scriptParams = {
  name: undefined,
  source: null,
  template: null,
  cwd: null,
  runas: null,
  password: null,
  shell: null,
  env: null,
  stateful: false,
  timeout: null,
  use_vt: false,
  output_loglevel: "debug",
  hide_output: false,
  defaults: null,
  context: null,
  success_retcodes: null,
  success_stdout: null,
  success_stderr: null,
};
/** Arguments of the states that the execution function does not get. */
const ownNames = ["name", "source", "stateful", "ignore_timeout", "defaults", "context", "sfun", "__reqs__", "args"];

/** `stateful`: whether the command's output is its result. `testName`: the command that a trial run runs instead. */
function readStateful(value: Value): { readonly isStateful: boolean; readonly testName: Value | undefined } {
  if (!Array.isArray(value)) return { isStateful: value === true, testName: undefined };
  const [first] = value;
  return { isStateful: value.length > 0, testName: first instanceof Map ? first.get("test_name") : undefined };
}

function faultOf(args: ValueMap): string | undefined {
  const env = args.get("env") ?? null;
  if (env !== null && !Array.isArray(env) && !(env instanceof Map))
    return "Invalidly-formatted 'env' parameter. See documentation.";
  for (const name of ["context", "defaults"]) {
    const value = args.get(name) ?? null;
    if (isTrue(value) && !(value instanceof Map))
      return `Invalidly-formatted '${name}' parameter. Must be formed as a dict.`;
  }
  return undefined;
}

function keywordsFor({ host }: StateContext, args: ValueMap): ValueMap {
  const keywords: ValueMap = new Map();
  for (const [name, value] of args) if (!ownNames.includes(strOf(name)) && value !== null) keywords.set(name, value);
  const shell = args.get("shell") ?? host.grains.get("shell") ?? null;
  if (shell !== null) keywords.set("shell", shell);
  return keywords.set("python_shell", true);
}

async function run(context: StateContext, args: ValueMap): Promise<StateResult> {
  const { isStateful, testName } = readStateful(args.get("stateful") ?? false);
  const name = context.isTest && testName !== undefined ? testName : (args.get("name") ?? null);
  const result = stateResult(args.get("name") ?? null, false, "");
  const fault = faultOf(args);
  if (fault !== undefined) return result.set("comment", fault);
  if (isTrue(args.get("root") ?? null)) return result.set("comment", "root is not supported by this program's states");
  if (context.isTest && testName === undefined) {
    result.set("result", null).set("comment", `Command "${strOf(name)}" would have been executed`);
    result.set("changes", new Map([["cmd", name]]));
    return isStateful ? reinterpreted(result) : result;
  }
  const cwd = args.get("cwd") ?? null;
  if (isTrue(cwd) && !context.host.exists(strOf(cwd)))
    return result.set("comment", `Desired working directory "${strOf(cwd)}" is not available`);
  const outcome = await called(context, "cmd.run_all", name, keywordsFor(context, args));
  if (typeof outcome === "string") return result.set("comment", outcome);
  const isTimeout = outcome.get("retcode") === 1 && strOf(outcome.get("stdout") ?? "").includes("Timed out after");
  if (isTrue(args.get("ignore_timeout") ?? null) && isTimeout) outcome.set("retcode", 0);
  return finished(context, result, outcome, `Command "${strOf(name)}" run`, isStateful);
}

function finished(
  { isTest }: StateContext,
  result: StateResult,
  outcome: ValueMap,
  comment: string,
  isStateful: boolean,
): StateResult {
  const isGood = outcome.get("retcode") === 0;
  result.set("changes", outcome).set("result", isGood).set("comment", comment);
  const shown = isStateful ? reinterpreted(result) : result;
  return isTest && isGood && isTrue(shown.get("changes") ?? null) ? shown.set("result", null) : shown;
}

/** The function's answer, or the text of its failure. */
async function called(
  { host }: StateContext,
  fun: string,
  command: Value,
  keywords: ValueMap,
): Promise<ValueMap | string> {
  try {
    const { value } = await host.call(fun, [command], keywords);
    return value instanceof Map ? value : strOf(value);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function script(context: StateContext, args: ValueMap): Promise<StateResult> {
  const { isStateful, testName } = readStateful(args.get("stateful") ?? false);
  const name = context.isTest && testName !== undefined ? testName : (args.get("name") ?? null);
  const result = stateResult(name, false, "");
  const fault = faultOf(args);
  if (fault !== undefined) return result.set("comment", fault);
  if (context.isTest && testName === undefined) {
    result.set("result", null).set("comment", `Command '${strOf(name)}' would have been executed`);
    return isStateful ? reinterpreted(result) : result;
  }
  const cwd = args.get("cwd") ?? null;
  if (isTrue(cwd) && !context.host.exists(strOf(cwd)))
    return result.set("comment", `Desired working directory "${strOf(cwd)}" is not available`);
  if (isTrue(args.get("context") ?? null) || isTrue(args.get("defaults") ?? null))
    return result.set("comment", "context and defaults of cmd.script are not supported by this program's states");
  const source = args.get("source") ?? name;
  const keywords = keywordsFor(context, args).set("saltenv", context.saltenv);
  const words = strOf(name).split(/\s+/).length > 1 ? strOf(name).slice(strOf(name).indexOf(" ") + 1) : null;
  const given = args.get("args") ?? null;
  if (isTrue(given) || words !== null) keywords.set("args", isTrue(given) ? given : words);
  const outcome = await called(context, "cmd.script", source, keywords);
  if (typeof outcome === "string") return result.set("comment", outcome);
  const isMissing = isTrue(outcome.get("cache_error") ?? null);
  const comment = isMissing
    ? `Unable to cache script ${strOf(source)} from saltenv '${context.saltenv}'`
    : `Command '${strOf(name)}' run`;
  return finished(context, result, outcome, comment, isStateful);
}

/** Reads the result from the output of a command: JSON, or a last line of `name=value` pairs. */
function reinterpreted(result: StateResult): StateResult {
  const output = result.get("changes");
  const before: ValueMap = output instanceof Map ? output : new Map();
  result.set("changes", new Map()).set("comment", "");
  const stdout = before.get("stdout") ?? "";
  if (typeof stdout !== "string" || stdout === "")
    return isTrue(before.get("stderr") ?? null) ? result.set("comment", before.get("stderr") ?? "") : result;
  const read = readOutput(stdout);
  if (typeof read === "string") {
    if (!read.includes("JSON object")) result.set("changes", before);
    return result.set("comment", read).set("result", false);
  }
  const { data, rest } = read;
  const word = strOf(data.get("changed") ?? "no").toLowerCase();
  if (!["true", "yes", "1", "false", "no", "0"].includes(word))
    throw new Error(`Failed parsing boolean value: ${strOf(data.get("changed") ?? null)}`);
  if (data.has("comment")) result.set("comment", data.get("comment") ?? null);
  data.delete("comment");
  if (!["true", "yes", "1"].includes(word)) return result;
  for (const [key, value] of before) if (!data.has(key)) data.set(key, value);
  data.set("stdout", rest);
  return result.set("changes", data);
}

function readOutput(stdout: string): { readonly data: ValueMap; readonly rest: string } | string {
  try {
    const data = loadJson(stdout);
    if (!(data instanceof Map)) return "script JSON output must be a JSON object (e.g., {})!";
    return { data: data as ValueMap, rest: "" };
  } catch {
    const index = stdout.trimEnd().lastIndexOf("\n");
    const data: ValueMap = new Map();
    const words = shellWords(stdout.slice(index + 1));
    for (const item of "fault" in words ? [""] : words) {
      const [key = "", value, ...more] = item.split("=");
      if (value === undefined || more.length > 0)
        return "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.";
      data.set(key, value);
    }
    // As in Salt, output of one line loses its last character.
    return { data, rest: stdout.slice(0, index) };
  }
}

const waits: StateFunction["run"] = (_context, args) => stateResult(args.get("name") ?? null, true, "");

function watched(context: StateContext, args: ValueMap): StateResult | Promise<StateResult> {
  const fun = strOf(args.get("sfun") ?? null);
  const isScript = fun === "wait_script" || fun === "script";
  const params = isScript ? scriptParams : commandParams;
  const full: ValueMap = new Map(args);
  for (const [name, value] of Object.entries(params)) if (!full.has(name)) full.set(name, value ?? null);
  full.delete("sfun");
  return isScript ? script(context, full) : run(context, full);
}

export const cmdStates: StateTable = {
  "cmd.run": { params: commandParams, takesMore: true, run },
  "cmd.script": { params: scriptParams, takesMore: true, run: script },
  "cmd.wait": { params: commandParams, takesMore: true, run: waits },
  "cmd.watch": { params: commandParams, takesMore: true, run: waits },
  "cmd.wait_script": { params: scriptParams, takesMore: true, run: waits },
  "cmd.mod_watch": { params: { name: undefined, runas: null }, takesMore: true, run: watched },
};
