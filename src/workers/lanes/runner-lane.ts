/** The lane for runner and wheel functions. It reads the store itself and asks the main thread for jobs, presence and counters. */
import { isMainThread, type MessagePort, workerData } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { fileServerSettings } from "../../fileserver/backends/contract/settings.ts";
import { FileServer } from "../../fileserver/file-server.ts";
import { packedAnswer } from "../../runners/contract/answer.ts";
import { callFunction, failureText } from "../../runners/contract/call.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "../../runners/contract/contract.ts";
import { fieldsOf } from "../../runners/jobs/stored-body.ts";
import { runnerFunctions } from "../../runners/registry.ts";
import { wheelFunctions } from "../../runners/wheel.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
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
import { pythonFilesOf } from "../python-files.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { countTurns } from "../threads/turns.ts";
import { RunnerStores } from "./runner-stores.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/runner-lane.ts runs in a worker thread only");

const { config, environment, startedThreads, turns } = workerData as RunnerStart & LaneStart;
answerForMeasures(nameLaneThread("runner", startedThreads));
countTurns(turns);
const stores = new RunnerStores(config, environment);
const files = new FileServer(fileServerSettings(config, environment, pythonFilesOf(config, environment)));

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
    const answer = packedAnswer(value, caller.isByEvent === true, config.max_event_size);
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
