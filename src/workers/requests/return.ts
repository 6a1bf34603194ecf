/**
 * `_return`: the hot path. One walk over the load gives event and record.
 * docs/protocol.md section 9.
 */
import { beginEventFrame, encodeEventBytes, eventBodyBytes, frameMasterEvent } from "../../wire/event.ts";
import { isUsableJid } from "../../wire/jid.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { eventDataBytes, type ReturnHead, readReturn, trimEvent, writeEventData } from "../../wire/return.ts";
import type { ValueMap } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";

const acknowledged: Answer = { packed: encode(null, "raw") };

export function handleReturn(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { config } = shard.start;
  if (opened.id === undefined) return acknowledged;
  const head = readReturn(opened.load, opened.entries, batch.stamp);
  if (head === undefined || !isUsableJid(head.jid)) {
    shard.count("returns.malformed");
    return acknowledged;
  }
  shard.count("openedReturns");
  if (shard.isPresencePing(head.jid)) return acknowledged;
  shard.meter.noteSize("return", head.data.bytes);
  if (head.data.bytes > config.job_cache_max_return_bytes) {
    shard.count("returns.tooLarge");
    return acknowledged;
  }
  if (head.jid === "req") keepStandalone(shard, batch, head, opened.id);
  else {
    if (head.hasTarget) saveOwnLoad(shard, batch, head, opened.id);
    keep(shard, batch, head.jid, opened.id, writeReturn(shard, batch, head, opened.id));
  }
  return acknowledged;
}

function keep(shard: Shard, batch: BatchEffects, jid: string, minionId: string, body: Uint8Array): void {
  const { config } = shard.start;
  const isStored = config.job_cache && config.ext_job_cache === "" && jid !== "nocache" && !shard.isNoCache(jid);
  batch.returns.push({ record: { jid, minionId, body }, isStored });
}

/** Writes the body, inside its event if `isHeard`, once into the batch's memory. @returns the body, which is the event's data */
function writeReturn(shard: Shard, batch: BatchEffects, { jid, data, retcode }: ReturnHead, id: string): Uint8Array {
  const { events } = batch;
  if (!batch.isHeard) {
    const start = events.reserve(data.bytes);
    writeEventData(data, events.bytes, start);
    return events.bytes.subarray(start, start + data.bytes);
  }
  const tag = returnTag(jid, id);
  const isFailed = retcode !== 0;
  const bodyBytes = eventBodyBytes(tag, data.bytes);
  shard.meter.noteSize("event", bodyBytes);
  if (bodyBytes > shard.start.config.max_event_size) {
    const body = eventDataBytes(data);
    fireReturn(shard, batch, tag, body, isFailed);
    return body;
  }
  const frameStart = events.length;
  const start = beginEventFrame(events, tag, data.bytes);
  writeEventData(data, events.bytes, start);
  batch.returnEvents.push(frameStart, events.length, isFailed ? 1 : 0);
  batch.eventCount += 1;
  return events.bytes.subarray(start, start + data.bytes);
}

function returnTag(jid: string, id: string): string {
  return `salt/job/${jid}/ret/${id}`;
}

function fireReturn(shard: Shard, batch: BatchEffects, tag: string, data: Uint8Array, isFailed: boolean): void {
  if (!batch.isHeard) return;
  const { max_event_size: eventBytesMax } = shard.start.config;
  const body = encodeEventBytes(tag, data);
  const isTooLarge = body.byteLength > eventBytesMax;
  if (isTooLarge) shard.count("events.trimmed");
  const frameStart = batch.events.length;
  batch.addEvent(frameMasterEvent(isTooLarge ? trimEvent(body, eventBytesMax) : body));
  batch.returnEvents.push(frameStart, batch.events.length, isFailed ? 1 : 0);
}

/** A job that the minion started by itself (start-up state, schedule). The master makes its id and load. */
function keepStandalone(shard: Shard, batch: BatchEffects, head: ReturnHead, id: string): void {
  const fields = decode(eventDataBytes(head.data)) as ValueMap;
  const jid = shard.newJid(batch.nowMs);
  fields.set("jid", jid);
  if (!fields.has("arg")) fields.set("arg", fields.get("fun_args") ?? []);
  fields.set("tgt_type", "glob");
  fields.set("tgt", id);
  for (const name of publisherFields) fields.delete(name);
  const data = encode(fields, "bin");
  batch.writes.push(shard.stores.jobs.keepNewJob({ jid, load: data, minions: [id] }));
  fireReturn(shard, batch, returnTag(jid, id), data, head.retcode !== 0);
  keep(shard, batch, jid, id, data);
}

/** `salt-call` sends its own jid and the target, so the return is also the job's load. */
function saveOwnLoad(shard: Shard, batch: BatchEffects, head: ReturnHead, id: string): void {
  const load = loadIn(eventDataBytes(head.data));
  batch.writes.push(shard.stores.jobs.keepNewJob({ jid: head.jid, load, minions: [id] }));
}

/** Fields of a publish, credentials among them, that a minion's own job must not have. */
const publisherFields: ReadonlySet<string> = new Set(["kwargs", "key", "token", "eauth", "username", "password"]);

/** The job's load: the return without its result. */
function loadIn(data: Uint8Array): Buffer {
  const kept = mapEntries(data).filter(({ key }) => key !== "return" && !publisherFields.has(String(key)));
  const fields = decode(data) as ValueMap;
  return encode(new Map(kept.map((entry) => [entry.key ?? null, fields.get(entry.key ?? null) ?? null])), "bin");
}
