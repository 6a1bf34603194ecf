/** `_minion_event`: what a minion fires on the master's bus. docs/protocol.md sections 7.1 and 10.3. */

import { encodeEventBytes, frameEvent } from "../../wire/event.ts";
import { encode } from "../../wire/msgpack.ts";
import { loadAsEventData, trimEvent } from "../../wire/return.ts";
import type { Value } from "../../wire/values.ts";
import type { Shard } from "../shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { field, textOf } from "./fields.ts";

/** Tags that only the master may fire; a minion that could would forge jobs and key changes. */
const masterOnlyTags = [
  /^salt\/job\/[^/]*\/publish$/,
  /^salt\/job\/[^/]*\/new$/,
  /^salt\/job\/[^/]*\/return$/,
  /^salt\/key$/,
  /^salt\/cloud\//,
  /^salt\/run\//,
  /^salt\/cluster\//,
  /^salt\/wheel\/[^/]*\/new$/,
  /^salt\/wheel\/[^/]*\/return$/,
  /^saltworks\//,
];
const tagBytesMax = 1_024;
/** A line feed in a tag would end it for whoever reads the event, and the rest would be taken for its data. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const controlCharacter = /[\u0000-\u001f\u007f]/;

const acknowledged: Answer = { value: null };

export function handleMinionEvent(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries } = opened;
  if (opened.id === undefined) return { value: new Map() };
  if (opened.isProven && textOf(load, entries, "tag") === `salt/minion/${opened.id}/start`)
    batch.started.push(opened.id);
  if (!batch.isHeard) return acknowledged;
  const events = field(load, entries, "events");
  if (Array.isArray(events)) {
    fireList(shard, batch, events, textOf(load, entries, "pretag"));
    return acknowledged;
  }
  const tag = textOf(load, entries, "tag");
  if (tag !== undefined && isAllowed(shard, tag))
    fireBounded(shard, batch, tag, loadAsEventData(load, entries, batch.stamp));
  return acknowledged;
}

function fireList(shard: Shard, batch: BatchEffects, events: Value[], pretag: string | undefined): void {
  for (const event of events) {
    if (!(event instanceof Map)) continue;
    const tag = event.get("tag");
    const data = event.get("data");
    if (typeof tag !== "string" || !isAllowed(shard, tag)) continue;
    // Salt's event data is always a map; anything else is carried inside one.
    const fields = new Map(data instanceof Map ? data : event);
    if (!fields.has("_stamp")) fields.set("_stamp", batch.stamp);
    const packed = encode(fields, "bin");
    fireBounded(shard, batch, tag, packed);
    const prefixed = pretag === undefined || pretag === "" ? undefined : `${pretag}/${tag}`;
    if (prefixed !== undefined && isAllowed(shard, prefixed)) fireBounded(shard, batch, prefixed, packed);
  }
}

function isAllowed(shard: Shard, tag: string): boolean {
  const isTag = tag.length > 0 && Buffer.byteLength(tag) <= tagBytesMax && !controlCharacter.test(tag);
  const isFine = isTag && !masterOnlyTags.some((pattern) => pattern.test(tag));
  if (!isFine) shard.count("events.forbiddenTag");
  return isFine;
}

function fireBounded(shard: Shard, batch: BatchEffects, tag: string, data: Uint8Array): void {
  const body = encodeEventBytes(tag, data);
  const { max_event_size: eventBytesMax } = shard.start.config;
  shard.meter.noteSize("event", body.byteLength);
  if (body.byteLength > eventBytesMax) shard.count("events.trimmed");
  batch.addEvent(frameEvent(body.byteLength > eventBytesMax ? trimEvent(body, eventBytesMax) : body));
}
