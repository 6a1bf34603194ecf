/**
 * `saltworks run`: runs a runner function in the master, or reads the job cache itself while the master is down.
 * Source: docs/compatibility.md, "saltworks run".
 */

import type { Logger } from "pino";
import type { CommandOutcome } from "../../client/command-reply.ts";
import type { Login } from "../../client/credentials.ts";
import { MasterClient } from "../../client/master-client.ts";
import { openMinionDataReadOnly } from "../../client/read-minion-data.ts";
import { requestEndpoint } from "../../client/request-port.ts";
import { ownJid, type RunnerListener } from "../../client/runner-feed.ts";
import { nearestNames } from "../../config/edit-distance.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { openJobReader } from "../../databases/open-reader.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { fileServerSettings } from "../../fileserver/backends/contract/settings.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import { compileGlob } from "../../python/fnmatch.ts";
import { failureText } from "../../runners/contract/call.ts";
import { docTexts } from "../../runners/contract/doc-text.ts";
import { runnerFunctions, runRunner } from "../../runners/registry.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { keywordMark, parseArguments } from "../args/words.ts";
import { Exit, interruptedExitCode } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { untilInterrupted } from "../host/until-interrupted.ts";
import { loginOf } from "../input/login.ts";
import { becomeUser } from "../input/process-user.ts";
import { openToolLog } from "../log/open-log.ts";
import type { OptionsOf } from "../options/parse.ts";
import { Display } from "../show/display.ts";
import { displayChoice } from "../show/display-choice.ts";
import { orCrash } from "../show/hard-crash.ts";
import { MeterBar } from "../show/meter-bar.ts";
import { commandLine, noticePlace, withCommandLines } from "../show/notices.ts";
import { understand } from "../start/command-line.ts";
import { clientConfig } from "../start/configuration.ts";
import { hasPythonRunner, pythonRunnerDocs } from "./python-runners.ts";
import { runHere } from "./run-here.ts";
import { followBatch } from "./salt/batch.ts";

/** `isRefused`: the login is wrong, or its user may not run the function. */
type Outcome = Pick<CommandOutcome, "value" | "isSuccess"> &
  Partial<Pick<CommandOutcome, "jid" | "notes" | "code">> & { readonly isRefused?: boolean };
/** `jid`: the job id that the operator or this command chose. */
type RunnerCall = {
  readonly name: string;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap;
  readonly jid: string | undefined;
  readonly login: Login | undefined;
};

/** Functions that return ordered maps in Salt. Their results are shown with keys in the given order, not sorted. */
const orderedFunctions: ReadonlySet<string> = new Set([
  "pillar.show_pillar",
  "pillar.show_top",
  "state.orchestrate_show_sls",
]);
const exceptionStart = "Exception occurred in runner";
const argumentsStart = "\nPassed invalid arguments:";

/** @returns the exit code: 1 after an exception, a refusal and for an unknown function; else the `retcode` of a result that is a map, or 0 */
export async function runRun(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("run", argv, host);
  return await orCrash(options.isHardCrash, host, () => runFunction(options, positionals, host));
}

async function runFunction(options: OptionsOf<"run">, positionals: readonly string[], host: Host): Promise<number> {
  const config = clientConfig(options.configDir, host);
  const log = openToolLog(options, config, host);
  const display = new Display(displayChoice(options, config, host.environment), host);
  const [name, ...words] = positionals;
  if (options.isDocAsked) return printDocs(name, display, () => pythonRunnerDocs(config, host));
  if (name === undefined) {
    display.show(docTexts(runnerFunctions));
    return 0;
  }
  const login = await loginOf(options, config, host, false).catch((error: unknown) => {
    noticePlace(error, config, host);
    throw error;
  });
  if (login === "failed") {
    log.error("Authentication failed");
    return 0;
  }
  const args = parseArguments(words, { noParse: options.noParse?.split(",") ?? [] });
  const call: RunnerCall = {
    name,
    args,
    kwargs: timeoutArgument(name, args, options.timeoutSeconds),
    jid: options.jid ?? (options.isAsync ? undefined : ownJid(config.unique_jid)),
    login,
  };
  const followed =
    name === "jobs.follow"
      ? await followBatch(words, { config, display, host, log, configDir: options.configDir })
      : undefined;
  if (followed !== undefined) return followed;
  const here =
    options.isAsync || login !== undefined ? undefined : await runHere({ config, host, log }, name, args, call.kwargs);
  if (here?.exitCode !== undefined) return here.exitCode;
  log.debug(`Asking the master at ${requestEndpoint(config)} for ${name}`);
  const meter = new MeterBar(options.isQuiet ? undefined : host.errorTerminal);
  const listener = listenerOf(display, host, options.isQuiet, meter);
  const asking = () =>
    options.isAsync
      ? start(config, host, call, log)
      : untilInterrupted(host, ask(config, host, call, listener), () => leave(host, call, options.configDir));
  const { value, isSuccess, jid, notes, code, isRefused }: Outcome =
    here ?? (await asking().finally(() => meter.close()));
  if (config.show_jid && jid !== undefined) display.line(`jid: ${jid}`);
  // A call that only started has no result yet.
  if (!options.isQuiet && !(options.isAsync && isSuccess)) {
    if (isSuccess) display.show(...shownBy(value), 0, orderedFunctions.has(name));
    else display.show(explained(withCommandLines(String(value), options.configDir), name), "nested");
  }
  for (const note of notes ?? []) host.complain(`[WARNING ] ${note}\n`);
  if (isSuccess) return retcodeOf(value);
  const isUnknown = value === notAvailableText(name);
  if (isUnknown) suggest(name, host);
  const isOfJob = code === "JOB_STATE" || code === "JOB_UNKNOWN";
  return isUnknown || isOfJob || isRefused === true || String(value).startsWith(exceptionStart) ? 1 : 0;
}

/** Ctrl-C ends this command alone. The master runs the function to its end, unlike salt-run, which runs it itself. */
function leave(host: Host, { name, jid }: RunnerCall, configDir: string | undefined): never {
  const way = commandLine("saltworks run jobs.master", configDir);
  host.complain(
    `\nExiting gracefully on Ctrl-c\n[WARNING ] ${name} goes on in the master as job ${jid}; it is in the list of: ${way}\n`,
  );
  throw new Exit(interruptedExitCode);
}

/** As in Salt, a function says by this member of its result how the command ends. */
function retcodeOf(value: Value): number {
  const retcode = value instanceof Map ? value.get("retcode") : undefined;
  return typeof retcode === "number" && Number.isInteger(retcode) ? retcode : 0;
}

/**
 * Documents one function, a module, or all functions that match a glob. Without a name it documents all functions. `others`: documentation of functions
 * that are not built here.
 */
function printDocs(name: string | undefined, display: Display, others: () => ReadonlyMap<string, string>): number {
  const glob = name?.includes("*") ? compileGlob(name) : undefined;
  const start = name?.endsWith(".") ? name : `${name}.`;
  const isMeant = (fun: string) => glob?.matches(fun) ?? (name === undefined || fun === name || fun.startsWith(start));
  const docs = docTexts([...runnerFunctions].filter(([fun]) => isMeant(fun)));
  if (name === undefined || !docs.has(name))
    for (const [fun, doc] of others()) if (isMeant(fun) && !runnerFunctions.has(fun)) docs.set(fun, doc);
  for (const [fun, doc] of [...docs].sort(([a], [b]) => (a < b ? -1 : 1))) display.line(`${fun}:\n${doc}`);
  return 0;
}

/** `-t` sets the `timeout` of functions that have one, unless the arguments set it. */
function timeoutArgument(name: string, args: readonly Value[], seconds: number | undefined): ValueMap {
  const hasTimeout = runnerFunctions.get(name)?.parameters.some((parameter) => parameter.name === "timeout");
  const isGiven = args.some((arg) => arg instanceof Map && arg.get(keywordMark) === true && arg.has("timeout"));
  return hasTimeout && !isGiven && seconds !== undefined ? new Map([["timeout", seconds]]) : new Map();
}

/** With `--async` a warning names the place of the later result. */
async function start(config: MasterConfig, host: Host, call: RunnerCall, log: Logger): Promise<Outcome> {
  const { name } = call;
  if (!runnerFunctions.has(name) && hasPythonRunner(config, host, name) !== true)
    return { value: notAvailableText(name), isSuccess: false };
  return await reached(config, host, call, async (client) => {
    const { tag, jid } = await client.startRunner(name, call.args, call.kwargs, call.jid);
    log.warn(
      `Running in asynchronous mode. Results of this execution may be collected by attaching to the master event bus or by examining the master job cache, if configured. This execution is running under tag ${tag}`,
    );
    return { value: new Map(), isSuccess: true, jid };
  });
}

async function ask(config: MasterConfig, host: Host, call: RunnerCall, listener: RunnerListener): Promise<Outcome> {
  const { name, args, kwargs, jid } = call;
  return await reached(config, host, call, (client) => client.runner(name, args, kwargs, jid, listener));
}

/** Shows lines and progress of the function as they come. */
function listenerOf(display: Display, host: Host, isQuiet: boolean, meter: MeterBar): RunnerListener {
  return {
    onMeter: (state) => meter.show(state),
    onPrint: (text) => host.write(text),
    onProgress: (suffix, event) => {
      if (isQuiet) return;
      const shown = new Map<Value, Value>([
        ["suffix", suffix],
        ["event", event],
      ]);
      const outputter = event.get("outputter");
      display.show(shown, typeof outputter === "string" ? outputter : undefined);
    },
  };
}

/** Runs `step` with a connection to the master. A failure becomes an outcome in salt-run's words. */
async function reached(
  config: MasterConfig,
  host: Host,
  { name, args, login }: RunnerCall,
  step: (client: MasterClient) => Promise<Outcome>,
): Promise<Outcome> {
  let client: MasterClient | undefined;
  try {
    client = await MasterClient.open(config, host.user, login);
    return await step(client);
  } catch (error) {
    if (login === undefined && hasCode(error, "MASTER_UNREACHABLE") && runnerFunctions.get(name)?.isOffline === true) {
      // As in salt-run, files that root makes here belong to the master's user, who has to write them later.
      if (process.getuid?.() === 0) await becomeUser(config.user, host);
      return await readOffline(config, name, args);
    }
    if (hasCode(error, "REQUEST_TIMEOUT")) host.complain("[ERROR   ] Message timed out\n");
    const isKnown = ["MASTER_UNREACHABLE", "REQUEST_TIMEOUT", "REQUEST_REFUSED", "AUTH_FAILED"] as const;
    if (!isKnown.some((code) => hasCode(error, code))) throw error;
    noticePlace(error, config, host);
    // Salt shows the message alone, and ends with 0.
    if (login !== undefined && hasCode(error, "AUTH_FAILED"))
      return { value: `${name} was refused: ${(error as SaltworksError).message}`, isSuccess: false, isRefused: true };
    return { value: `${exceptionStart} ${name}: ${(error as SaltworksError).message}`, isSuccess: false };
  } finally {
    client?.close();
  }
}

/** Reads the job cache of a master that does not run. */
async function readOffline(config: MasterConfig, name: string, args: readonly Value[]): Promise<Outcome> {
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const { jobs, saltJobs, databases, close } = openJobReader(config, { isReadOnly: true, onLeftOut: note });
  const minions = openMinionDataReadOnly(config);
  try {
    const files = new FileServer(fileServerSettings(config, process.env));
    const context = {
      config,
      environment: process.env,
      jobs,
      saltJobs,
      databases,
      minions,
      files,
      master: undefined,
      note,
    };
    const value = await runRunner(context, name, args, new Map());
    // Encoded as in a master's reply, so that the display is the same with and without a master.
    return { value: decode(encode(value, "bin")), isSuccess: true, notes };
  } catch (error) {
    if (!hasCode(error, "FUNCTION_ARGUMENTS") && !hasCode(error, "FUNCTION_FAILED")) throw error;
    return { value: failureText(runnerFunctions, "runner", name, error), isSuccess: false };
  } finally {
    await Promise.all([close(), minions.close()]);
  }
}

/** Unpacks Salt's form of a result that names its outputter. */
function shownBy(value: Value): [value: Value, outputter: string | undefined] {
  if (!(value instanceof Map)) return [value, undefined];
  const [outputter, data] = [value.get("outputter"), value.get("data")];
  // An orchestration's result is shown whole in other forms than its own.
  if (value.size === 3 && value.has("retcode") && outputter === "highstate") return [value, outputter];
  if (value.size !== 2) return [value, undefined];
  return typeof outputter === "string" && data !== undefined ? [data, outputter] : [value, undefined];
}

/**
 * As in Salt, a call with an unknown keyword or a beginning of function names shows the documentation of every function whose name begins so.
 */
function explained(text: string, name: string): Value {
  const isUnknownKeyword = text.startsWith(argumentsStart) && text.includes("unexpected keyword argument");
  if (!isUnknownKeyword && text !== notAvailableText(name)) return text;
  const glob = compileGlob(`${name}*`);
  const docs = docTexts([...runnerFunctions].filter(([fun]) => glob.matches(fun)));
  return docs.size > 0 ? docs : text;
}

function suggest(name: string, host: Host): void {
  const [near] = nearestNames(name, runnerFunctions.keys());
  if (near !== undefined) host.complain(`Did you mean ${near}?\n`);
}

function notAvailableText(name: string): string {
  return `'${name}' is not available.`;
}
