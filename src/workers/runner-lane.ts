/** The lane for runner and wheel functions: reads the store by itself, asks the main thread for jobs, presence and counters. */
import { join } from "node:path";
import { isMainThread, type MessagePort, workerData } from "node:worker_threads";
import { hasCode, SaltworksError } from "../errors.ts";
import type { JobOutcome, JobRequest, MasterAccess, RunnerContext } from "../runners/contract.ts";
import { runRunner } from "../runners/registry.ts";
import { fieldsOf } from "../runners/stored-body.ts";
import { runWheel } from "../runners/wheel.ts";
import { openLmdbJobCache } from "../store/lmdb-job-cache.ts";
import { decode, encode } from "../wire/msgpack.ts";
import type { Encodable, Value, ValueMap } from "../wire/values.ts";
import type {
  LaneStart,
  RunJobAnswer,
  RunnerAnswer,
  RunnerAsk,
  RunnerResult,
  RunnerStart,
  RunnerTask,
} from "./messages.ts";
import { nameLaneThread } from "./thread-name.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/runner-lane.ts runs in a worker thread only");

const { config, startedThreads } = workerData as RunnerStart & LaneStart;
nameLaneThread("runner", startedThreads);
const jobs = openLmdbJobCache({
  path: join(config.cachedir, "jobs.lmdb"),
  shards: config.store_shards,
  durability: config.job_cache_durability,
});

export default async function handle(task: RunnerTask): Promise<RunnerResult> {
  const context: RunnerContext = { config, jobs, master: askThrough(task.port) };
  try {
    const kwargs = decode(task.kwargs) as ValueMap;
    const value =
      task.kind === "runner"
        ? await runRunner(context, task.fun, decode(task.args) as Value[], kwargs)
        : await runWheel(context, task.fun, kwargs);
    return { value: encode(value, "bin"), success: true };
  } catch (error) {
    return { value: encode(failureText(task.fun, error), "bin"), success: false };
  } finally {
    task.port.close();
  }
}

/** Salt's words where it has them. */
function failureText(fun: string, error: unknown): string {
  if (hasCode(error, "FUNCTION_UNKNOWN")) return (error as Error).message;
  if (hasCode(error, "FUNCTION_ARGUMENTS")) return `Passed invalid arguments: ${(error as Error).message}`;
  return `Exception occurred in runner ${fun}: ${error instanceof Error ? error.message : String(error)}`;
}

type AskBody = RunnerAsk extends infer Ask ? (Ask extends RunnerAsk ? Omit<Ask, "id"> : never) : never;

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
  const ask = (body: AskBody): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      port.postMessage({ id: lastId, ...body });
    });
  return {
    runJob: (request) => runJob(ask, request),
    connected: () => ask({ ask: "connected" }) as Promise<string[]>,
    counters: () => ask({ ask: "counters" }) as Promise<Encodable>,
  };
}

async function runJob(ask: (body: AskBody) => Promise<unknown>, request: JobRequest): Promise<JobOutcome> {
  const answer = (await ask({
    ask: "runJob",
    fun: request.fun,
    arg: encode(request.arg, "raw"),
    target: encode(request.target, "raw"),
    targetKind: request.targetKind,
    timeoutMs: request.timeoutMs,
    gatherTimeoutMs: request.gatherTimeoutMs,
  })) as RunJobAnswer;
  const returns = new Map<string, Value>();
  for (const { id, body } of answer.returns) returns.set(id, fieldsOf(body).get("return") ?? null);
  return { jid: answer.jid, minions: answer.minions, returns, silent: answer.silent };
}
