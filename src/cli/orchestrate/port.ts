/** An orchestration's connection to the master: jobs, runner and wheel functions, and events. */
import { join } from "node:path";
import { EventWatch } from "../../client/event-watch.ts";
import type { JobRequest } from "../../client/job-request.ts";
import type { MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import type { JobAnswers, JobAsk, MasterPort, MinionAnswer } from "../../states/modules/orchestrate/port.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import { chooseSubset, modulesOf } from "../commands/salt/subset.ts";

export function masterPort(config: MasterConfig, client: MasterClient): MasterPort {
  return {
    runJob: (ask) => runJob(config, client, ask),
    runRunner: async (fun, args, kwargs) => {
      const { value, isSuccess, jid } = await client.runner(fun, args, kwargs);
      return { value, isSuccess, jid };
    },
    runWheel: async (fun, kwargs) => {
      const named = Object.fromEntries([...kwargs].map(([key, value]): [string, Encodable] => [String(key), value]));
      const { value, isSuccess, jid } = await client.wheel(fun, named);
      return { value, isSuccess, jid };
    },
    events: (signal) => eventsOf(config, signal),
  };
}

async function runJob(config: MasterConfig, client: MasterClient, ask: JobAsk): Promise<JobAnswers> {
  const { args, kwargs } = ask;
  const keywords = new Map<Value, Value>([["__kwarg__", true], ...kwargs]);
  const request: FollowedJob = {
    target: ask.target,
    targetKind: ask.targetKind,
    fun: ask.fun,
    args: kwargs.size > 0 ? [...args, keywords] : args,
    ret: ask.ret,
    kwargs: ask.returnerSettings,
    follow: {
      timeoutSeconds: ask.timeoutSeconds ?? config.timeout,
      gatherTimeoutSeconds: config.gather_job_timeout,
    },
  };
  const chosen = ask.subset === undefined ? request : await someOf(client, request, ask.fun, ask.subset);
  if (chosen === undefined) return noAnswers;
  return ask.batch === undefined ? await atOnce(client, chosen) : await inBatches(client, chosen, ask.batch);
}

type FollowedJob = JobRequest & { readonly follow: NonNullable<JobRequest["follow"]> };
const noAnswers: JobAnswers = { jid: undefined, minions: new Map() };

/** The job for `count` minions that have the function. */
async function someOf(
  client: MasterClient,
  request: FollowedJob,
  fun: string,
  count: number,
): Promise<FollowedJob | undefined> {
  const { target, targetKind, follow } = request;
  const question = { target, targetKind, follow, fun: "sys.list_functions", args: modulesOf([fun]) };
  const asked = await client.run(question);
  if (asked === undefined) return undefined;
  try {
    const ids = await chooseSubset(asked.minions, asked.events(), [fun], count);
    return ids.length === 0 ? undefined : { ...request, target: ids, targetKind: "list" };
  } finally {
    asked.close();
  }
}

/** Minions that a list names and the master does not know count as silent, as in Salt. */
async function atOnce(client: MasterClient, request: FollowedJob): Promise<JobAnswers> {
  const job = await client.run(request);
  if (job === undefined) return noAnswers;
  const minions = new Map<string, MinionAnswer>();
  try {
    for await (const event of job.events()) {
      const isReturn = event.kind === "return";
      minions.set(event.id, isReturn ? { value: event.value, retcode: event.retcode } : silent);
    }
  } finally {
    job.close();
  }
  return { jid: job.jid, minions };
}

const silent: MinionAnswer = { value: undefined, retcode: 0 };

async function inBatches(
  client: MasterClient,
  request: FollowedJob,
  { size, isFailHard }: NonNullable<JobAsk["batch"]>,
): Promise<JobAnswers> {
  const options = { size, isFailHard, waitSeconds: 0, canary: 0, failuresMax: undefined, isStatic: false };
  const batch = await client.batch({ ...request, batch: options });
  if (batch === undefined) return noAnswers;
  const minions = new Map<string, MinionAnswer>();
  try {
    for await (const { entry, returned } of batch.events()) {
      if (returned !== undefined) minions.set(returned.id, { value: returned.value, retcode: returned.retcode });
      else if (entry.kind === "silent") for (const id of entry.ids) minions.set(id, silent);
    }
  } finally {
    batch.close();
  }
  return { jid: batch.jid, minions };
}

async function* eventsOf(config: MasterConfig, signal: AbortSignal) {
  const watch = await EventWatch.open(join(config.sock_dir, "master_event_pub.ipc"), signal);
  for await (const { tag, data } of watch.events()) yield { tag, data: decode(data) };
}
