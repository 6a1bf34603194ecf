/**
 * Runs a publish's function or functions and makes the content of its `_return`, with Salt's fields, order and texts.
 * Source: docs/protocol.md section 9. The texts are Salt's, because scripts compare them.
 */
import type { SaltworksError } from "../../errors.ts";
import { tracebackOf } from "../../python/traceback.ts";
import { mapField, textField } from "../../wire/fields.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { Surroundings } from "./call-context.ts";
import { makeContext } from "./call-context.ts";
import { type Outcome, runFunction } from "./run-function.ts";

/** Members in the order in which they are sent. */
export type JobReturn = { readonly [field: string]: Encodable };

/** `load`: a publish load without its serial number, whose target matches. The return reports a function's failure; `runJob` does not throw it. */
export async function runJob(surroundings: Surroundings, load: ValueMap): Promise<JobReturn> {
  const fun = load.get("fun");
  return Array.isArray(fun) ? await runSeveral(surroundings, load, fun) : await runOne(surroundings, load, String(fun));
}

async function runOne(surroundings: Surroundings, load: ValueMap, fun: string): Promise<JobReturn> {
  const body = surroundings.functions.has(fun)
    ? await bodyOfCall(surroundings, load, fun)
    : await bodyOfUnknown(surroundings, load, fun);
  const outputter = surroundings.functions.get(fun)?.outputter;
  return {
    ...body,
    ...trailerOf(load, fun),
    master_id: load.get("master_id"),
    metadata: mapField(load, "metadata"),
    ...(outputter === undefined || "out" in body ? {} : { out: outputter }),
  };
}

async function bodyOfCall(surroundings: Surroundings, load: ValueMap, fun: string): Promise<JobReturn> {
  const call = { jid: textField(load, "jid") ?? "", fun, publish: load };
  try {
    const { value, retcode } = await runFunction(surroundings, call, argumentsOf(load.get("arg")));
    return { success: retcode === 0, return: value ?? null, retcode };
  } catch (error) {
    const text = failureText(error, fun, surroundings);
    if (text.startsWith(exceptionText)) await reportException(surroundings);
    return { success: false, return: text, out: "nested", retcode: 1 };
  }
}

const exceptionText = "The minion function caused an exception";

/** The return's text for a failure, by its kind (errors.ts). Also logs the failure. */
export function failureText(
  error: unknown,
  fun: string,
  { log, functions }: Pick<Surroundings, "log" | "functions">,
): string {
  const { kind, name } = error instanceof Error && "detail" in error ? (error as SaltworksError).detail : {};
  const text = error instanceof Error ? error.message : String(error);
  switch (name === "TypeError" ? "type" : kind) {
    case "command":
      log.error(`A command in '${fun}' had a problem: ${text}`);
      return `ERROR: ${text}`;
    case "not-found":
      return `Command required for '${fun}' not found: ${text}`;
    case "invocation":
      log.error(`Problem executing '${fun}': ${text}`);
      return `ERROR executing '${fun}': ${text}`;
    case "type": {
      const message = `Passed invalid arguments to ${fun}: ${text}\n${functions.get(fun)?.doc ?? ""}`;
      log.warn(message);
      return message;
    }
    default:
      log.warn(`${exceptionText}\n${tracebackOf(error)}`);
      return `${exceptionText}: ${tracebackOf(error)}`;
  }
}

/** Fires `_salt_error`, which the minion forwards to the master's event bus, as Salt's minion does. */
async function reportException({ host }: Surroundings): Promise<void> {
  await host.fireMinion("_salt_error", { message: exceptionText, args: [exceptionText] });
}

/** Returns the documentation of functions whose names begin with `fun` (`test.pin`), if there are any. */
async function bodyOfUnknown(surroundings: Surroundings, load: ValueMap, fun: string): Promise<JobReturn> {
  const missing = `'${fun}' is not available.`;
  let value: Encodable = missing;
  if (surroundings.functions.has("sys.doc")) {
    const { context } = makeContext(surroundings, { jid: textField(load, "jid") ?? "", fun, publish: load });
    const docs = await context.callFunction("sys.doc", [`${fun}*`]);
    value = withEntry(docs, fun, missing);
  }
  return { success: false, return: value, retcode: 1, out: "nested" };
}

function withEntry(docs: Encodable, fun: string, missing: string): Encodable {
  if (docs instanceof Map) return docs.size === 0 ? missing : new Map([...docs, [fun, missing]]);
  if (typeof docs !== "object" || docs === null || Array.isArray(docs)) return missing;
  return Object.keys(docs).length === 0 ? missing : { ...docs, [fun]: missing };
}

/** Several functions in one job. If one fails, the next still runs. */
async function runSeveral(surroundings: Surroundings, load: ValueMap, names: readonly Value[]): Promise<JobReturn> {
  const isOrdered = surroundings.config.opts.get("multifunc_ordered") === true;
  const argLists = load.get("arg");
  const outcomes: (Partial<Outcome> & { readonly fun: string })[] = [];
  for (const [index, name] of names.entries()) {
    const fun = String(name);
    const arg = argumentsOf(Array.isArray(argLists) ? argLists[index] : undefined);
    outcomes.push({ fun, ...(await outcomeOrTraceback(surroundings, load, fun, arg)) });
  }
  const collect = (pick: (outcome: Partial<Outcome>) => Encodable): Encodable =>
    isOrdered
      ? outcomes.map((outcome) => pick(outcome) ?? null)
      : new Map(
          outcomes.filter((outcome) => pick(outcome) !== undefined).map((outcome) => [outcome.fun, pick(outcome)]),
        );
  return {
    return: collect(({ value }) => value ?? null),
    retcode: collect(({ retcode }) => retcode),
    success: collect(({ retcode }) => retcode === 0),
    ...trailerOf(load, names as Value[]),
    metadata: load.get("metadata"),
  };
}

/** The outcome has no retcode if the function threw. */
async function outcomeOrTraceback(
  surroundings: Surroundings,
  load: ValueMap,
  fun: string,
  arg: readonly Value[],
): Promise<Partial<Outcome>> {
  try {
    return await runFunction(surroundings, { jid: textField(load, "jid") ?? "", fun, publish: load }, arg);
  } catch (error) {
    surroundings.log.warn(`${exceptionText}: ${error instanceof Error ? error.message : String(error)}`);
    return { value: surroundings.functions.has(fun) ? tracebackOf(error) : notCallable };
  }
}

/** Python's error when Salt calls a function that does not exist. */
const notCallable = "Traceback (most recent call last):\nTypeError: 'str' object is not callable\n";

function trailerOf(load: ValueMap, fun: Encodable): JobReturn {
  return { jid: load.get("jid"), fun, fun_args: load.get("arg"), user: load.get("user") };
}

function argumentsOf(arg: Value | undefined): readonly Value[] {
  return Array.isArray(arg) ? arg : [];
}
