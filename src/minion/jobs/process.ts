/**
 * A process that runs jobs, one at a time. pool.ts starts it, messages.ts is its contract, and a signal kills it.
 * It lives on between jobs, so that a quick job does not pay for the start of a process.
 */
import { hasCode, SaltworksError } from "../../errors.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import type { Surroundings } from "../functions/call-context.ts";
import type { Host, MinionFacts } from "../functions/host.ts";
import { JobRecords } from "../functions/job-records.ts";
import { runJob } from "../functions/job-return.ts";
import type { Extras } from "../functions/module-contract.ts";
import { runScheduled } from "../functions/scheduled-return.ts";
import { loadModules } from "../modules/registry.ts";
import type { Ask, FromJobProcess, LogLevel, ToJobProcess } from "./messages.ts";

type Waiting = { readonly resolve: (value: Value) => void; readonly reject: (error: Error) => void };

const waiting = new Map<number, Waiting>();
let lastAsk = 0;
let facts: MinionFacts = { grains: new Map(), pillar: new Map() };
let surroundings: Surroundings | undefined;

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

function settle(number: number): Waiting | undefined {
  const found = waiting.get(number);
  waiting.delete(number);
  return found;
}

async function finish(work: (surroundings: Surroundings) => Promise<Encodable>): Promise<void> {
  if (surroundings === undefined) throw new SaltworksError("WIRE_MALFORMED", "a job before the start message");
  const result = await work(surroundings);
  send({ kind: "done", result: packed(result) });
}

/** A result that does not fit into a message is the function's fault, which the return says. */
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
      surroundings = {
        config: message.config,
        functions: loadModules(message.config, message.environment),
        facts: () => facts,
        host,
        records: await JobRecords.open(message.config.cachedir),
        log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
        extras: await extrasAt(message.extrasUrl),
      };
      return send({ kind: "ready" });
    case "facts":
      facts = { grains: mapOf(decode(message.grains)), pillar: mapOf(decode(message.pillar)) };
      return;
    case "job":
      return await finish((all) => runJob(all, mapOf(decode(message.load))));
    case "scheduled": {
      const args = decode(message.args);
      const call = { record: mapOf(decode(message.record)), kwargs: mapOf(decode(message.kwargs)) };
      return await finish((all) => runScheduled(all, { ...call, args: Array.isArray(args) ? args : [] }));
    }
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
// Ctrl-C in a terminal reaches every process of the group, but the minion decides what ends, and when.
process.on("SIGINT", () => undefined);
// Without a listener Node.js would open a debugger.
process.on("SIGUSR1", () => undefined);
process.on("disconnect", () => process.exit(0));
