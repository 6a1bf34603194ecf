/**
 * Single runs of a scheduled job: `schedule.run_job`, `postpone_job`, `skip_job`, `show_next_fire_time`, `job_status`.
 * Source: Salt 3007's `schedule` module.
 */

import { strOf } from "../../../python/repr.ts";
import { formatDate, parseByFormat, standardFormat } from "../../../python/strftime.ts";
import { isTrue } from "../../../python/values.ts";
import { timeTextFormat, timeTextOf } from "../../../schedule/job.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument, ownKeywords } from "../declare/signature.ts";
import { askScheduler, listSchedule, scheduleIn, tellScheduler } from "./ask.ts";
import { type Answer, requestForJob } from "./change.ts";

export async function runJob(context: CallContext, args: BoundArguments): Promise<Answer> {
  const name = strOf(argument(args, "name"));
  const job = (await listSchedule(context, { isHiddenShown: true })).get(name);
  if (!(job instanceof Map)) return { comment: `Job ${name} does not exist.`, result: false };
  const isForced = isTrue(argument(args, "force"));
  if (!isForced && job.has("enabled") && !isTrue(job.get("enabled") ?? null)) {
    return { comment: `Job ${name} is disabled.`, result: true };
  }
  await tellScheduler(context, { name, func: "run_job" });
  return { comment: `Scheduling Job ${name} on minion.`, result: true };
}

const refused = (comment: string): Answer => ({ comment, result: false });

export async function postpone(context: CallContext, args: BoundArguments): Promise<Answer> {
  const format = formatOf(args);
  for (const [time, missing] of [
    ["current_time", "Job current time is required."],
    ["new_time", "Job new_time is required."],
  ] as const) {
    const fault = faultOfTime(argument(args, time), format, missing);
    if (fault !== undefined) return refused(fault);
  }
  const times = { time: argument(args, "current_time"), new_time: argument(args, "new_time"), time_fmt: format };
  return await appoint(context, args, times, {
    func: "postpone_job",
    would: "postponed",
    done: (name) => `Postponed Job ${name} in schedule.`,
    failed: (name) => `Failed to postpone job ${name} in schedule.`,
  });
}

export async function skip(context: CallContext, args: BoundArguments): Promise<Answer> {
  const format = formatOf(args);
  const fault = faultOfTime(argument(args, "current_time"), format, "Date string could not be parsed.");
  if (fault !== undefined) return refused(fault);
  const times = { time: argument(args, "current_time"), time_fmt: format };
  return await appoint(context, args, times, {
    func: "skip_job",
    would: "skipped",
    done: (name) => `Added Skip Job ${name} in schedule.`,
    failed: (name) => `Failed to skip job ${name} in schedule.`,
  });
}

function formatOf(args: BoundArguments): string {
  const format = ownKeywords(args).get("time_fmt") ?? null;
  return isTrue(format) ? strOf(format) : standardFormat;
}

function faultOfTime(time: Value, format: string, missing: string): string | undefined {
  if (!isTrue(time)) return missing;
  const isRead = typeof time === "string" && parseByFormat(time, format) !== undefined;
  return isRead ? undefined : "Date string could not be parsed.";
}

type Texts = {
  readonly func: "postpone_job" | "skip_job";
  readonly would: string;
  readonly done: (name: string) => string;
  readonly failed: (name: string) => string;
};

async function appoint(
  context: CallContext,
  args: BoundArguments,
  times: { readonly [name: string]: Value },
  texts: Texts,
): Promise<Answer> {
  const name = strOf(argument(args, "name"));
  if (name === "") return refused("Job name is required.");
  if (context.config.opts.get("test") === true) {
    return { comment: `Job: ${name} would be ${texts.would} in schedule.`, result: true };
  }
  const asked = await requestForJob(context, name, { ...times, name, func: texts.func }, new Map());
  if (asked === undefined) return refused(`Job ${name} does not exist.`);
  const answer = await askScheduler(context, asked, `${texts.func}_complete`);
  if (answer === undefined) return { comment: [], result: true };
  const job = scheduleIn(answer).get(name);
  const isEnabled = job instanceof Map && isTrue(job.get("enabled") ?? true);
  return isEnabled ? { comment: texts.done(name), result: true } : refused(texts.failed(name));
}

export async function showNextFireTime(context: CallContext, args: BoundArguments): Promise<Answer> {
  const name = strOf(argument(args, "name"));
  const answer = await askScheduler(context, { name, func: "get_next_fire_time" }, "next_fire_time_complete");
  const next = answer?.get("next_fire_time");
  if (next === undefined) return { result: true, comment: "next fire time not available." };
  return { result: true, next_fire_time: next };
}

/** The scheduler's status of a job, with times in the wanted format. */
export async function jobStatus(context: CallContext, args: BoundArguments): Promise<Encodable> {
  const asked = { func: "job_status", name: strOf(argument(args, "name")), fire_event: true };
  const data = (await askScheduler(context, asked, "job_status_complete"))?.get("data");
  const format = strOf(argument(args, "time_fmt"));
  const status: ValueMap = new Map();
  for (const [member, value] of data instanceof Map ? data : []) {
    const text = timeTextOf(value);
    const moment = text === undefined ? undefined : parseByFormat(text, timeTextFormat);
    status.set(member, moment === undefined ? value : formatDate(moment, format));
  }
  return status;
}
