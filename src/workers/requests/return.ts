/**
 * `_return`: the hot path. One walk over the load gives event and record; the reply is sealed while the batch commits.
 * docs/protocol.md section 9.
 */
import { encodeEventBytes, frameEvent } from "../../wire/event.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type ReturnHead, readReturn, trimEvent } from "../../wire/return.ts";
import type { ValueMap } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { Shard } from "../shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";

/**
 * A job id is 20 digits, with a pid behind them, or what an operator gave. Anything much longer would only bloat the store's keys,
 * and a line feed would end the event's tag early: the rest would be taken for its data.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
const jidPattern = /^[^\u0000-\u001f\u007f]{1,64}$/;

const acknowledged: Answer = { packed: encode(null, "raw") };

export function handleReturn(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { config } = shard.start;
  if (opened.id === undefined) return acknowledged;
  let head = readReturn(opened.load, opened.entries, batch.stamp);
  if (head === undefined || !jidPattern.test(head.jid)) {
    shard.count("returns.malformed");
    return acknowledged;
  }
  shard.count("openedReturns");
  if (shard.isPresencePing(head.jid)) return acknowledged;
  if (head.data.byteLength > config.job_cache_max_return_bytes) {
    shard.count("returns.tooLarge");
    return acknowledged;
  }
  if (head.jid === "req") head = standalone(shard, batch, head, opened.id);
  else if (head.hasTarget) saveOwnLoad(shard, batch, head, opened.id);
  batch.returns.push({
    record: { jid: head.jid, minionId: opened.id, body: head.data },
    isStored: config.job_cache && config.ext_job_cache === "" && head.jid !== "nocache",
    frame: batch.isHeard ? eventFrame(shard, head, opened.id) : undefined,
  });
  return acknowledged;
}

function eventFrame(shard: Shard, head: ReturnHead, id: string): Buffer {
  const { max_event_size: eventBytesMax } = shard.start.config;
  const body = encodeEventBytes(`salt/job/${head.jid}/ret/${id}`, head.data);
  if (body.byteLength <= eventBytesMax) return frameEvent(body);
  shard.count("events.trimmed");
  return frameEvent(trimEvent(body, eventBytesMax));
}

/** A job that the minion started by itself (start-up state, schedule): the master gives it an id and makes its load. */
function standalone(shard: Shard, batch: BatchEffects, head: ReturnHead, id: string): ReturnHead {
  const fields = decode(head.data) as ValueMap;
  const jid = shard.newJid(batch.nowMs);
  fields.set("jid", jid);
  if (!fields.has("arg")) fields.set("arg", fields.get("fun_args") ?? []);
  fields.set("tgt_type", "glob");
  fields.set("tgt", id);
  const data = encode(fields, "bin");
  batch.writes.push(shard.stores.jobs.putLoad({ jid, load: data, minions: [id] }));
  return { ...head, jid, data };
}

/** `salt-call` sends its own jid with the target inside: the return is also its job's load. */
function saveOwnLoad(shard: Shard, batch: BatchEffects, head: ReturnHead, id: string): void {
  if (shard.stores.jobs.getLoad(head.jid) !== undefined) return;
  batch.writes.push(shard.stores.jobs.putLoad({ jid: head.jid, load: withoutReturn(head.data), minions: [id] }));
}

/** The load of a job is who asked for what; the result itself is stored as the return. */
function withoutReturn(data: Uint8Array): Buffer {
  const kept = mapEntries(data).filter((entry) => entry.key !== "return");
  const fields = decode(data) as ValueMap;
  return encode(new Map(kept.map((entry) => [entry.key ?? null, fields.get(entry.key ?? null) ?? null])), "bin");
}
