/** An orchestration's connection to the master: jobs, runner and wheel functions, and events. */
import { join } from "node:path";
import { EventWatch } from "../../client/event-watch.ts";
import type { MasterClient } from "../../client/master-client.ts";
import type { MasterConfig } from "../../config/schema.ts";
import type { JobAnswers, JobAsk, MasterPort, MinionAnswer } from "../../states/modules/orchestrate/port.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, Value } from "../../wire/values.ts";

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
  const { target, targetKind, fun, args, kwargs, ret, timeoutSeconds } = ask;
  const keywords = new Map<Value, Value>([["__kwarg__", true], ...kwargs]);
  const job = await client.run({
    target,
    targetKind,
    fun,
    args: kwargs.size > 0 ? [...args, keywords] : args,
    ret,
    follow: {
      timeoutSeconds: timeoutSeconds ?? config.timeout,
      gatherTimeoutSeconds: config.gather_job_timeout,
    },
  });
  if (job === undefined) return { jid: undefined, minions: new Map() };
  const minions = new Map<string, MinionAnswer>();
  try {
    for await (const event of job.events()) {
      const isReturn = event.kind === "return";
      if (isReturn) minions.set(event.id, { value: event.value, retcode: event.retcode });
      else if (event.kind === "silent") minions.set(event.id, { value: undefined, retcode: 0 });
    }
  } finally {
    job.close();
  }
  return { jid: job.jid, minions };
}

async function* eventsOf(config: MasterConfig, signal: AbortSignal) {
  const watch = await EventWatch.open(join(config.sock_dir, "master_event_pub.ipc"), signal);
  for await (const { tag, data } of watch.events()) yield { tag, data: decode(data) };
}
