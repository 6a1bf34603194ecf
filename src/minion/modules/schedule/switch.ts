/**
 * Switches the schedule and its jobs: `schedule.enable`, `disable`, `enable_job`, `disable_job`, `save`, `reload`.
 * Source: Salt 3007's `schedule` module.
 */

import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import type { ValueMap } from "../../../wire/values.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { argument, ownKeywords } from "../declare/signature.ts";
import { askScheduler, reloadText, scheduleIn, tellScheduler } from "./ask.ts";
import { type Answer, isGiven, isPersisted, requestForJob } from "./change.ts";
import { parseScheduleText } from "./text.ts";

type Words = { readonly verb: string; readonly done: string; readonly wanted: boolean };

export const enabling: Words = { verb: "enable", done: "enabled", wanted: true };
export const disabling: Words = { verb: "disable", done: "disabled", wanted: false };

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

export async function switchJob(context: CallContext, args: BoundArguments, words: Words): Promise<Answer> {
  const given = ownKeywords(args);
  const name = strOf(argument(args, "name"));
  const { verb, done, wanted } = words;
  // Salt reads `test` for enabling from the configuration, and for disabling from the arguments.
  const isTest = wanted ? context.config.opts.get("test") === true : isGiven(given, "test");
  if (isTest) return { comment: `Job: ${name} would be ${done} in schedule.`, result: true, changes: {} };
  const asked = await requestForJob(context, name, { name, func: `${verb}_job` }, given);
  if (asked === undefined) return { comment: `Job ${name} does not exist.`, result: false, changes: {} };
  const answer = await askScheduler(context, asked, `${done}_job_complete`);
  if (answer === undefined) return { comment: [], result: true, changes: {} };
  const job = scheduleIn(answer).get(name);
  if (job instanceof Map && isTrue(job.get("enabled") ?? true) === wanted) {
    return { comment: `${capital(done)} Job ${name} in schedule.`, result: true, changes: { [name]: done } };
  }
  return { comment: `Failed to ${verb} job ${name} in schedule.`, result: false, changes: {} };
}

export async function switchAll(context: CallContext, args: BoundArguments, words: Words): Promise<Answer> {
  const given = ownKeywords(args);
  const { verb, done, wanted } = words;
  if (isGiven(given, "test")) return { comment: `Schedule would be ${done}.`, changes: {}, result: true };
  const answer = await askScheduler(context, { func: verb, persist: isPersisted(given) }, `${done}_complete`);
  if (answer === undefined) return { comment: [], changes: {}, result: true };
  if (scheduleIn(answer).get("enabled") === wanted) {
    return { comment: `${capital(done)} schedule on minion.`, changes: { schedule: done }, result: true };
  }
  return { comment: `Failed to ${verb} schedule on minion.`, changes: {}, result: false };
}

export async function save(context: CallContext, given: ValueMap): Promise<Answer> {
  if (isGiven(given, "test")) return { comment: "Schedule would be saved.", result: true };
  const answer = await askScheduler(context, { func: "save_schedule" }, "saved");
  return answer === undefined
    ? { comment: "Failed to save schedule.", result: false }
    : { comment: "Schedule (non-pillar items) saved.", result: true };
}

/** Reloads jobs from the pillar, and from the operator's `schedule.conf` beside the file that the minion writes. */
export async function reload(context: CallContext): Promise<Answer> {
  const comment: string[] = [];
  if (context.pillar().has("schedule")) {
    await context.fireMinion("pillar_refresh", {});
    comment.push("Reloaded schedule from pillar on minion.");
  }
  const text = reloadText(context);
  if (text === undefined) return { comment, result: true };
  const schedule = parseScheduleText(text);
  if (typeof schedule === "string") {
    comment.push(`Unable to read existing schedule file: ${schedule}`);
    return { comment, result: false };
  }
  if (schedule.size === 0) {
    comment.push("Failed to reload schedule on minion.  Saved file is empty or invalid.");
    return { comment, result: false };
  }
  await tellScheduler(context, { func: "reload", schedule });
  comment.push("Reloaded schedule on minion from schedule.conf.");
  return { comment, result: true };
}
