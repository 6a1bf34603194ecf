/** Running jobs: on minions, which it asks, and in the master itself. */

import { allReturns } from "../../store/jobs/job-cache.ts";
import { startTimeText } from "../../wire/jid.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf } from "../contract/arguments.ts";
import { progress } from "../contract/caller-events.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { masterOf } from "../contract/run-job.ts";
import { describe } from "./shape.ts";

/** Asks every minion for its running jobs. One entry per job, with the minions that run it and the minions that have returned. */
async function active(context: RunnerContext, args: ValueMap): Promise<Encodable> {
  const { timeout, gather_job_timeout: gatherSeconds } = context.config;
  const outcome = await masterOf(context).runJob({
    fun: "saltutil.running",
    arg: [],
    target: "*",
    targetKind: "glob",
    timeoutMs: timeout * 1_000,
    gatherTimeoutMs: gatherSeconds * 1_000,
  });
  const jobs = new Map<string, Map<string, Encodable>>();
  const running = new Map<string, Encodable[]>();
  for (const [id, value] of outcome.returns) {
    if (args.get("display_progress") === true) await progress(context, { message: `Received reply from minion ${id}` });
    for (const record of Array.isArray(value) ? value : []) {
      if (!(record instanceof Map)) continue;
      const jid = String(record.get("jid"));
      const where = running.get(jid) ?? [];
      where.push(new Map([[id, record.get("pid") ?? null]]));
      running.set(jid, where);
      if (!jobs.has(jid)) jobs.set(jid, describe(record).set("StartTime", startTimeText(jid)));
    }
  }
  for (const [jid, described] of jobs) {
    const returned: string[] = [];
    for await (const { minionId } of allReturns(context.jobs, jid)) returned.push(minionId);
    described.set("Running", running.get(jid) ?? []).set("Returned", returned);
  }
  return jobs;
}

/** Running runner calls, except this one. */
async function master(context: RunnerContext): Promise<Encodable> {
  const calls = await masterOf(context).runningCalls();
  return calls
    .filter(({ jid }) => jid !== context.caller?.jid)
    .map(({ jid, fun, user, pid }) => ({ fun, jid, user, pid }));
}

export const jobsRunning: readonly (readonly [string, RunnerFunction])[] = [
  [
    "jobs.active",
    {
      parameters: parametersOf("display_progress"),
      doc: "Running jobs by job id, with the minions that run them.",
      run: active,
    },
  ],
  ["jobs.master", { parameters: [], doc: "Runner calls that the master is executing.", run: master }],
];
