/**
 * `_return`: the hot path. One pass over the load makes the event and the job cache's record.
 * docs/protocol.md section 9.
 */
import type { SharedReturn } from "../../cluster/returns/message.ts";
import type { ReturnRecord } from "../../store/jobs/job-cache.ts";
import { beginEventFrame, eventBodyBytes, frameMasterEvent } from "../../wire/event.ts";
import { isUsableJid } from "../../wire/jid.ts";
import { encode } from "../../wire/msgpack.ts";
import { packedMembers } from "../../wire/pick.ts";
import { eventDataBytes, type ReturnHead, readReturn, writeEventData } from "../../wire/return.ts";
import { type Encodable, Packed } from "../../wire/values.ts";
import { type Entry, mapEntries } from "../../wire/walk.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { boundedEvent } from "./events.ts";

export const acknowledged: Answer = { packed: encode(null, "raw") };

export function handleReturn(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { config } = worker.start;
  if (opened.id === undefined) return acknowledged;
  const head = readReturn(opened.load, opened.entries, batch.stamp);
  if (head === undefined || !isUsableJid(head.jid)) {
    worker.count("returns.malformed");
    return acknowledged;
  }
  worker.count("openedReturns");
  if (worker.isPresencePing(head.jid)) return acknowledged;
  worker.meter.noteSize("return", head.data.bytes);
  if (head.data.bytes > config.job_cache_max_return_bytes) {
    worker.count("returns.tooLarge");
    return acknowledged;
  }
  if (head.jid === "req") keepStandalone(worker, batch, head, opened.id);
  else {
    if (head.hasTarget) saveOwnLoad(worker, batch, head, opened.id);
    const body = writeReturn(worker, batch, head, opened.id);
    keep(
      worker,
      batch,
      { jid: head.jid, minionId: opened.id, body },
      head.retcode !== 0,
      head.hasTarget ? "ofReturn" : undefined,
    );
  }
  return acknowledged;
}

/**
 * Adds a return to the batch, which stores it unless its job is not stored. Its body is in the batch's memory, or not reused. `job`: how the return makes
 * its job on other members of a cluster.
 */
export function keep(
  worker: WorkerState,
  batch: BatchEffects,
  record: ReturnRecord,
  isFailed: boolean,
  job?: SharedReturn["job"],
): void {
  batch.returns.push({ record, isStored: isKept(worker, record.jid), item: batch.item, isFailed, job });
}

/** Whether returns of the job are stored here. */
export function isKept(worker: WorkerState, jid: string): boolean {
  const { config } = worker.start;
  return config.job_cache && config.ext_job_cache === "" && jid !== "nocache" && !worker.isNoCache(jid);
}

/** Writes the body once into the batch's memory, inside its event if `isHeard`. @returns the body, which is the event's data */
function writeReturn(
  worker: WorkerState,
  batch: BatchEffects,
  { jid, data, retcode }: ReturnHead,
  id: string,
): Uint8Array {
  const { events } = batch;
  if (!batch.isHeard) {
    const start = events.reserve(data.bytes);
    writeEventData(data, events.bytes, start);
    return events.bytes.subarray(start, start + data.bytes);
  }
  const tag = returnTag(jid, id);
  const isFailed = retcode !== 0;
  const bodyBytes = eventBodyBytes(tag, data.bytes);
  worker.meter.noteSize("event", bodyBytes);
  if (bodyBytes > worker.start.config.max_event_size) {
    const body = eventDataBytes(data);
    fireReturn(worker, batch, tag, body, isFailed);
    return body;
  }
  const frameStart = events.length;
  const start = beginEventFrame(events, tag, data.bytes);
  writeEventData(data, events.bytes, start);
  batch.returnEvents.push(frameStart, events.length, isFailed ? 1 : 0);
  batch.eventCount += 1;
  return events.bytes.subarray(start, start + data.bytes);
}

export function returnTag(jid: string, id: string): string {
  return `salt/job/${jid}/ret/${id}`;
}

/** Fires the event of a return that is already encoded. */
export function fireReturn(
  worker: WorkerState,
  batch: BatchEffects,
  tag: string,
  data: Uint8Array,
  isFailed: boolean,
): void {
  if (!batch.isHeard) return;
  const frameStart = batch.events.length;
  batch.addEvent(frameMasterEvent(boundedEvent(worker, tag, data)));
  batch.returnEvents.push(frameStart, batch.events.length, isFailed ? 1 : 0);
}

/** Keeps a job that the minion started by itself (start-up state, schedule). The master makes its id and load. The values stay packed. */
function keepStandalone(worker: WorkerState, batch: BatchEffects, head: ReturnHead, id: string): void {
  const fields = new Map<string, Encodable>(packedMembers(eventDataBytes(head.data)));
  const jid = worker.newJid(batch.nowMs);
  fields.set("jid", jid);
  if (!fields.has("arg")) fields.set("arg", fields.get("fun_args") ?? []);
  fields.set("tgt_type", "glob");
  fields.set("tgt", id);
  for (const name of publisherFields) fields.delete(name);
  const data = encode(fields, "bin");
  batch.writes.push(worker.stores.jobs.keepNewJob(jid, () => ({ jid, load: data, minions: [id] })));
  fireReturn(worker, batch, returnTag(jid, id), data, head.retcode !== 0);
  keep(worker, batch, { jid, minionId: id, body: data }, head.retcode !== 0, "isReturn");
}

/** Keeps the job of a `salt-call`, which sends its own jid and target: the load is made from the return, only if the job is new. */
function saveOwnLoad(worker: WorkerState, batch: BatchEffects, { jid, data }: ReturnHead, id: string): void {
  const make = () => ({ jid, load: loadIn(eventDataBytes(data)), minions: [id] });
  batch.writes.push(worker.stores.jobs.keepNewJob(jid, make));
}

/** Fields of a publish that are left out of a minion's own job. Some are credentials. */
const publisherFields: ReadonlySet<string> = new Set(["kwargs", "key", "token", "eauth", "username", "password"]);

/** The load of a job from a map of its fields, without `return` and `publisherFields`. The values are not decoded. */
export function loadIn(data: Uint8Array): Buffer {
  const kept = mapEntries(data).filter(({ key }) => key !== "return" && !publisherFields.has(String(key)));
  const part = ({ valueStart, valueEnd }: Entry) => new Packed(data.subarray(valueStart, valueEnd));
  return encode(new Map(kept.map((entry) => [entry.key ?? null, part(entry)])), "bin");
}
