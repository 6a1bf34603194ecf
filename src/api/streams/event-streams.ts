/**
 * Streams of events for all HTTP readers: one reader of the bus, each event written out once. A reader that does not read loses its stream and
 * not the others' events.
 */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { EventHub } from "../../client/event-hub.ts";
import {
  apiStreamFlushMs,
  apiStreamKeptBytesMax,
  apiStreamLookMs,
  apiStreamPingMs,
  apiStreamsMax,
  apiStreamUnreadBytesMax,
} from "../../limits.ts";
import { splitEvent } from "../../wire/event.ts";
import { decode } from "../../wire/msgpack.ts";
import { jsonText } from "../http/json-text.ts";

type Frame = { readonly number: number; readonly tag: string; readonly text: Buffer };

export type StreamOptions = {
  readonly response: ServerResponse;
  /** Undefined: all events. */
  readonly isWanted: ((tag: string) => boolean) | undefined;
  /** Whether the reader may still read: asked every `apiStreamLookMs`. */
  readonly isAllowed: () => boolean;
  /** The id of the last event that the reader has. */
  readonly lastId: string | undefined;
};
type Reader = Pick<StreamOptions, "response" | "isWanted" | "isAllowed">;

const ping = Buffer.from(": ping\n\n");
const idForm = /^([0-9a-f]{8})-(\d{1,15})$/;

export class EventStreams {
  readonly counters = { opened: 0, refused: 0, closedUnread: 0, closedExpired: 0, unreadable: 0 };
  readonly #hub: EventHub;
  readonly #readers = new Set<Reader>();
  /** Names this run, so that numbers of a former one are not taken for ours. */
  readonly #run = randomBytes(4).toString("hex");
  #kept: Frame[] = [];
  #keptBytes = 0;
  #next = 1;
  #pending: Frame[] = [];
  #flushTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #pingedMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(hub: EventHub) {
    this.#hub = hub;
  }

  get count(): number {
    return this.#readers.size;
  }

  get isFull(): boolean {
    return this.#readers.size >= apiStreamsMax;
  }

  /** Adds a reader whose head was sent. */
  open({ lastId, ...reader }: StreamOptions): void {
    this.#start();
    this.counters.opened += 1;
    this.#flush();
    const missed = this.#since(lastId);
    if (missed.length > 0) this.#write(reader, missed);
    this.#readers.add(reader);
    reader.response.once("close", () => this.#readers.delete(reader));
  }

  close(): void {
    clearTimeout(this.#flushTimer);
    clearInterval(this.#lookTimer);
    this.#unwatch?.();
    for (const { response } of this.#readers) response.destroy();
    this.#readers.clear();
  }

  /** Begins to read the bus at the first reader, and goes on, so that readers that come back miss nothing. */
  #start(): void {
    if (this.#unwatch !== undefined) return;
    this.#unwatch = this.#hub.watch((body) => this.#take(body));
    this.#pingedMs = performance.now();
    this.#lookTimer = setInterval(() => this.#look(), apiStreamLookMs).unref();
  }

  #take(body: Uint8Array): void {
    const { tag, data } = splitEvent(body);
    const number = this.#next;
    this.#next += 1;
    let json: string;
    try {
      json = jsonText({ tag, data: decode(data) });
    } catch {
      // A minion may fire what cannot be decoded. The other events go on.
      this.counters.unreadable += 1;
      return;
    }
    const line = tag.replaceAll(/[\r\n]/g, " ");
    const text = Buffer.from(`tag: ${line}\ndata: ${json}\nid: ${this.#run}-${number}\n\n`);
    const frame = { number, tag, text };
    this.#kept.push(frame);
    this.#keptBytes += text.byteLength;
    if (this.#keptBytes > apiStreamKeptBytesMax) this.#forget();
    this.#pending.push(frame);
    const { few, many, manyReaders } = apiStreamFlushMs;
    this.#flushTimer ??= setTimeout(() => this.#flush(), this.#readers.size > manyReaders ? many : few);
  }

  /** Drops half of what is kept, so that the list moves seldom. */
  #forget(): void {
    let start = 0;
    while (this.#keptBytes > apiStreamKeptBytesMax / 2 && start < this.#kept.length) {
      this.#keptBytes -= this.#kept[start]?.text.byteLength ?? 0;
      start += 1;
    }
    this.#kept = this.#kept.slice(start);
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    const frames = this.#pending;
    this.#pending = [];
    if (frames.length === 0) return;
    const whole = Buffer.concat(frames.map(({ text }) => text));
    for (const reader of this.#readers)
      if (reader.isWanted === undefined) this.#send(reader, whole);
      else this.#write(reader, frames);
  }

  #write(reader: Reader, frames: readonly Frame[]): void {
    const { isWanted } = reader;
    const wanted = isWanted === undefined ? frames : frames.filter(({ tag }) => isWanted(tag));
    if (wanted.length > 0) this.#send(reader, Buffer.concat(wanted.map(({ text }) => text)));
  }

  #send(reader: Reader, bytes: Buffer): void {
    const { response } = reader;
    if (response.writableLength > apiStreamUnreadBytesMax) {
      this.counters.closedUnread += 1;
      this.#readers.delete(reader);
      response.destroy();
    } else response.write(bytes);
  }

  #since(lastId: string | undefined): Frame[] {
    const [, run, number] = idForm.exec(lastId ?? "") ?? [];
    return run === this.#run ? this.#kept.filter((frame) => frame.number > Number(number)) : [];
  }

  #look(): void {
    const isPing = performance.now() - this.#pingedMs >= apiStreamPingMs;
    if (isPing) this.#pingedMs = performance.now();
    for (const reader of this.#readers) {
      if (!reader.isAllowed()) {
        this.counters.closedExpired += 1;
        this.#readers.delete(reader);
        reader.response.end();
      } else if (isPing) this.#send(reader, ping);
    }
  }
}
