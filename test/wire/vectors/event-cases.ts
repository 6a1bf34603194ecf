/** Runs events_*.json, ipc_frames.json and jobcache.json: the events and stored jobs of real masters. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  decodeEvent,
  encodeEvent,
  encodeEventBytes,
  FrameReader,
  frameEvent,
  splitEvent,
} from "../../../src/wire/event.ts";
import { isJid } from "../../../src/wire/jid.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { trimEvent } from "../trim-event.ts";
import type { Ledger } from "./ledger.ts";
import { bytesFromBase64, bytesFromHex, type Json, type JsonMap, toPlainView } from "./view.ts";

/** The bodies that a reader returns when the stream comes in one piece, byte by byte, and in pieces of seven. */
function bodiesOf(stream: Buffer): Uint8Array[] {
  const whole = new FrameReader().push(stream);
  for (const size of [1, 7]) {
    const reader = new FrameReader();
    const found: Uint8Array[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.subarray(at, at + size)));
    assert.deepEqual(found.map(Buffer.from), whole.map(Buffer.from), `in pieces of ${size}`);
  }
  return whole;
}

function onlyBody(frame: Buffer): Uint8Array {
  const [body, ...others] = bodiesOf(frame);
  assert.ok(body !== undefined && others.length === 0, "one frame");
  return body;
}

export function runEvents(data: JsonMap, ledger: Ledger): void {
  for (const [index, item] of (data.events as JsonMap[]).entries()) {
    ledger.run(`events/${index}`, () =>
      checkEventFrame(bytesFromBase64(item.frame_b64), String(item.tag), item.data ?? null),
    );
  }
}

function checkEventFrame(frame: Buffer, tag: string, view: Json | undefined): void {
  const body = onlyBody(frame);
  const event = decodeEvent(body);
  assert.equal(event.tag, tag);
  if (view !== undefined) assert.deepEqual(toPlainView(event.data), view);
  assert.deepEqual(encodeEvent(tag, event.data), Buffer.from(body), "body written again");
  assert.deepEqual(encodeEventBytes(tag, splitEvent(body).data), Buffer.from(body), "body put together again");
  assert.deepEqual(frameEvent(body), frame, "frame written again");
}

export function runIpcFrames(data: JsonMap, ledger: Ledger): void {
  for (const [release, lists] of Object.entries(
    data.by_release as Record<string, { push: JsonMap[]; subscribe: JsonMap[] }>,
  )) {
    for (const [index, item] of lists.push.entries()) {
      ledger.run(`by_release/${release}/push/${index}`, () => {
        const frame = bytesFromHex(item.frame_hex);
        checkEventFrame(frame, String(item.tag), undefined);
      });
    }
    const first = bytesFromHex(lists.subscribe[0]?.frame_hex);
    for (const [index, item] of lists.subscribe.entries()) {
      ledger.run(`by_release/${release}/subscribe/${index}`, () => checkSubscribed(item, first));
    }
  }
}

/** Cases without a frame are about how the first case's bytes are written. */
function checkSubscribed(item: JsonMap, first: Buffer): void {
  const reader = new FrameReader();
  let bodies: Uint8Array[];
  if (item.frame_hex !== undefined) {
    bodies = bodiesOf(bytesFromHex(item.frame_hex));
  } else if (item.name === "frame split over two writes") {
    const half = first.length >> 1;
    bodies = [...reader.push(first.subarray(0, half)), ...reader.push(first.subarray(half))];
  } else {
    assert.equal(item.name, "two frames in one write");
    bodies = reader.push(Buffer.concat([first, first]));
  }
  const received = bodies.map((body) => {
    const event = decodeEvent(body);
    return { data: toPlainView(event.data), tag: event.tag };
  });
  assert.deepEqual(received, Array.isArray(item.received) ? item.received : [item.received]);
}

export function runJobCache(data: JsonMap, ledger: Ledger): void {
  for (const [release, jobs] of Object.entries(data.by_release as Record<string, JsonMap[]>)) {
    for (const [index, job] of jobs.entries()) {
      ledger.run(`by_release/${release}/${index}`, () => checkJob(job));
    }
  }
}

function checkJob(job: JsonMap): void {
  const jid = String(job.jid);
  const hash = createHash("sha256").update(jid).digest("hex");
  assert.ok(isJid(jid));
  assert.equal(job.dir, `${hash.slice(0, 2)}/${hash.slice(2)}`);
  const files = Object.entries(job.files_b64 as JsonMap);
  for (const [path, content] of files) {
    const bytes = bytesFromBase64(content);
    if (path === "jid") {
      assert.equal(bytes.toString("utf8"), jid);
      continue;
    }
    const value = decode(bytes);
    assert.deepEqual(encode(value, "bin"), bytes, `${path} written again`);
    if (path === ".load.p") assert.deepEqual(toPlainView(value), job.load);
    else if (path.startsWith(".minions")) assert.ok(Array.isArray(value), path);
    else assert.ok(path.endsWith("/return.p") && value instanceof Map && value.has("return"), path);
  }
}

export function runTrim(data: JsonMap, ledger: Ledger): void {
  for (const [index, item] of (data.cases as JsonMap[]).entries()) {
    ledger.run(`cases/${index}`, () => {
      const trimmed = trimEvent(bytesFromBase64(item.body_b64), Number(item.max_event_size));
      assert.deepEqual(
        toPlainView(decodeEvent(trimmed).data),
        toPlainView(decodeEvent(bytesFromBase64(item.trimmed_b64)).data),
        String(item.name),
      );
      assert.deepEqual(trimmed, bytesFromBase64(item.trimmed_b64), String(item.name));
    });
  }
}
