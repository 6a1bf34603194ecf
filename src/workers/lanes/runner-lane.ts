/** The lane for runner and wheel functions. It reads the store itself and asks the main thread for jobs, presence and counters. */
import { isMainThread, type MessagePort, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { fileServerSettings } from "../../fileserver/backends/contract/settings.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import { runnerAnswerBytesMax, runnerEventBytesMax, storedResultBytesMax } from "../../limits.ts";
import { callFunction, failureText } from "../../runners/contract/call.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "../../runners/contract/contract.ts";
import { fieldsOf } from "../../runners/jobs/stored-body.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { wheelFunctions } from "../../runners/wheel.ts";
import { nothing } from "../../wire/edit.ts";
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

const { config, environment, startedThreads, turns } = workerData as RunnerStart & LaneStart;
answerForMeasures(nameLaneThread("runner", startedThreads));
countTurns(turns);
const stores = new RunnerStores(config);
const files = new FileServer(fileServerSettings(config, environment));

export default async function handle(task: RunnerTask): Promise<RunnerResult> {
  const { fun, caller, port } = task;
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const callerEvents = { count: 0 };
  const functions = caller.kind === "runner" ? runnerFunctions : wheelFunctions;
  try {
    const context: RunnerContext = {
      config,
      environment,
      ...stores.open(),
      files,
      master: askThrough(port),
      caller,
      note,
      callerEvents,
    };
    const args = decode(task.args) as Value[];
    const kwargs = decode(task.kwargs) as ValueMap;
    const value = await stores.noting(note, () => callFunction(functions, context, fun, args, kwargs));
    const answer = answerOf(value, caller.isByEvent === true);
    return { ...answer, success: true, notes, faults: stores.takeFaults(), callerEvents: callerEvents.count };
  } catch (error) {
    const text = failureText(functions, caller.kind, fun, error);
    return {
      value: encode(text, "bin"),
      reply: encode(text, "raw"),
      success: false,
      ...(error instanceof SaltworksError ? { code: error.code } : {}),
      notes,
      faults: stores.takeFaults(),
      callerEvents: callerEvents.count,
    };
  } finally {
    port.close();
  }
}

/** Smaller answers, bytes, are not checked: their decoding never exceeds a bound. */
const checkedAnswerBytes = 1024 * 1024;
/** The lists around an answer, one byte each, while its depth is checked: a reply and a stored call have it two levels deep. */
const answerLevels = 2;

/**
 * Prepares the answer for the caller, the event and the job cache. The main thread, on which minions wait, decodes no answer: a minion may have made it.
 *
 * @throws SaltworksError FUNCTION_FAILED for an answer that is too large for any caller, WIRE_TOO_DEEP for one that its readers could not decode
 */
function answerOf(value: Encodable, isByEvent: boolean): Pick<RunnerResult, "value" | "reply" | "event"> {
  const answer = encode([[value]], "bin").subarray(answerLevels);
  if (answer.byteLength >= checkedAnswerBytes) checkSize(answer);
  const isStored = answer.byteLength <= Math.max(storedResultBytesMax, config.max_event_size);
  return {
    value: isStored ? answer : encode(trimmedText, "bin"),
    reply: isByEvent ? nothing : encode(value, "raw"),
    ...eventOf(answer),
  };
}

/** @throws SaltworksError FUNCTION_FAILED */
function checkSize(answer: Uint8Array): void {
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
  } catch (error) {
    throw tooLarge(error);
  }
}

/** Estimate of an event's bytes beside the value: tag, function, arguments and times. Long arguments make a longer event. */
const eventRestBytes = 512;
/** Bytes of the head and the key of the map `{return: …}`, in which a value is trimmed. */
const returnHeadBytes = 8;

/**
 * The value in the call's last event, for which Salt's clients wait. In a map that exceeds `max_event_size`, each large member is cut, as in Salt;
 * other values stay whole. `GET /jobs` of Salt's API lists ten thousand jobs in one event. A value over `runnerEventBytesMax` is replaced by a text.
 */
function eventOf(answer: Uint8Array): Pick<RunnerResult, "event"> {
  if (answer.byteLength + eventRestBytes <= config.max_event_size) return {};
  if (answer.byteLength > runnerEventBytesMax) return { event: encode(trimmedText, "bin") };
  const data = encode(new Map([["return", new Packed(answer)]]), "bin");
  return { event: trimData(data, config.max_event_size - eventRestBytes).subarray(returnHeadBytes) };
}

type Ask = (name: keyof MasterAccess, question: unknown) => Promise<unknown>;

/** Implements `MasterAccess` by questions over the port. The values of a job travel packed. */
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
