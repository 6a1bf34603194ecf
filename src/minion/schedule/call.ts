/** The call of a scheduled job, and its return to the master, as Salt's scheduler makes them. */

import type { MinionConfig } from "../../config/schema.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { ScheduledJob } from "../../schedule/job.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { asctime } from "../functions/clock-text.ts";
import type { ScheduledCall } from "../functions/scheduled-return.ts";

const dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const monthNames = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];

export function scheduledCallOf(
  { id, opts }: Pick<MinionConfig, "id" | "opts">,
  { name, spec }: ScheduledJob,
  fun: Value,
  jid: string,
): ScheduledCall {
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
  const choice: ValueMap = new Map();
  for (const [from, to] of [
    ["return_config", "ret_config"],
    ["return_kwargs", "ret_kwargs"],
  ] as const) {
    const value = spec.get(from);
    if (value !== undefined) choice.set(to, value);
  }
  return { record, args, kwargs, returners: returnersOf(spec, opts), choice };
}

/** The names of the job and of the configuration, each once. A text is one name, as in Salt. */
function returnersOf(spec: ValueMap, opts: MinionConfig["opts"]): string[] {
  const listed = [spec.get("returner") ?? null, returnerOf(opts)];
  const names = listed.flatMap((list) =>
    Array.isArray(list) ? list.map(strOf) : typeof list === "string" ? [list] : [],
  );
  return [...new Set(names.filter((one) => one !== ""))];
}

/**
 * What Salt adds to a job's metadata: the zone's offset and the time in two forms. `_TT` is UTC and, as in
 * Salt, has the month in place of the minutes.
 */
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
 * The load of the return. For the job id `req` the master makes an id and keeps the job; for `nocache` it only fires events. A job with a
 * returner keeps its own id.
 *
 * @returns undefined for a job that is not returned
 */
export function scheduledReturnOf(config: MinionConfig, spec: ValueMap, members: ValueMap): ValueMap | undefined {
  const isReturned = !spec.has("return_job") || isTrue(spec.get("return_job") ?? null);
  if (!isReturned) return undefined;
  const load: ValueMap = new Map<Value, Value>([["cmd", "_return"], ["id", config.id], ...members]);
  const hasReturner = isTrue(spec.get("returner") ?? null) || isTrue(returnerOf(config.opts));
  if (!hasReturner) load.set("jid", spec.get("return_job") === "nocache" ? "nocache" : "req");
  return load;
}

function returnerOf(opts: MinionConfig["opts"]): Value {
  const returner = opts.get("schedule_returner");
  return typeof returner === "string" || Array.isArray(returner) ? returner : null;
}
