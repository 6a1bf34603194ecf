/**
 * `call`: runs one function in this process, with the minion's configuration and key. Prints what Salt's salt-call prints.
 * Source: docs/compatibility.md, "saltworks call". With a master, uses its pillar and returns the result to it as a job.
 */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { summaryOf, tracebackOf } from "../../python/traceback.ts";
import { wordValue } from "../../python/word.ts";
import { jidAsText } from "../../wire/jid.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { asValue, type Encodable, type Value, type ValueMap } from "../../wire/values.ts";
import { keywordOf } from "../functions/binding.ts";
import { type Call, makeContext, type Surroundings } from "../functions/call-context.ts";
import { jidText, now } from "../functions/clock-text.ts";
import { JobRecords } from "../functions/job-records.ts";
import type { Extras, ModuleFunction, ModuleLog, ModuleTable } from "../functions/module-contract.ts";
import { type Outcome, runFunction } from "../functions/run-function.ts";
import { configToValue } from "../functions/yaml-values.ts";
import { collectGrains } from "../modules/grains/core.ts";
import type { Environment } from "../modules/machine/environment.ts";
import { loadModules } from "../modules/registry.ts";
import type { ReturnerTable } from "../returners/contract/returner.ts";
import { withFailures } from "../returners/job-record.ts";
import { loadReturners, returnerDocs } from "../returners/registry.ts";
import { namesIn, passOn } from "../returners/run.ts";
import { type CallHost, type LocalPillar, openCallHost } from "./call-host.ts";

/** What the command line asks for. `file_client: local` in the configuration means no master. */
export type CallRequest = {
  readonly fun?: string;
  /** The words after the function, unparsed. */
  readonly words: readonly string[];
  /** Print documentation of every function whose name begins with `fun`. */
  readonly isDoc?: boolean;
  readonly isGrains?: boolean;
  /** Show jid, id, function and retcode around the value. */
  readonly isMetadataShown?: boolean;
  /** `--set-metadata`: YAML, sent with the return. */
  readonly metadata?: string;
  readonly isRetcodePassedThrough?: boolean;
  /** `--no-return-event`. */
  readonly isReturnOff?: boolean;
  readonly isSkippingGrains?: boolean;
  /** Keywords whose value stays text (`--no-parse`). */
  readonly noParse?: readonly string[];
  /** `--return`: names separated by commas. Undefined: `return` of the configuration. */
  readonly returners?: string;
};

export type CallOutput = {
  /** `value` is a map with the one key `local`; outputter names are Salt's, `nested` unless the function names another. */
  show(value: Value, outputter: string, retcode: number): void;
  /** Writes to standard output without changes. */
  write(text: string): void;
  /** Writes to standard error without changes. */
  complain(text: string): void;
  /** Takes log lines of functions. The log level decides which are shown. */
  log(level: "debug" | "info" | "warn" | "error", text: string): void;
};

export const callExitCodes = { done: 0, failed: 1, notAccepted: 2, noFunction: 255 } as const;

/** What the command line passes to the call. */
export type CallSurrounding = {
  readonly log: Logger;
  readonly environment: Environment;
  readonly localPillar: LocalPillar;
  readonly extras?: Extras;
  /** Functions beyond this program's own, by whole name. */
  readonly moreFunctions: ModuleTable;
};

type Result = { readonly [field: string]: Encodable };

/** @returns the exit code. Configuration errors are thrown. */
export async function runCall(
  config: MinionConfig,
  request: CallRequest,
  out: CallOutput,
  surrounding: CallSurrounding,
): Promise<number> {
  const { environment } = surrounding;
  const log: ModuleLog = {
    debug: (text) => out.log("debug", text),
    info: (text) => out.log("info", text),
    warn: (text) => out.log("warn", text),
    error: (text) => out.log("error", text),
  };
  const grains: ValueMap = request.isSkippingGrains
    ? new Map<Value, Value>([["id", config.id]])
    : await collectGrains({ config, environment, log });
  const table = loadReturners(config);
  const host = await openHost(config, grains, surrounding, out);
  if (typeof host === "number") return host;
  try {
    const surroundings: Surroundings = {
      config,
      functions: new Map([...loadModules(config, environment), ...surrounding.moreFunctions]),
      facts: () => ({ grains, pillar: host.pillar }),
      host,
      records: await JobRecords.open(config.cachedir),
      log,
      extras: surrounding.extras,
      returners: () => returnerDocs(table),
    };
    if (request.isDoc) return printDocs(surroundings, request.fun ?? "", out);
    if (request.isGrains) {
      out.show(underLocal(grains), "grains", 0);
      return callExitCodes.done;
    }
    return await callAndShow({ surroundings, table, host, request, out });
  } finally {
    host.close();
  }
}

async function openHost(
  config: MinionConfig,
  grains: ValueMap,
  { log, localPillar }: CallSurrounding,
  out: CallOutput,
): Promise<CallHost | number> {
  try {
    return await openCallHost(config, grains, log, localPillar);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (hasCode(error, "AUTH_FAILED") && (error as SaltworksError).detail.outcome === "pending") {
      out.write(`${error.message}\n`);
      return callExitCodes.notAccepted;
    }
    if (!("code" in error) || hasCode(error, "CONFIG_INVALID")) throw error;
    out.complain(`Unable to sign_in to master: ${error.message}\n`);
    return hasCode(error, "AUTH_REJECTED") ? 77 : callExitCodes.failed;
  }
}

function printDocs({ functions }: Surroundings, start: string, out: CallOutput): number {
  for (const name of [...functions.keys()].sort()) {
    const doc = functions.get(name)?.doc;
    if (name.startsWith(start) && doc !== undefined && doc !== "") out.write(`${name}:\n${doc}\n\n`);
  }
  return callExitCodes.done;
}

type Running = {
  readonly surroundings: Surroundings;
  readonly table: ReturnerTable;
  readonly host: CallHost;
  readonly request: CallRequest;
  readonly out: CallOutput;
};

async function callAndShow(running: Running): Promise<number> {
  const { surroundings, host, request, out } = running;
  const fun = request.fun ?? "";
  const jid = jidText(now());
  const target = surroundings.functions.get(fun);
  if (target === undefined) return await answerUnknown(surroundings, { jid, fun, publish: new Map() }, out);
  const metadata = request.metadata === undefined ? undefined : wordValue(request.metadata);
  const publish: ValueMap = new Map<Value, Value>([
    ["fun", fun],
    ["pid", process.pid],
    ["jid", jid],
    ["tgt", "salt-call"],
  ]);
  if (metadata !== undefined) publish.set("metadata", metadata);
  await surroundings.records.write(jid, publish, process.pid);
  let outcome: Outcome;
  try {
    outcome = await runFunction(surroundings, { jid, fun, publish }, parseWords(request.words, request.noParse));
  } catch (error) {
    return explain(error, fun, target, out);
  } finally {
    await surroundings.records.remove(jid);
  }
  const { value, retcode } = outcome;
  const { outputter } = target;
  const result: Result = {
    jid,
    return: value ?? null,
    retcode,
    out: outputter,
    id: surroundings.config.id,
    fun,
    fun_args: request.words,
    metadata,
  };
  const passed = await passToReturners(running, result);
  if (!request.isReturnOff) await host.sendReturn({ ...passed, jid: "req" });
  const shown = request.isMetadataShown ? result : (value ?? null);
  out.show(underLocal(shown), request.isMetadataShown ? "nested" : (outputter ?? "nested"), retcode);
  if (request.isRetcodePassedThrough) return retcode;
  return retcode === 0 ? callExitCodes.done : callExitCodes.failed;
}

/** As in Salt, returners run before the master gets the return, and their failures do not change the exit code. */
async function passToReturners({ surroundings, table, request, out }: Running, result: Result): Promise<Result> {
  const names = namesIn(request.returners ?? configToValue(surroundings.config.return));
  if (names.length === 0) return result;
  const passed = { ...result, success: true };
  const print = (line: string) => out.write(`${line}\n`);
  return withFailures(passed, await passOn({ surroundings, table, print }, names, asValue(passed) as ValueMap));
}

/** Functions may build their result from plain objects; outputters take values of the wire. */
function underLocal(value: Encodable): Value {
  return decode(encode({ local: value }, "bin"));
}

/** Shows the documentation of functions whose names begin with `call.fun`; if there are none, an error. */
async function answerUnknown(surroundings: Surroundings, call: Call, out: CallOutput): Promise<number> {
  const missing = `'${call.fun}' is not available.`;
  if (surroundings.functions.has("sys.doc")) {
    const docs = await makeContext(surroundings, call).context.callFunction("sys.doc", [`${call.fun}*`]);
    const entries = docs instanceof Map ? [...docs] : Object.entries(docs ?? {});
    if (entries.length > 0) {
      out.show(underLocal(new Map([...entries, [call.fun, missing]])), "nested", 1);
      return callExitCodes.failed;
    }
  }
  out.complain(`${missing}\n`);
  return callExitCodes.noFunction;
}

function explain(error: unknown, fun: string, target: ModuleFunction, out: CallOutput): number {
  const kind = error instanceof Error && "detail" in error ? (error as SaltworksError).detail.kind : undefined;
  const text = error instanceof Error ? error.message : String(error);
  if (kind === "command") out.complain(`Error running '${fun}': ${text}\n`);
  else if (kind === "not-found") out.complain(`Command required for '${fun}' not found: ${text}\n`);
  else if (kind === "invocation") out.complain(`${text}\n`);
  else if (kind === "type") {
    out.complain(`\nPassed invalid arguments: ${text}.\n\nUsage:\n`);
    out.write(`${target.doc}\n`);
  } else {
    out.log("error", `An un-handled exception was caught by Salt's global exception handler:\n${summaryOf(error)}`);
    out.complain(tracebackOf(error));
  }
  return callExitCodes.failed;
}

/** Words as positional and keyword arguments, in the form that a publish carries. */
export function parseWords(words: readonly string[], noParse: readonly string[] = []): Value[] {
  const args: Value[] = [];
  const kwargs: ValueMap = new Map<Value, Value>([["__kwarg__", true]]);
  for (const word of words) {
    const keyword = keywordOf(word);
    if (keyword === undefined) args.push(jidAsText(wordValue(word)));
    else kwargs.set(keyword.name, noParse.includes(keyword.name) ? textOf(word) : keyword.value);
  }
  return kwargs.size > 1 ? [...args, kwargs] : args;
}

/** The text behind the first `=`, without a line end at its end. */
function textOf(word: string): string {
  return word.slice(word.indexOf("=") + 1).replace(/\n$/, "");
}
