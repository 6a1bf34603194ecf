/**
 * Runner functions that need the operator's own process: `state.event` shows events until it is interrupted, `salt.cmd` runs an execution
 * function as the operator's user. The master refuses both. Source: docs/compatibility.md, "saltworks run".
 */
import { join } from "node:path";
import { EventWatch } from "../../client/event-watch.ts";
import { notContactedText } from "../../client/texts.ts";
import { loadMinionConfig } from "../../config/load.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { compilePythonPattern } from "../../python/regex/match.ts";
import { isGivenTrue, textArgument } from "../../runners/contract/arguments.ts";
import { bindArguments, failureText } from "../../runners/contract/call.ts";
import type { ExtraArguments } from "../../runners/contract/contract.ts";
import { orchestrationNames } from "../../runners/master/event.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { interruptedExitCode } from "../host/exit.ts";
import { untilInterrupted } from "../host/until-interrupted.ts";
import type { Here, HereFunction, HereOutcome } from "../orchestrate/here.ts";
import { renderJson } from "../outputters/json.ts";

const functionsHere: ReadonlyMap<string, HereFunction> = new Map<string, HereFunction>([
  ["state.event", showEvents],
  ["salt.cmd", callFunctionHere],
  ...[...orchestrationNames].map((name): [string, HereFunction] => [name, (...call) => orchestrate(name, ...call)]),
]);
/** The `indent` of one-line JSON. */
const oneLine = null;

/** @returns undefined for a function that the master runs */
export async function runHere(
  here: Here,
  name: string,
  args: readonly Value[],
  kwargs: ValueMap,
): Promise<HereOutcome | undefined> {
  const run = functionsHere.get(name);
  const described = runnerFunctions.get(name);
  if (run === undefined || described === undefined) return undefined;
  try {
    const { bound, extra } = bindArguments(name, described, args, kwargs);
    const running = run(here, bound, extra);
    const words = interruptedWords(name);
    return words === undefined ? await running : await untilInterrupted(here.host, running, () => left(here, words));
  } catch (error) {
    if (!hasCode(error, "FUNCTION_ARGUMENTS")) throw error;
    return { value: failureText(runnerFunctions, "runner", name, error), isSuccess: false };
  }
}

/** Loaded on demand, as execution functions are, because they are a third of the code, and other functions do not need it. */
async function orchestrate(name: string, ...call: Parameters<HereFunction>): Promise<HereOutcome> {
  const { orchestrationFunctions } = await import("../orchestrate/orchestrate.ts");
  const run = orchestrationFunctions.get(name);
  if (run === undefined) throw new SaltworksError("FUNCTION_UNKNOWN", `no orchestration ${name}`, {});
  return await run(...call);
}

/** What Ctrl-C is answered with; undefined for `state.event`, which it ends as usual. */
function interruptedWords(name: string): string | undefined {
  if (orchestrationNames.has(name)) return "The orchestration was stopped by Ctrl-C. Jobs that it started go on.";
  return name === "salt.cmd" ? "Exiting gracefully on Ctrl-c" : undefined;
}

/** Salt ends with 0 or 1 then; a script must not take a part of the work for the whole. */
function left({ host }: Here, words: string): HereOutcome {
  host.complain(`\n${words}\n`);
  return { value: null, isSuccess: false, exitCode: interruptedExitCode };
}

/** Shows tag and data of each event with a matching tag, until `count` events or Ctrl-C. */
async function showEvents({ config, host, log }: Here, args: ValueMap): Promise<HereOutcome> {
  const matches = tagMatcher(textArgument(args, "tagmatch", "*"));
  const isPretty = isGivenTrue(args, "pretty");
  const isQuiet = isGivenTrue(args, "quiet");
  const count = Number(args.get("count") ?? -1);
  const stop = new AbortController();
  const dropInterrupt = host.onInterrupt(() => stop.abort(), ["SIGINT", "SIGTERM"]);
  try {
    const watch = await EventWatch.open(join(config.sock_dir, "master_event_pub.ipc"), stop.signal);
    let left = count;
    for await (const { tag, data } of watch.events()) {
      if (!matches(tag)) continue;
      if (!isQuiet) host.write(`${tag}\t${renderJson(decode(data), isPretty ? "pretty" : oneLine)}\n`);
      left -= 1;
      if (left === 0) break;
    }
    if (watch.dropped > 0)
      log.warn(`${watch.dropped} events were left out, because they came faster than this terminal showed them`);
    return { value: null, isSuccess: true, ...(stop.signal.aborted ? { exitCode: interruptedExitCode } : {}) };
  } catch (error) {
    if (!hasCode(error, "MASTER_UNREACHABLE")) throw error;
    return { value: `Exception occurred in runner state.event: ${notContactedText}`, isSuccess: false };
  } finally {
    dropInterrupt();
    stop.abort();
  }
}

/** Matches as Salt does: the exact tag, a glob, or a regular expression for the whole tag. */
function tagMatcher(expression: string): (tag: string) => boolean {
  const glob = compileGlob(expression);
  const pattern = patternOf(expression);
  return (tag) => tag === expression || glob.matches(tag) || pattern?.matchesStart(tag) === true;
}

function patternOf(expression: string): ReturnType<typeof compilePythonPattern> | undefined {
  try {
    return compilePythonPattern(`(?:${expression})\\Z`);
  } catch (error) {
    // Most globs are not regular expressions.
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return undefined;
  }
}

/** Uses the master's own directories, as Salt's runner does, and not those of a minion on this machine. */
async function callFunctionHere(
  { config, host, log }: Here,
  args: ValueMap,
  { positional, keywords }: ExtraArguments,
): Promise<HereOutcome> {
  const minionConfig = loadMinionConfig(config.configDir, {
    id: config.id,
    file_client: "local",
    cachedir: join(config.cachedir, "salt_cmd"),
  });
  const fun = textArgument(args, "fun");
  const { callHere } = await import("../../minion/call/call-here.ts");
  const { minionExtras } = await import("../input/minion-extras.ts");
  const called = await callHere(
    minionConfig,
    { log, environment: { ...host.environment }, extras: minionExtras },
    { fun, args: positional, kwargs: keywords },
  );
  if ("failure" in called)
    return { value: `Exception occurred in runner salt.cmd: ${called.failure}`, isSuccess: false };
  return { value: decode(encode(called.value, "bin")), isSuccess: true };
}
