/**
 * Asks the running minion's scheduler: fires an event on the minion's bus and waits for the event that answers it.
 * Source: Salt 3007's `schedule` module.
 */

import { randomUUID } from "node:crypto";
import { hasCode } from "../../../errors.ts";
import { scheduleAnswerMs } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { isTrue } from "../../../python/values.ts";
import { EventSubscriber } from "../../../transport/event-stream-client.ts";
import { decodeEvent, splitEvent } from "../../../wire/event.ts";
import type { Encodable, Value, ValueMap } from "../../../wire/values.ts";
import { busPaths, fireOnBus } from "../../bus/fire.ts";
import type { CallContext } from "../../functions/module-contract.ts";
import { includeDirectory, scheduleFile } from "../../schedule/file.ts";
import { manageTag } from "../../schedule/scheduler.ts";
import { readTextIfAny } from "../machine/file-error.ts";
import { parseScheduleText } from "./text.ts";

export type Asked = { readonly func: string; readonly [member: string]: Encodable };

/** The members of a job that `schedule.list` shows. */
const shownMembers = new Set<Value>([
  ...["name", "maxrunning", "function", "splay", "range", "when", "once", "once_fmt", "returner", "jid_include"],
  ...["args", "kwargs", "seconds", "minutes", "hours", "days", "enabled", "return_job", "metadata", "cron", "until"],
  ...["after", "return_config", "return_kwargs", "run_on_start", "skip_during_range", "run_after_skip_range"],
]);

/** Sends the scheduler an event whose answer is not needed. @returns true, whether or not a minion runs */
export async function tellScheduler(context: CallContext, asked: Asked): Promise<boolean> {
  await context.fireMinion(manageTag, asked);
  return true;
}

/** `answer`: last part of the answer's tag. @returns the answer's data; undefined without a minion, or after `scheduleAnswerMs` */
export async function askScheduler(context: CallContext, asked: Asked, answer: string): Promise<ValueMap | undefined> {
  const request = randomUUID();
  const tag = `/salt/minion/minion_schedule_${answer}`;
  let settle: (data?: ValueMap) => void = () => undefined;
  const answered = new Promise<ValueMap | undefined>((resolve) => {
    settle = resolve;
  });
  let subscriber: EventSubscriber | undefined;
  const deadline = setTimeout(() => settle(), scheduleAnswerMs);
  try {
    subscriber = await EventSubscriber.connect(busPaths(context.config).pub, {
      onEvent: (body) => {
        if (splitEvent(body).tag !== tag) return;
        const { data } = decodeEvent(body);
        if (data.get("request") === request) settle(data);
      },
      onClose: () => settle(),
    });
    await fireOnBus(context.config, manageTag, { ...asked, request });
    return await answered;
  } catch (error) {
    if (hasCode(error, "MASTER_UNREACHABLE")) return undefined;
    throw error;
  } finally {
    clearTimeout(deadline);
    subscriber?.close();
  }
}

/** The schedule in an answer. */
export function scheduleIn(answer: ValueMap | undefined): ValueMap {
  const schedule = answer?.get("schedule");
  return schedule instanceof Map ? schedule : new Map();
}

type Listing = {
  readonly isHiddenShown?: boolean;
  readonly isDisabledHidden?: boolean;
  readonly where?: "opts" | "pillar" | undefined;
  /** Lists the content of the file instead of the running schedule. */
  readonly isOffline?: boolean;
};

/** The schedule in the form that functions show. */
export async function listSchedule(context: CallContext, listing: Listing): Promise<ValueMap> {
  const asked = { func: "list", where: listing.where ?? null };
  const all = listing.isOffline
    ? savedSchedule(context)
    : scheduleIn(await askScheduler(context, asked, "list_complete"));
  const listed: ValueMap = new Map();
  for (const [key, spec] of all) {
    const name = strOf(key);
    if (!(spec instanceof Map)) listed.set(name, spec);
    else if (!name.startsWith("__") || listing.isHiddenShown === true) {
      const shown = shownSpec(spec);
      if (listing.isDisabledHidden !== true || isTrue(shown.get("enabled") ?? null)) listed.set(name, shown);
    }
  }
  return listed;
}

function shownSpec(spec: ValueMap): ValueMap {
  const shown: ValueMap = new Map();
  const words = new Map<Value, Value>([
    ["true", true],
    ["false", false],
  ]);
  for (const [member, value] of spec) {
    if (shownMembers.has(member) && value !== null) shown.set(member, words.get(value) ?? value);
  }
  return spec.has("enabled") ? shown : shown.set("enabled", true);
}

/** The content of `_schedule.conf`. Empty without the file. */
export function savedSchedule({ config, log }: CallContext): ValueMap {
  const read = parseScheduleText(readTextIfAny(scheduleFile(config)) ?? "");
  if (read instanceof Map) return read;
  log.error(`${scheduleFile(config)}: ${read}`);
  return new Map();
}

/** The text of `schedule.conf`, which operators write (the minion writes `_schedule.conf`). Undefined without the file. */
export function reloadText({ config }: CallContext): string | undefined {
  return readTextIfAny(`${includeDirectory(config)}/schedule.conf`);
}
