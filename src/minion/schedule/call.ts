/** The call of a scheduled job, and its return to the master, as Salt's scheduler makes them. */

import type { MinionConfig } from "../../config/schema.ts";
import { isTrue } from "../../python/values.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { asctime } from "../functions/clock-text.ts";
import type { ScheduledCall } from "../functions/scheduled-return.ts";
import type { ScheduledJob } from "./job.ts";

const dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const monthNames = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];

export function scheduledCallOf(id: string, { name, spec }: ScheduledJob, fun: Value, jid: string): ScheduledCall {
  const listed = spec.get("args");
  const named = spec.get("kwargs");
  const args = Array.isArray(listed) ? listed : [];
  const kwargs = named instanceof Map ? named : new Map<Value, Value>();
  const record: ValueMap = new Map<Value, Value>([
    ["id", id],
    ["fun", fun],
    ["fun_args", named instanceof Map ? [...args, kwargs] : [...args]],
    ["schedule", spec.get("name") ?? name],
    ["jid", jid],
  ]);
  const metadata = spec.get("metadata");
  if (metadata instanceof Map) record.set("metadata", new Map([...metadata, ...timeFacts(new Date())]));
  return { record, args, kwargs };
}

/** What Salt adds to a job's metadata: the zone's offset and the time in two forms. The second is UTC and has the month in the place of the minutes. */
function timeFacts(date: Date): [Value, Value][] {
  const two = (value: number) => String(value).padStart(2, "0");
  const offset = -date.getTimezoneOffset();
  const magnitude = Math.abs(offset);
  const utcDay = `${date.getUTCFullYear()} ${monthNames[date.getUTCMonth()]} ${two(date.getUTCDate())}`;
  return [
    ["_TOS", `${offset < 0 ? "-" : "+"}${two(Math.floor(magnitude / 60))}${two(magnitude % 60)}`],
    ["_TS", asctime(date)],
    ["_TT", `${utcDay} ${dayNames[date.getUTCDay()]} ${two(date.getUTCHours())} ${two(date.getUTCMonth() + 1)}`],
  ];
}

/**
 * The load of the return. With the job id `req` the master makes an id and keeps the job; with `nocache` it only tells its bus. A job with a
 * returner keeps its own.
 *
 * @returns undefined for a job that is not returned
 */
export function scheduledReturnOf(config: MinionConfig, spec: ValueMap, members: ValueMap): ValueMap | undefined {
  const isReturned = !spec.has("return_job") || isTrue(spec.get("return_job") ?? null);
  if (!isReturned) return undefined;
  const load: ValueMap = new Map<Value, Value>([["cmd", "_return"], ["id", config.id], ...members]);
  const hasReturner = isTrue(spec.get("returner") ?? null) || isTrue(returnerOf(config));
  if (!hasReturner) load.set("jid", spec.get("return_job") === "nocache" ? "nocache" : "req");
  return load;
}

function returnerOf(config: MinionConfig): Value {
  const returner = config.opts.get("schedule_returner");
  return typeof returner === "string" || Array.isArray(returner) ? returner : null;
}
