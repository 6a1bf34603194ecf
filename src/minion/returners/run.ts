/**
 * Passes a job's return on to returners, one after the other, each with a deadline and a copy of its own.
 * A failure goes to the log, to the minion's event bus and to the master's. Source: Salt 3007's minion.
 */
import { within } from "../../deadline.ts";
import { returnerTimeoutMs } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { asValue, type Value, type ValueMap } from "../../wire/values.ts";
import type { Surroundings } from "../functions/call-context.ts";
import { returnerError, returnerUnavailable } from "./contract/errors.ts";
import { isInstalled, loadLibrary, missingText } from "./contract/library.ts";
import type { Passing, Returner, ReturnerTable } from "./contract/returner.ts";
import { ReturnerSettings } from "./contract/settings.ts";

/** Texts of failures by the name of the returner. Empty if all went well. */
export type Failures = Map<string, string>;

/** Tag of the event that reports a failure, on the minion's bus and on the master's, which takes it only from that minion. */
export function failureTag(minionId: string): string {
  return `saltworks/minion/${minionId}/returner_failed`;
}

export type PassingOptions = {
  readonly surroundings: Surroundings;
  readonly table: ReturnerTable;
  readonly print: (line: string) => void;
  /** For tests. */
  readonly timeoutMs?: number;
};

/** The names of a list such as `mysql,redis`, each once. */
export function namesIn(...lists: readonly Value[]): string[] {
  const texts = lists.flatMap((list) => (Array.isArray(list) ? list : [list]));
  const names = texts.flatMap((text) => (typeof text === "string" ? text.split(",") : []));
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Why returners cannot be used, by name: unknown, disabled, or without their library. */
export function refusals(table: ReturnerTable, names: readonly string[]): Failures {
  const failures: Failures = new Map();
  for (const name of names) {
    const why = refusalOf(table, name);
    if (why !== undefined) failures.set(name, why);
  }
  return failures;
}

export function refusalOf(table: ReturnerTable, name: string): string | undefined {
  const returner = table.get(name);
  if (returner === undefined) return `'${name}.returner' is not available.`;
  const missing = returner.libraries?.find((library) => !isInstalled(library));
  return missing === undefined ? returner.refusal?.() : missingText(name, missing);
}

/** Resolves to the failures, all of them reported. `ret`: the return with its id, `ret_config` and `ret_kwargs`. */
export async function passOn(options: PassingOptions, names: readonly string[], ret: ValueMap): Promise<Failures> {
  const failures: Failures = new Map();
  for (const name of names) {
    const failure = await passOnce(options, name, ret);
    if (failure === undefined) continue;
    failures.set(name, failure);
    await report(options.surroundings, name, failure, ret);
  }
  return failures;
}

async function passOnce(options: PassingOptions, name: string, ret: ValueMap): Promise<string | undefined> {
  const timeoutMs = options.timeoutMs ?? returnerTimeoutMs;
  const ending = new AbortController();
  const late = () => {
    ending.abort();
    throw returnerError(`not done after ${timeoutMs / 1_000} seconds`);
  };
  try {
    await within(start(options, name, ret, ending.signal), timeoutMs, late);
    return undefined;
  } catch (error) {
    return textOf(error);
  } finally {
    ending.abort();
  }
}

async function start(
  options: PassingOptions,
  name: string,
  ret: ValueMap,
  signal: AbortSignal,
  passedBy: readonly string[] = [],
): Promise<void> {
  const { surroundings, table, print } = options;
  const why = refusalOf(table, name);
  const found: Returner | undefined = table.get(name);
  if (why !== undefined || found === undefined) throw returnerUnavailable(name, why ?? name);
  if (passedBy.includes(found.name)) throw returnerError(`${found.name} passes returns to itself`);
  const { config, log, extras, facts } = surroundings;
  const context = { config, grains: () => facts().grains, pillar: () => facts().pillar };
  const own = asValue(ret) as ValueMap;
  const passing: Passing = {
    ret: own,
    config,
    settings: new ReturnerSettings(context, own),
    log,
    extras,
    signal,
    grains: facts().grains,
    print,
    load: loadLibrary,
    passTo: (other) => start(options, other, ret, signal, [...passedBy, found.name]),
  };
  await found.returner(passing);
}

/** Node.js reports a refused connection to several addresses as an error without a text. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(textOf))].join("; ");
  if (!(error instanceof Error)) return String(error);
  const reason = error.cause instanceof Error && !error.message.includes(error.cause.message) ? error.cause : undefined;
  const text = error.message === "" && "code" in error ? String(error.code) : error.message;
  return reason === undefined ? text : `${text}: ${textOf(reason)}`;
}

async function report(
  { host, log, config }: Surroundings,
  name: string,
  failure: string,
  ret: ValueMap,
): Promise<void> {
  const jid = strOf(ret.get("jid") ?? null);
  log.error(`The return failed for job ${jid}: ${name}: ${failure}`);
  const data = { jid, fun: ret.get("fun"), id: ret.get("id"), returner: name, error: failure };
  try {
    await host.fireMinion(failureTag(config.id), data);
    await host.fireMaster(failureTag(config.id), data);
  } catch (error) {
    log.warn(`the failure of returner ${name} was not sent as an event: ${textOf(error)}`);
  }
}
