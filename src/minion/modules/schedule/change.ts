/** Changes to the schedule: `schedule.add`, `modify`, `delete`, `purge`. Source: Salt 3007's `schedule` module, with its texts. */

import { reprOf, strOf } from "../../../python/repr.ts";
import { isEqual, isTrue } from "../../../python/values.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { writeScheduleFile } from "../../schedule/file.ts";
import { argument, ownKeywords } from "../declare/signature.ts";
import { isFileError } from "../machine/file-error.ts";
import { type Asked, askScheduler, listSchedule, scheduleIn, tellScheduler } from "./ask.ts";
import { bothTimersText, buildItem, hasBothTimers, hasTimeConflict } from "./item.ts";

export type Answer = { readonly [member: string]: Encodable };

const conflictText = 'Error: Unable to use "seconds", "minutes", "hours", or "days" with "when"';

export function isGiven(given: ValueMap, name: string): boolean {
  return isTrue(given.get(name) ?? null);
}

/** Whether the file keeps the change: yes, unless `persist=False`. */
export function isPersisted(given: ValueMap): boolean {
  return isTrue(given.get("persist") ?? true);
}

export async function add(context: CallContext, args: BoundArguments): Promise<Answer> {
  const given = ownKeywords(args);
  const name = strOf(argument(args, "name"));
  const failure = { comment: `Failed to add job ${name} to schedule.`, result: false, changes: {} };
  const isOffline = isGiven(given, "offline");
  const current = await listSchedule(context, { isHiddenShown: true, isOffline });
  if (current.has(name)) return { ...failure, comment: `Job ${name} already exists in schedule.` };
  if (hasTimeConflict(given)) return { ...failure, comment: `${conflictText} or "cron" options.` };
  if (hasBothTimers(given)) return { ...failure, comment: bothTimersText };
  const built = buildItem(argument(args, "name"), given);
  if ("refusal" in built) return built.refusal;
  if (isGiven(given, "test")) return { ...failure, comment: `Job: ${name} would be added to schedule.`, result: true };
  const done = { comment: `Added job: ${name} to schedule.`, result: true, changes: { [name]: "added" } };
  const added: ValueMap = new Map([[name, built.item]]);
  if (isOffline) {
    writeOffline(context, new Map([...current, ...added]));
    return done;
  }
  const asked = { name, schedule: added, func: "add", persist: isPersisted(given) };
  const answer = await askScheduler(context, asked, "add_complete");
  return scheduleIn(answer).has(name) ? done : failure;
}

function writeOffline({ config, log }: CallContext, schedule: ValueMap): void {
  try {
    writeScheduleFile(config, schedule);
  } catch (error) {
    if (!isFileError(error)) throw error;
    log.error(`Failed to persist the updated schedule: ${error.message}`);
  }
}

export async function modify(context: CallContext, args: BoundArguments): Promise<Answer> {
  const given = ownKeywords(args);
  const name = strOf(argument(args, "name"));
  const refuse = (comment: string) => ({ comment, changes: {}, result: false });
  if (hasTimeConflict(given)) return refuse(`${conflictText} option.`);
  if (hasBothTimers(given)) return refuse(bothTimersText);
  const isOffline = isGiven(given, "offline");
  const schedule = await listSchedule(context, { isHiddenShown: true, isOffline });
  const current = schedule.get(name);
  if (!(current instanceof Map)) return refuse(`Job ${name} does not exist in schedule.`);
  if (!given.has("function")) given.set("function", current.get("function") ?? null);
  const built = buildItem(argument(args, "name"), given);
  if ("refusal" in built) return built.refusal;
  const { item } = built;
  if (isEqual(item, current)) return { comment: `Job ${name} in correct state`, changes: {}, result: true };
  const changes = { [name]: { old: current, new: item } };
  if (isGiven(given, "test")) return { comment: `Job: ${name} would be modified in schedule.`, changes, result: true };
  if (isOffline) writeOffline(context, new Map([...schedule, [name, new Map([...current, ...item])]]));
  else await tellScheduler(context, await whereJobIs(context, name, { func: "modify", name, schedule: item }, given));
  return { comment: `Modified job: ${name} in schedule.`, changes, result: true };
}

/** Adds to a request where the job comes from. Changes to jobs of the pillar are never kept in the file. */
async function whereJobIs(context: CallContext, name: string, asked: Asked, given: ValueMap): Promise<Asked> {
  const own = await listSchedule(context, { isHiddenShown: true, where: "opts" });
  return own.has(name) ? { ...asked, persist: isPersisted(given) } : { ...asked, where: "pillar", persist: false };
}

/** As `whereJobIs`; undefined if no source has the job. */
export async function requestForJob(
  context: CallContext,
  name: string,
  asked: Asked,
  given: ValueMap,
): Promise<Asked | undefined> {
  const all = await listSchedule(context, { isHiddenShown: true });
  return all.has(name) ? await whereJobIs(context, name, asked, given) : undefined;
}

export async function remove(context: CallContext, args: BoundArguments): Promise<Answer> {
  const given = ownKeywords(args);
  const name = strOf(argument(args, "name"));
  const failure = { comment: `Failed to delete job ${name} from schedule.`, result: false, changes: {} };
  const done = { comment: `Deleted Job ${name} from schedule.`, result: true, changes: { [name]: "removed" } };
  if (isGiven(given, "test")) {
    return { ...failure, comment: `Job: ${name} would be deleted from schedule.`, result: true };
  }
  if (isGiven(given, "offline")) {
    const saved = await listSchedule(context, { isHiddenShown: true, isOffline: true });
    if (!saved.delete(name)) throw pythonException("KeyError", reprOf(name));
    writeOffline(context, saved);
    return done;
  }
  const asked = await requestForJob(context, name, { func: "delete", name }, given);
  if (asked === undefined) return { ...failure, comment: `Job ${name} does not exist.` };
  const answer = await askScheduler(context, asked, "delete_complete");
  return answer !== undefined && !scheduleIn(answer).has(name) ? done : failure;
}

export async function purge(context: CallContext, args: BoundArguments): Promise<Answer> {
  const given = ownKeywords(args);
  const isOffline = isGiven(given, "offline");
  const schedule = await listSchedule(context, { isHiddenShown: true, isOffline });
  const comment: string[] = [];
  const changes: { [name: string]: string } = {};
  for (const name of Array.from(schedule.keys(), strOf)) {
    if (name === "enabled" || name.startsWith("__")) continue;
    if (isGiven(given, "test")) {
      comment.push(`Job: ${name} would be deleted from schedule.`);
      continue;
    }
    if (isOffline ? schedule.delete(name) : await isPurged(context, name, given)) {
      comment.push(`Deleted job: ${name} from schedule.`);
      changes[name] = "removed";
    } else comment.push(`Failed to delete job ${name} from schedule.`);
  }
  if (isOffline) writeOffline(context, schedule);
  return { comment, changes, result: true };
}

async function isPurged(context: CallContext, name: string, given: ValueMap): Promise<boolean> {
  const asked = { name, func: "delete", persist: isPersisted(given) };
  const answer = await askScheduler(context, asked, "delete_complete");
  return answer !== undefined && !scheduleIn(answer).has(name);
}

export function build(args: BoundArguments): Encodable {
  const built = buildItem(argument(args, "name"), ownKeywords(args));
  return "refusal" in built ? built.refusal : (built.item as Value);
}
