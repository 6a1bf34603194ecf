/** The clients for functions of the master: `runner`, `wheel` and their asynchronous forms. */
import type { CommandOutcome } from "../../client/command-reply.ts";
import type { MasterClient } from "../../client/master-client.ts";
import { apiYamlBodyBytesMax } from "../../limits.ts";
import { wordValue } from "../../python/word.ts";
import { type Encodable, plainNumber, type Value, type ValueMap } from "../../wire/values.ts";
import { shownCode } from "../http/error-codes.ts";
import { ApiError } from "../http/errors.ts";

/** Members of a chunk that are not arguments. */
const own: ReadonlySet<Value> = new Set([
  ..."client fun arg kwarg token username password eauth user key full_return timeout print_event batch".split(" "),
  ..."__jid__ __user__ __notes__ cmd sync".split(" "),
]);
/** A day: longer waits end with the request's own deadline. */
const timeoutSecondsMax = 86_400;
const keyword = /^([A-Za-z_][\w-]*)=(?!=)(.*)$/s;

/** Named arguments: members of the chunk, then of `kwarg`. */
function namedOf(fields: ValueMap): ValueMap {
  const named: ValueMap = new Map([...fields].filter(([name]) => !own.has(name)));
  const kwarg = fields.get("kwarg");
  if (kwarg instanceof Map) for (const [name, value] of kwarg) if (name !== "__kwarg__") named.set(name, value);
  return named;
}

/** `name=value` texts in `arg` are named arguments of runners, too. Their values are read as YAML. @throws ApiError 413 */
function runnerArguments(fields: ValueMap): { readonly args: Value[]; readonly kwargs: ValueMap } {
  const kwargs = namedOf(fields);
  const args: Value[] = [];
  let bytes = 0;
  const written = fields.get("arg") ?? [];
  for (const arg of Array.isArray(written) ? written : [written]) {
    const [, name, text = ""] = (typeof arg === "string" && keyword.exec(arg)) || [];
    bytes += Buffer.byteLength(text);
    if (bytes > apiYamlBodyBytesMax)
      throw new ApiError(
        "BODY_TOO_LARGE",
        `Values of 'name=value' in 'arg' have at most ${apiYamlBodyBytesMax} bytes together; 'kwarg' may be larger`,
      );
    if (name === undefined) args.push(arg);
    else kwargs.set(name, wordValue(text));
  }
  return { args, kwargs };
}

/** @returns 0 where no time is given @throws ApiError 400 */
function secondsOf(timeout: Value): number {
  if (timeout === null || timeout === "") return 0;
  const seconds = Number(plainNumber(timeout));
  if (Number.isNaN(seconds)) throw new ApiError("ARGUMENT_INVALID", "'timeout' is a number of seconds");
  return seconds;
}

/** @throws ApiError 400 for an unknown function or a wrong `timeout`, 504 after `timeout`; SaltworksError as `MasterClient.runner` */
export async function runRunner(client: MasterClient, fields: ValueMap, signal: AbortSignal): Promise<Encodable> {
  const fun = String(fields.get("fun"));
  const { args, kwargs } = runnerArguments(fields);
  const seconds = secondsOf(fields.get("timeout") ?? null);
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = seconds > 0 ? setTimeout(end, Math.min(seconds, timeoutSecondsMax) * 1_000) : undefined;
  signal.addEventListener("abort", end, { once: true });
  let outcome: CommandOutcome;
  try {
    outcome = await client.runner(fun, args, kwargs, undefined, undefined, ending.signal);
  } catch (error) {
    if (ending.signal.aborted) throw new ApiError("DEADLINE_PASSED", "Salt request timed out: the runner is not over");
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
  if (outcome.code === "FUNCTION_UNKNOWN") throw new ApiError("FUNCTION_UNKNOWN", String(outcome.value));
  if (fields.get("full_return") !== true) return outcome.value;
  return { tag: `salt/run/${outcome.jid}/ret`, data: shown(outcome.data) };
}

export async function startRunner(client: MasterClient, fields: ValueMap): Promise<Encodable> {
  const { args, kwargs } = runnerArguments(fields);
  return await client.startRunner(String(fields.get("fun")), args, kwargs);
}

/** @throws SaltworksError as `MasterClient.wheel` */
export async function runWheel(
  client: MasterClient,
  fields: ValueMap,
): Promise<{ readonly tag: string; readonly data: ValueMap }> {
  const { jid, data } = await askWheel(client, fields);
  return { tag: `salt/wheel/${jid}`, data: shown(data) };
}

/** Arguments travel in `kwarg`, where none stands for another part of the request. */
async function askWheel(client: MasterClient, fields: ValueMap): Promise<CommandOutcome> {
  const kwargs = new Map([...namedOf(fields)].map(([name, value]) => [String(name), value] as const));
  return await client.wheel(String(fields.get("fun")), { kwarg: kwargs });
}

/** Runs the function to its end, and answers as if it had only begun: wheel functions are quick. */
export async function startWheel(client: MasterClient, fields: ValueMap): Promise<Encodable> {
  const { jid } = await askWheel(client, fields);
  return { tag: `salt/wheel/${jid}`, jid };
}

/** The master's answer without what only our own clients read. */
function shown(data: ValueMap): ValueMap {
  const kept = new Map(data);
  for (const name of ["notes", "told", "code"]) kept.delete(name);
  return kept;
}

/**
 * Calls a function that only reads, without a job record and without events.
 *
 * @throws ApiError 400 if the function is unknown, fails or does more than read, 504 at the deadline; SaltworksError as `MasterClient.read`
 */
export async function readValue(
  client: MasterClient,
  kind: "runner" | "wheel",
  fun: string,
  kwargs: ValueMap,
  signal: AbortSignal,
): Promise<Read> {
  let outcome: CommandOutcome;
  try {
    outcome = await client.read(kind, fun, kwargs, signal);
  } catch (error) {
    if (signal.aborted) throw new ApiError("DEADLINE_PASSED", `Salt request timed out: '${fun}' is not over`);
    throw error;
  }
  const { value, notes, isSuccess, code = "FUNCTION_FAILED" } = outcome;
  if (!isSuccess) throw new ApiError(shownCode(code) ?? "FUNCTION_FAILED", failureText(value), {}, 400);
  return { value, notes };
}

/** The function's own message, without Salt's sentence around it. */
export function failureText(value: Value): string {
  const text = String(value).replace(/^Exception occurred in (?:runner|wheel) [\w.]+: /, "");
  return /^\nPassed invalid arguments: ([^\n]*)/.exec(text)?.[1] ?? text;
}

export type Read = { readonly value: Value; readonly notes: readonly string[] };
