/** Makes a scheduled job from the arguments of `schedule.add` and similar functions, with Salt's checks and texts. */

import { parseDateText } from "../../../python/dateutil.ts";
import { strOf } from "../../../python/repr.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import { pythonException } from "../../functions/errors.ts";

/** A job, or the answer with the reason why it cannot be made. */
type Built = { readonly item: ValueMap } | { readonly refusal: { readonly [name: string]: Encodable } };

const intervals = ["seconds", "minutes", "hours", "days"];
const copied = [
  ...["range", "when", "once", "once_fmt", "cron", "returner", "after", "return_config", "return_kwargs", "until"],
  ...["run_on_start", "skip_during_range"],
];

export const bothTimersText = 'Unable to use "when" and "cron" options together.  Ignoring.';

/** Whether both an interval and a time of day are given. */
export function hasTimeConflict(given: ValueMap): boolean {
  return intervals.some((unit) => given.has(unit)) && (given.has("when") || given.has("cron"));
}

export function hasBothTimers(given: ValueMap): boolean {
  return given.has("when") && given.has("cron");
}

/** @throws what Python raises if `function` is missing */
export function buildItem(name: Value, given: ValueMap): Built {
  if (name === null || name === "") return refused("Job name is required.");
  const fun = given.get("function");
  if (fun === undefined) throw pythonException("KeyError", "'function'");
  if (hasTimeConflict(given)) {
    return refused('Unable to use "seconds", "minutes", "hours", or "days" with "when" or "cron" options.');
  }
  if (hasBothTimers(given)) return refused(bothTimersText);
  const item: ValueMap = new Map([["function", fun]]);
  const copy = (member: string, to = member) => {
    const value = given.get(member);
    if (value !== undefined) item.set(to, value);
  };
  for (const member of [...intervals, "return_job", "metadata"]) copy(member);
  if (given.has("job_args") && !Array.isArray(given.get("job_args"))) {
    return refused("job_args is not a list. please correct and try again.");
  }
  if (given.has("job_kwargs") && !(given.get("job_kwargs") instanceof Map)) {
    return refused("job_kwargs is not a dict. please correct and try again.");
  }
  copy("job_args", "args");
  copy("job_kwargs", "kwargs");
  item.set("maxrunning", given.get("maxrunning") ?? 1);
  item.set("name", given.get("name") ?? name);
  item.set("enabled", given.get("enabled") ?? true);
  item.set("jid_include", given.get("jid_include") ?? true);
  const splay = given.get("splay");
  if (splay !== undefined) item.set("splay", splay instanceof Map ? orderedSplay(splay) : splay);
  const unreadable = unreadableWhen(given.get("when"));
  if (unreadable !== undefined) return refused(`Schedule item ${unreadable} for "when" in invalid.`);
  for (const member of copied) copy(member);
  return { item };
}

function refused(comment: string): Built {
  return { refusal: { comment, result: false } };
}

function orderedSplay(splay: ValueMap): ValueMap {
  const part = (name: string): [Value, Value] => {
    const value = splay.get(name);
    if (value === undefined) throw pythonException("KeyError", `'${name}'`);
    return [name, value];
  };
  return new Map([part("start"), part("end")]);
}

function unreadableWhen(when: Value | undefined): string | undefined {
  if (when === undefined) return undefined;
  const texts = (Array.isArray(when) ? when : [when]).map(strOf);
  return texts.find((text) => parseDateText(text, Date.now()) === undefined);
}
