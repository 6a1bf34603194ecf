/** The lane for runner and wheel functions. It reads the store itself and asks the main thread for jobs, presence and counters. */
import { isMainThread, type MessagePort, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import { fileServerSettings } from "../../fileserver/settings.ts";
import { runnerAnswerBytesMax, runnerEventBytesMax, storedResultBytesMax } from "../../limits.ts";
import { callFunction, failureText } from "../../runners/contract/call.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "../../runners/contract/contract.ts";
import { fieldsOf } from "../../runners/jobs/stored-body.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { wheelFunctions } from "../../runners/wheel.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { trimData, trimmedText } from "../../wire/return.ts";
import { type Encodable, Packed, type Value, type ValueMap } from "../../wire/values.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type {
  RunJobAnswer,
  RunJobAsk,
  RunnerAnswer,
  RunnerAsk,
  RunnerResult,
  RunnerStart,
  RunnerTask,
} from "../messages/runner.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { countTurns } from "../threads/turns.ts";
import { RunnerStores } from "./runner-stores.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/runner-lane.ts runs in a worker thread only");

const { config, startedThreads, turns } = workerData as RunnerStart & LaneStart;
answerForMeasures(nameLaneThread("runner", startedThreads));
countTurns(turns);
const stores = new RunnerStores(config);
const files = new FileServer(fileServerSettings(config));

export default async function handle(task: RunnerTask): Promise<RunnerResult> {
  const { fun, caller, port } = task;
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const told = { count: 0 };
  const functions = caller.kind === "runner" ? runnerFunctions : wheelFunctions;
  try {
    const context: RunnerContext = { config, ...stores.open(), files, master: askThrough(port), caller, note, told };
    const args = decode(task.args) as Value[];
    const kwargs = decode(task.kwargs) as ValueMap;
    const value = await stores.noting(note, () => callFunction(functions, context, fun, args, kwargs));
    return { ...answerOf(value), success: true, notes, faults: stores.takeFaults(), told: told.count };
  } catch (error) {
    return {
      value: encode(failureText(functions, caller.kind, fun, error), "bin"),
      success: false,
      notes,
      faults: stores.takeFaults(),
      told: told.count,
    };
  } finally {
    port.close();
  }
}

/** Answers below this, bytes, are never too much to decode. */
const checkedAnswerBytes = 1024 * 1024;

/**
 * Prepares a large answer for its caller here, so that the main thread, which minions wait for, does not decode it.
 *
 * @throws SaltworksError FUNCTION_FAILED for an answer that no caller could take
 */
function answerOf(value: Encodable): Pick<RunnerResult, "value" | "reply" | "event"> {
  const answer = encode(value, "bin");
  const event = eventOf(answer);
  if (answer.byteLength < checkedAnswerBytes) return { value: answer, ...event };
  const tooLarge = (cause?: unknown) =>
    new SaltworksError(
      "FUNCTION_FAILED",
      `the answer of ${answer.byteLength} bytes is too large: ask for less at a time`,
      {},
      { cause },
    );
  if (answer.byteLength > runnerAnswerBytesMax) throw tooLarge();
  try {
    decode(answer);
    if (answer.byteLength <= Math.max(storedResultBytesMax, config.max_event_size)) return { value: answer, ...event };
    return { value: encode(trimmedText, "bin"), reply: encode(value, "raw"), ...event };
  } catch (error) {
    throw tooLarge(error);
  }
}

/** Bytes of an event beside the value: tag, function, arguments and times. Long arguments make a longer event. */
const eventRestBytes = 512;
/** A value is trimmed inside a map of one entry: bytes of its head and the key `return`. */
const returnHeadBytes = 8;

/**
 * The value for Salt's clients, which wait for the call's last event. It is whole whatever its size; only in a map that is too large, each
 * large value is cut. Salt does the same: its `GET /jobs` lists ten thousand jobs in one event.
 */
function eventOf(answer: Uint8Array): Pick<RunnerResult, "event"> {
  if (answer.byteLength + eventRestBytes <= config.max_event_size) return {};
  if (answer.byteLength > runnerEventBytesMax) return { event: encode(trimmedText, "bin") };
  const data = encode(new Map([["return", new Packed(answer)]]), "bin");
  return { event: trimData(data, config.max_event_size - eventRestBytes).subarray(returnHeadBytes) };
}

type Ask = (name: keyof MasterAccess, question: unknown) => Promise<unknown>;

/** Turns each name of `MasterAccess` into a question over the port. A job's values travel packed. */
function askThrough(port: MessagePort): MasterAccess {
  let lastId = 0;
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  port.on("message", (answer: RunnerAnswer) => {
    const waiter = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.ok) waiter?.resolve(answer.value);
    else waiter?.reject(new SaltworksError("FUNCTION_FAILED", answer.message, { reason: answer.code }));
  });
  port.on("close", () => {
    for (const waiter of waiting.values())
      waiter.reject(new SaltworksError("CHANNEL_CLOSED", "the master is shutting down"));
  });
  const ask: Ask = (name, question) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      port.postMessage({ id: lastId, name, question } satisfies RunnerAsk);
    });
  return new Proxy({} as MasterAccess, {
    get: (_, name) => (question: unknown) =>
      name === "runJob" ? runJob(ask, question as JobRequest) : ask(name as keyof MasterAccess, question),
  });
}

async function runJob(ask: Ask, request: JobRequest): Promise<JobOutcome> {
  const packed: RunJobAsk = { ...request, arg: encode(request.arg, "raw"), target: encode(request.target, "raw") };
  const answer = (await ask("runJob", packed)) as RunJobAnswer;
  const returns = new Map<string, Value>();
  const retcodes = new Map<string, number>();
  for (const { id, body } of answer.returns) {
    const fields = fieldsOf(body);
    returns.set(id, fields.get("return") ?? null);
    retcodes.set(id, Number(fields.get("retcode") ?? 0));
  }
  return { jid: answer.jid, minions: answer.minions, returns, retcodes, silent: answer.silent };
}
