/**
 * `_return`: the hot path. One walk over the load gives event and record; the reply is sealed while the batch commits.
 * docs/protocol.md section 9.
 */
import { encodeEventBytes, frameEvent } from "../../wire/event.ts";
import { jidAt } from "../../wire/jid.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import { type ReturnHead, readReturn, trimEvent } from "../../wire/return.ts";
import type { ValueMap } from "../../wire/values.ts";
import { mapEntries } from "../../wire/walk.ts";
import type { Shard } from "../shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";

/** A job id is 20 digits, or more with a pid behind; anything much longer is not one and would only bloat the store's keys. */
const jidBytesMax = 64;

const acknowledged: Answer = { value: null };

export function handleReturn(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { config } = shard.start;
  if (opened.id === undefined) return acknowledged;
  let head = readReturn(opened.load, opened.entries, batch.stamp());
  if (head === undefined || head.jid.length > jidBytesMax) {
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
  let body = encodeEventBytes(`salt/job/${head.jid}/ret/${opened.id}`, head.data);
  if (body.byteLength > config.max_event_size) {
    shard.count("events.trimmed");
    body = trimEvent(body, config.max_event_size);
  }
  batch.returns.push({
    record: { jid: head.jid, minionId: opened.id, body: head.data },
    isStored: config.job_cache && config.ext_job_cache === "" && head.jid !== "nocache",
    retcode: head.retcode,
    frame: frameEvent(body),
  });
  return acknowledged;
}

/** A job that the minion started by itself (start-up state, schedule): the master gives it an id and makes its load. */
function standalone(shard: Shard, batch: BatchEffects, head: ReturnHead, id: string): ReturnHead {
  const fields = decode(head.data) as ValueMap;
  const jid = jidAt(batch.nowMs, Number(process.hrtime.bigint() % 1_000n));
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
