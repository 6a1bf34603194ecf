/**
 * `_minion_event` of a syndic: it forwards the event bus of a lower master, and Salt's command line and ours read there which minions a job reaches.
 * Each event is fired below `syndic/<id>/`, and under its own tag only if a minion could fire it. docs/syndic.md.
 */
import { jobMinionsBelowMax, syndicEventBytesMax, syndicEventsMax } from "../../../limits.ts";
import { idIsValid } from "../../../store/keys/keys.ts";
import { DecodeBudget } from "../../../wire/decoder.ts";
import { isJid, isUsableJid } from "../../../wire/jid.ts";
import { encode } from "../../../wire/msgpack.ts";
import type { Value } from "../../../wire/values.ts";
import { headOf, skipWhole } from "../../../wire/walk.ts";
import type { WorkerState } from "../../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "../context.ts";
import { isOnSaltsList, kindOfTag, type TagRules } from "../event-tags.ts";
import { type EventBounds, eventWithin, FiredEvents } from "../events.ts";
import { fieldBytes, textOf } from "../fields.ts";
import { mayBeSyndic } from "./returns.ts";

const bounds: EventBounds = { count: syndicEventsMax, bytes: syndicEventBytesMax, counter: "syndics.overEvents" };

/** @returns undefined for events that are not a syndic's; they are handled as a minion's */
export function handleSyndicEvents(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer | undefined {
  const { load, entries, id } = opened;
  if (id === undefined || !mayBeSyndic(worker, opened)) return undefined;
  if (textOf(load, entries, "tag") === `salt/syndic/${id}/start`) batch.syndics.add(id);
  const events = fieldBytes(load, entries, "events");
  if (events === undefined || headOf(events, 0).kind !== "list") return undefined;
  if (textOf(load, entries, "pretag") !== pretagOf(id)) return undefined;
  batch.syndics.add(id);
  takeEvents(worker, batch, id, events);
  return { value: null };
}

function pretagOf(id: string): string {
  return `syndic/${id}`;
}

function takeEvents(worker: WorkerState, batch: BatchEffects, id: string, events: Uint8Array): void {
  const fired = new FiredEvents(worker, batch, { id, isProven: true }, bounds);
  const lists = new Map<string, readonly string[]>();
  const { count, start } = headOf(events, 0);
  const budget = new DecodeBudget();
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const end = skipWhole(events, position);
    const event = index < syndicEventsMax ? eventWithin(events.subarray(position, end), budget) : undefined;
    if (event === undefined) {
      fired.drop(count - index);
      break;
    }
    position = end;
    if (event instanceof Map) takeEvent({ worker, batch, fired, lists }, event);
  }
  for (const [jid, minions] of lists) {
    batch.expected.push({ jid, minions });
    batch.writes.push(worker.stores.jobs.addMinions(jid, id, minions));
  }
  fired.finish();
}

/** What the events of one request go to. `lists`: the minions of each job. */
type Taken = {
  readonly worker: WorkerState;
  readonly batch: BatchEffects;
  readonly fired: FiredEvents;
  readonly lists: Map<string, readonly string[]>;
};

function takeEvent({ worker, batch, fired, lists }: Taken, event: ReadonlyMap<Value, Value>): void {
  const tag = event.get("tag");
  const data = event.get("data");
  if (typeof tag !== "string") return;
  const fields = new Map(data instanceof Map ? data : event);
  const told = minionsTold(tag, fields);
  if (told !== undefined) {
    lists.set(told.jid, told.minions);
    if (told.dropped > 0) {
      worker.count("syndics.idsDropped", told.dropped);
      batch.refuse(
        fired.id,
        `ids of a syndic's list are dropped, because they are none or too many: ${told.dropped} here`,
      );
    }
  }
  // Salt's master does not fire these either: they are the lower master's announcements of its own jobs and runners.
  if (!batch.isHeard || isOnSaltsList(tag)) return;
  if (!fields.has("_stamp")) fields.set("_stamp", batch.stamp);
  const rules = worker.start.config.minion_event_tags as TagRules;
  const kind = kindOfTag(tag, fired.id, rules);
  const isItsOwn = kind === "own" && (fields.get("id") ?? fired.id) === fired.id;
  const packed = encode(fields, "bin");
  if (kind === "free" || isItsOwn) fired.fire(tag, packed);
  else worker.count("syndics.belowOnly");
  const below = `${pretagOf(fired.id)}/${tag}`;
  if (kindOfTag(below, fired.id, rules) === "free") fired.fire(below, packed);
}

/** The minions to which the lower master has sent a job: by the event that has the job id as its tag, or that has it in its data. */
function minionsTold(
  tag: string,
  fields: ReadonlyMap<Value, Value>,
): { readonly jid: string; readonly minions: readonly string[]; readonly dropped: number } | undefined {
  const minions = fields.get("minions");
  const named = fields.get("jid");
  const jid = isJid(tag) ? tag : typeof named === "string" ? named : undefined;
  if (!Array.isArray(minions) || jid === undefined || !isUsableJid(jid)) return undefined;
  const ids = minions
    .slice(0, jobMinionsBelowMax)
    .filter((id): id is string => typeof id === "string" && idIsValid(id));
  return { jid, minions: ids, dropped: minions.length - ids.length };
}
