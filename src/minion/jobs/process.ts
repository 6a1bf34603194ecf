/**
 * A process that runs jobs, one at a time. pool.ts starts it, messages.ts is its contract, and a signal kills it.
 * It stays alive between jobs, so that a quick job does not wait for the start of a process.
 */
import { hasCode, SaltworksError } from "../../errors.ts";
import { strOf } from "../../python/repr.ts";
import { listField, mapField } from "../../wire/fields.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { Surroundings } from "../functions/call-context.ts";
import type { Host, MinionFacts } from "../functions/host.ts";
import { JobRecords } from "../functions/job-records.ts";
import { type JobReturn, runJob } from "../functions/job-return.ts";
import type { Extras } from "../functions/module-contract.ts";
import { failureRetcode, membersOf, runScheduled, type ScheduledCall } from "../functions/scheduled-return.ts";
import { loadModules } from "../modules/registry.ts";
import type { ReturnerTable } from "../returners/contract/returner.ts";
import { choiceOf, recordOf, returnersOf, withFailures } from "../returners/job-record.ts";
import { loadReturners, returnerDocs } from "../returners/registry.ts";
import { passOn, refusalOf, refusals } from "../returners/run.ts";
import type { Ask, FromJobProcess, LogLevel, ToJobProcess } from "./messages.ts";

type Waiting = { readonly resolve: (value: Value) => void; readonly reject: (error: Error) => void };

const waiting = new Map<number, Waiting>();
let lastAsk = 0;
let facts: MinionFacts = { grains: new Map(), pillar: new Map() };
let surroundings: Surroundings | undefined;
let table: ReturnerTable = new Map();

function send(message: FromJobProcess, onSent: () => void = () => undefined): void {
  process.send?.(message, onSent);
}

function ask(question: Ask): Promise<Value> {
  lastAsk += 1;
  const number = lastAsk;
  return new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    send({ kind: "ask", number, ask: question });
  });
}

const host: Host = {
  fireMaster: async (tag, data) => (await ask({ call: "fireMaster", tag, data: encode(data, "bin") })) === true,
  fireMinion: async (tag, data) => {
    await ask({ call: "fireMinion", tag, data: encode(data, "bin") });
  },
  masterRequest: (load) => ask({ call: "masterRequest", data: encode(load, "bin") }),
  compilePillar: async (options) => mapOf(await ask({ call: "compilePillar", data: encode(options, "bin") })),
  setGrains: async (change) => {
    await ask({ call: "setGrains", data: encode(change, "bin") });
  },
};

function log(level: LogLevel): (text: string) => void {
  return (text) => send({ kind: "log", level, text });
}

function mapOf(value: Value): ValueMap {
  if (value instanceof Map) return value;
  throw new SaltworksError("WIRE_MALFORMED", "a message to a job process that is not a map");
}

/** What the program that started the minion provides to functions. */
async function extrasAt(url: string | undefined): Promise<Extras | undefined> {
  if (url === undefined) return undefined;
  const { minionExtras } = (await import(url)) as { readonly minionExtras: Extras };
  return minionExtras;
}

function scheduledCallIn(map: ValueMap): ScheduledCall {
  const part = (name: string): ValueMap => mapField(map, name) ?? new Map();
  const list = (name: string): readonly Value[] => listField(map, name) ?? [];
  return {
    record: part("record"),
    args: list("args"),
    kwargs: part("kwargs"),
    returners: list("returners").map(strOf),
    choice: part("choice"),
  };
}

function settle(number: number): Waiting | undefined {
  const found = waiting.get(number);
  waiting.delete(number);
  return found;
}

function started(): { readonly surroundings: Surroundings; readonly table: ReturnerTable } {
  if (surroundings === undefined) throw new SaltworksError("WIRE_MALFORMED", "a job before the start message");
  return { surroundings, table };
}

/** Sends the return first: no returner holds it up. */
async function runPublished(load: ValueMap): Promise<void> {
  const all = started();
  const { config, log } = all.surroundings;
  const result = await runJob(all.surroundings, load);
  const names = returnersOf(config, load);
  if (names.length === 0) return send({ kind: "done", result: packed(result) });
  send({ kind: "returned", result: packed(withFailures(result, refusals(table, names))) });
  await passOn({ ...all, print: log.info }, names, recordOf(config, result, choiceOf(load)));
  send({ kind: "done" });
}

/** As in Salt, returners of a scheduled job run before it returns, and their failure is the job's. */
async function runAppointed(call: ScheduledCall): Promise<void> {
  const all = started();
  const { config, log } = all.surroundings;
  const result = await runScheduled(all.surroundings, call);
  if (call.returners.length === 0 || result.success !== true) return send({ kind: "done", result: packed(result) });
  const named: JobReturn = { ...result, ...membersOf(call.choice) };
  const failures = await passOn({ ...all, print: log.info }, call.returners, recordOf(config, result, call.choice));
  const isUsed = call.returners.some((name) => failures.has(name) && refusalOf(table, name) === undefined);
  const outcome = isUsed ? { ...named, success: false, retcode: failureRetcode } : named;
  send({ kind: "done", result: packed(withFailures(outcome, failures)) });
}

/** Packs a result. A result that is nested too deeply becomes a failure of the function in the return. */
function packed(result: Encodable): Buffer {
  try {
    return encode(result, "bin");
  } catch (error) {
    if (!hasCode(error, "WIRE_TOO_DEEP")) throw error;
    const text = "The minion function caused an exception: the result is nested too deeply to be packed";
    return encode({ ...(result as object), success: false, return: text, out: "nested", retcode: 1 }, "bin");
  }
}

async function receive(message: ToJobProcess): Promise<void> {
  switch (message.kind) {
    case "start":
      table = loadReturners(message.config);
      surroundings = {
        config: message.config,
        functions: loadModules(message.config, message.environment),
        facts: () => facts,
        host,
        records: await JobRecords.open(message.config.cachedir),
        log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
        extras: await extrasAt(message.extrasUrl),
        returners: () => returnerDocs(table),
      };
      return send({ kind: "ready" });
    case "facts":
      facts = { grains: mapOf(decode(message.grains)), pillar: mapOf(decode(message.pillar)) };
      return;
    case "job":
      return await runPublished(mapOf(decode(message.load)));
    case "scheduled":
      return await runAppointed(scheduledCallIn(mapOf(decode(message.call))));
    case "answer":
      return settle(message.number)?.resolve(decode(message.value));
    case "refusal":
      return settle(message.number)?.reject(new SaltworksError(message.code, message.message));
    default: {
      const never: never = message;
      return never;
    }
  }
}

process.on("message", (message: ToJobProcess) => {
  receive(message).catch((error: unknown) => {
    // A bug outside any function. The pool sees the exit and answers for the job.
    const text = `a job process ends: ${error instanceof Error ? error.stack : String(error)}`;
    send({ kind: "log", level: "error", text }, () => process.exit(1));
  });
});
// Ctrl-C in a terminal signals the whole process group. The minion alone ends its job processes.
process.on("SIGINT", () => undefined);
// Without a listener Node.js would open a debugger.
process.on("SIGUSR1", () => undefined);
process.on("disconnect", () => process.exit(0));
