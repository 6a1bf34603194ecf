/**
 * Streams of events for all HTTP readers: one reader of the bus, each event written out once. A reader that does not read loses its stream and
 * not the others' events.
 */
import { randomBytes } from "node:crypto";
import type { Writable } from "node:stream";
import type { EventHub } from "../../client/event-hub.ts";
import { hasCode } from "../../errors.ts";
import {
  apiDigestMs,
  apiStreamFlushMs,
  apiStreamKeptBytesMax,
  apiStreamLookMs,
  apiStreamPingMs,
  apiStreamsMax,
  apiStreamsUnreadBytesMax,
  apiStreamUnreadBytesMax,
} from "../../limits.ts";
import { splitEvent } from "../../wire/event.ts";
import { decode } from "../../wire/msgpack.ts";
import { jsonText } from "../http/json-text.ts";
import { EventDigest } from "./event-digest.ts";
import { textHead } from "./socket-frames.ts";

/** `events`: server-sent events. `messages`: a WebSocket message for each event. `digests`: WebSocket messages with summaries of jobs and minions. */
export type StreamForm = "events" | "messages" | "digests";

/** `text`: the event as a server-sent one; `dataAt` and `dataEnd` mark its line of data. `isGap`: it tells of a gap, and is not an event of that name. */
type Frame = {
  readonly number: number;
  readonly tag: string;
  readonly isGap: boolean;
  readonly text: Buffer;
  readonly dataAt: number;
  readonly dataEnd: number;
};

export type StreamOptions = {
  readonly form: StreamForm;
  /** Where bytes go: the response, or the socket of a WebSocket. */
  readonly output: Pick<Writable, "write" | "writableLength" | "destroy" | "destroyed" | "once">;
  /** Ends the stream in the form's own way. */
  readonly end: () => void;
  /** Called every `pingMs`. */
  readonly ping: () => void;
  /** Undefined: all events. */
  readonly isWanted: ((tag: string) => boolean) | undefined;
  /** Whether the reader may still read: asked every `apiStreamLookMs`. */
  readonly isAllowed: () => boolean;
  /** Whether the reader, whose form has answers to pings, gave none for too long: asked every `apiStreamLookMs`. */
  readonly isSilent?: () => boolean;
  /** The id of the last event that the reader has. */
  readonly lastId: string | undefined;
  /** Events are sent only after `start` of the reader. */
  readonly isWaiting: boolean;
};
type Reader = Omit<StreamOptions, "lastId" | "isWaiting"> & { isWaiting: boolean };

/** Tag of the event that tells a reader that it may have missed events. Tag filters do not hold it back. */
const gapTag = "saltworks/events/gap";
/** `master`: the connection to the master's bus was lost and is there again, or the master dropped events because the API read too slowly. `old`: the reader's last event is older than all that are kept. `restart`: it is of an earlier run of the API. */
type GapReason = "master" | "old" | "restart";
const gapHead = Buffer.from(`tag: ${gapTag}\n`);

const idForm = /^([0-9a-f]{8})-(\d{1,15})$/;
const messageEnd = Buffer.from("\n\n");

/** A message's frame, whose text is the line of data and two line ends. */
function messageOf({ text, dataAt, dataEnd }: Frame): Buffer {
  const data = text.subarray(dataAt, dataEnd);
  return Buffer.concat([textHead(data.byteLength + messageEnd.byteLength), data, messageEnd]);
}

function bytesOf(frames: readonly Frame[], form: StreamForm): Buffer {
  return Buffer.concat(frames.map((frame) => (form === "messages" ? messageOf(frame) : frame.text)));
}

/** A disk that fails for a moment ends no stream: the next look asks again. */
function isStillAllowed({ isAllowed }: Reader): boolean {
  try {
    return isAllowed();
  } catch (error) {
    if (hasCode(error, "STORE_FAILED")) return true;
    throw error;
  }
}

function gapLine(reason: GapReason): Buffer {
  return Buffer.from(`data: ${jsonText({ tag: gapTag, data: { reason } })}`);
}

export class EventStreams {
  /** `gaps` that readers were told of, or that all of them were. */
  readonly counters = {
    opened: 0,
    refused: 0,
    closedUnread: 0,
    closedExpired: 0,
    closedSilent: 0,
    unreadable: 0,
    gaps: 0,
  };
  readonly #hub: Pick<EventHub, "watch" | "tried">;
  readonly #pingMs: number;
  readonly #readers = new Set<Reader>();
  /** Names this run, so that numbers of a former one are not taken for ours. */
  readonly #run = randomBytes(4).toString("hex");
  #kept: Frame[] = [];
  #keptBytes = 0;
  #next = 1;
  /** Number of the newest event that is no longer kept. */
  #forgotten = 0;
  #pending: Frame[] = [];
  /** Exists while there are readers of digests. */
  #digest: EventDigest | undefined;
  #digestTimer: NodeJS.Timeout | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #pingedMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(hub: Pick<EventHub, "watch" | "tried">, pingMs: number = apiStreamPingMs) {
    this.#hub = hub;
    this.#pingMs = pingMs;
  }

  get count(): number {
    return this.#readers.size;
  }

  get isFull(): boolean {
    return this.#readers.size >= apiStreamsMax;
  }

  /** Adds a reader whose head was sent. @returns a function that ends its wait */
  open({ lastId, ...reader }: StreamOptions): () => void {
    this.#start();
    // A reader that left before its stream was open would never be removed.
    if (reader.output.destroyed) return () => undefined;
    this.counters.opened += 1;
    this.#flush();
    const missed = this.#since(lastId);
    if (missed.length > 0) this.#write(reader, missed);
    this.#readers.add(reader);
    if (reader.form === "digests") this.#digest ??= new EventDigest();
    reader.output.once("close", () => this.#remove(reader));
    // A reader has its own copy of what it missed, all that is kept at worst.
    if (missed.length > 0) this.#boundAll();
    return () => {
      this.#flush();
      reader.isWaiting = false;
    };
  }

  /** Resolves when the bus is read, or could not be connected at once. Events that are fired from then on reach a new reader. */
  async ready(): Promise<void> {
    this.#start();
    await this.#hub.tried();
  }

  close(): void {
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#digestTimer);
    clearInterval(this.#lookTimer);
    this.#unwatch?.();
    for (const { output } of this.#readers) output.destroy();
    this.#readers.clear();
  }

  #remove(reader: Reader): void {
    this.#readers.delete(reader);
    if (reader.form === "digests" && ![...this.#readers].some(({ form }) => form === "digests"))
      this.#digest = undefined;
  }

  /** Begins to read the bus at the first reader, and goes on, so that readers that come back miss nothing. */
  #start(): void {
    if (this.#unwatch !== undefined) return;
    this.#unwatch = this.#hub.watch(
      (body) => this.#take(body),
      () => this.#add(gapTag, gapHead, gapLine("master"), true),
    );
    this.#pingedMs = performance.now();
    this.#lookTimer = setInterval(() => this.#look(), apiStreamLookMs).unref();
  }

  #take(body: Uint8Array): void {
    let tag: string;
    let json: string;
    try {
      const { tag: own, data } = splitEvent(body);
      tag = own;
      const value = decode(data);
      json = jsonText({ tag, data: value });
      this.#summarise(tag, value);
    } catch {
      // A minion may fire what cannot be decoded, and a local program what has no tag. The other events go on.
      this.counters.unreadable += 1;
      return;
    }
    this.#add(tag, Buffer.from(`tag: ${tag.replaceAll(/[\r\n]/g, " ")}\n`), Buffer.from(`data: ${json}`));
  }

  #add(tag: string, head: Buffer, line: Buffer, isGap = false): void {
    const number = this.#next;
    this.#next += 1;
    if (isGap) this.counters.gaps += 1;
    const text = Buffer.concat([head, line, Buffer.from(`\nid: ${this.#run}-${number}\n\n`)]);
    const dataAt = head.byteLength;
    const frame = { number, tag, isGap, text, dataAt, dataEnd: dataAt + line.byteLength };
    this.#kept.push(frame);
    this.#keptBytes += text.byteLength;
    if (this.#keptBytes > apiStreamKeptBytesMax) this.#forget();
    this.#pending.push(frame);
    const { few, many, manyReaders } = apiStreamFlushMs;
    this.#flushTimer ??= setTimeout(() => this.#flush(), this.#readers.size > manyReaders ? many : few);
  }

  #summarise(tag: string, data: ReturnType<typeof decode>): void {
    if (this.#digest?.take(tag, data) !== true) return;
    this.#digestTimer ??= setTimeout(() => {
      this.#digestTimer = undefined;
      const frames = (this.#digest?.texts() ?? []).flatMap((text) => [textHead(Buffer.byteLength(text)), text]);
      const bytes = Buffer.concat(frames.map((part) => Buffer.from(part)));
      for (const reader of this.#readers) if (reader.form === "digests" && !reader.isWaiting) this.#send(reader, bytes);
      this.#boundAll();
    }, apiDigestMs);
  }

  /** Drops half of what is kept, so that the list moves seldom. */
  #forget(): void {
    let start = 0;
    while (this.#keptBytes > apiStreamKeptBytesMax / 2 && start < this.#kept.length) {
      this.#keptBytes -= this.#kept[start]?.text.byteLength ?? 0;
      this.#forgotten = this.#kept[start]?.number ?? this.#forgotten;
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
    const whole = new Map<StreamForm, Buffer>();
    for (const reader of this.#readers) {
      const { form, isWanted, isWaiting } = reader;
      if (isWaiting || form === "digests") continue;
      if (isWanted !== undefined) this.#write(reader, frames);
      else {
        const bytes = whole.get(form) ?? bytesOf(frames, form);
        whole.set(form, bytes);
        this.#send(reader, bytes);
      }
    }
    this.#boundAll();
  }

  /** Closes readers with the most unread bytes until all together are within their bound. */
  #boundAll(): void {
    const unread = (reader: Reader) => reader.output.writableLength;
    let sum = 0;
    for (const reader of this.#readers) sum += unread(reader);
    if (sum <= apiStreamsUnreadBytesMax) return;
    for (const reader of [...this.#readers].sort((a, b) => unread(b) - unread(a))) {
      if (sum <= apiStreamsUnreadBytesMax) return;
      sum -= unread(reader);
      this.#closeUnread(reader);
    }
  }

  #closeUnread(reader: Reader): void {
    this.counters.closedUnread += 1;
    this.#remove(reader);
    reader.output.destroy();
  }

  #write(reader: Reader, frames: readonly Frame[]): void {
    const { isWanted, form } = reader;
    const wanted = isWanted === undefined ? frames : frames.filter(({ tag, isGap }) => isGap || isWanted(tag));
    if (wanted.length > 0) this.#send(reader, bytesOf(wanted, form));
  }

  #send(reader: Reader, bytes: Buffer): void {
    const { output } = reader;
    if (output.writableLength > apiStreamUnreadBytesMax) this.#closeUnread(reader);
    else output.write(bytes);
  }

  #since(lastId: string | undefined): Frame[] {
    if (lastId === undefined) return [];
    const [, run, number] = idForm.exec(lastId) ?? [];
    // All that this run has seen is newer than an event of an earlier one.
    if (run !== this.#run) return [this.#gap("restart"), ...this.#kept];
    const missed = this.#kept.filter((frame) => frame.number > Number(number));
    return Number(number) < this.#forgotten ? [this.#gap("old"), ...missed] : missed;
  }

  /** For one reader, without a number: its last event stays the one that it has. */
  #gap(reason: GapReason): Frame {
    this.counters.gaps += 1;
    const line = gapLine(reason);
    const text = Buffer.concat([gapHead, line, messageEnd]);
    const dataAt = gapHead.byteLength;
    return { number: 0, tag: gapTag, isGap: true, text, dataAt, dataEnd: dataAt + line.byteLength };
  }

  #look(): void {
    const isPing = performance.now() - this.#pingedMs >= this.#pingMs;
    if (isPing) this.#pingedMs = performance.now();
    for (const reader of this.#readers) {
      // An answer that waits behind another one of its connection has no `close`.
      if (reader.output.destroyed) this.#remove(reader);
      else if (!isStillAllowed(reader)) {
        this.counters.closedExpired += 1;
        this.#remove(reader);
        reader.end();
      } else if (reader.isSilent?.() === true) {
        this.counters.closedSilent += 1;
        this.#remove(reader);
        reader.output.destroy();
      } else if (isPing) reader.ping();
    }
  }
}
