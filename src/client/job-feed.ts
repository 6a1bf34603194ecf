/**
 * The events of one job, in order. Connects before the job is published, so that no return is missed. The buffer is bounded:
 * returns that do not fit are read from the store later. Except for reports of states, only the master's own events count, because a
 * minion could send an event with another minion's return in it.
 * Source: docs/protocol.md sections 10.3 and 11.3.
 */
import { SaltworksError } from "../errors.ts";
import { earlyEventsMax, jobFeedBytesMax, jobLookMs } from "../limits.ts";
import { EventSubscriber } from "../transport/event-stream-client.ts";
import { splitEvent } from "../wire/event.ts";
import { listField, mapField } from "../wire/fields.ts";
import { decode } from "../wire/msgpack.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import type { ConnectBus } from "./event-hub.ts";
import { lostBus } from "./texts.ts";

/** `data` of a return: the event's map, packed; undefined if the buffer was full. `silence`: no event came for `silenceMs`. */
export type FeedItem =
  | { readonly kind: "return"; readonly id: string; readonly data: Uint8Array | undefined }
  | {
      readonly kind: "done";
      readonly returned: readonly string[];
      readonly silent: ReadonlyMap<string, string>;
      readonly reasons: ReadonlyMap<string, string>;
    }
  | { readonly kind: "expected"; readonly minions: readonly string[]; readonly missing: readonly string[] }
  | { readonly kind: "silence" };

export type JobEnd = Extract<FeedItem, { kind: "done" }>;

const tagPattern = /^(?:salt|saltworks)\/job\/([^/]+)\/(?:(new|done)$|(prog)\/|ret\/([^/]+)$)/;
const lineFeed = 0x0a;
const tagStarts = [Buffer.from("salt/job/"), Buffer.from("saltworks/job/")];

/** Bounds of the buffers, and the time without events that counts as silence. Tests use smaller values. */
export type JobFeedRoom = { readonly bytesMax: number; readonly earlyEventsMax: number; readonly silenceMs: number };

export class JobFeed {
  /** Number of states that minions with `state_events` have reported. */
  stateCount = 0;
  /** Called after each report of a state. */
  onState: (() => void) | undefined;
  /** Number of events that were dropped before the job id was known. */
  earlyEventsForgotten = 0;
  readonly #room: JobFeedRoom;
  readonly #early: Uint8Array[] = [];
  #earlyBytes = 0;
  readonly #items: FeedItem[] = [];
  #subscriber: { readonly close: () => void } | undefined;
  #jid: string | undefined;
  /** Beginnings of the tags that count: of all jobs until the job id is known. */
  #starts: readonly Buffer[] = tagStarts;
  #bytes = 0;
  #failure: SaltworksError | undefined;
  #wake: (() => void) | undefined;

  private constructor(room: JobFeedRoom) {
    this.#room = room;
  }

  /** @throws SaltworksError MASTER_UNREACHABLE */
  static async open(
    pubPath: string,
    room: JobFeedRoom = { bytesMax: jobFeedBytesMax, earlyEventsMax, silenceMs: jobLookMs },
    connect: ConnectBus = EventSubscriber.connect,
  ): Promise<JobFeed> {
    const feed = new JobFeed(room);
    feed.#subscriber = await connect(pubPath, {
      onEvent: (body, isMasters) => {
        // Of events that minions send, only reports of states count.
        if (isMasters || isProgress(body)) feed.#take(body);
      },
      onClose: (error) => {
        feed.#failure = lostBus(error);
        feed.#wake?.();
      },
    });
    return feed;
  }

  /** Drops the events of other jobs, and keeps early events of this job. */
  follow(jid: string): void {
    this.#jid = jid;
    this.#starts = tagStarts.map((start) => Buffer.from(`${start}${jid}/`));
    for (const body of this.#early.splice(0)) this.#take(body);
  }

  /** @throws SaltworksError MASTER_UNREACHABLE once the bus is lost and every received event has been read */
  async next(): Promise<FeedItem> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) {
        if (item.kind === "return") this.#bytes -= item.data?.byteLength ?? 0;
        return item;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (!(await this.#isWoken())) return { kind: "silence" };
    }
  }

  /** @returns false if no event came for `silenceMs` */
  #isWoken(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.#room.silenceMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  /** A caller that waits in `next` gets CHANNEL_CLOSED. */
  close(): void {
    this.#subscriber?.close();
    this.#items.length = 0;
    this.#failure ??= new SaltworksError("CHANNEL_CLOSED", "this client stopped following the job");
    this.#wake?.();
  }

  #take(body: Uint8Array): void {
    if (!this.#starts.some((start) => start.equals(body.subarray(0, start.length)))) return;
    if (this.#jid === undefined) {
      // Buffers the events of all jobs until the reply to the publish tells the job id. Over the bounds the oldest are
      // dropped; lost returns are read from the store.
      this.#early.push(body);
      this.#earlyBytes += body.byteLength;
      while (this.#early.length > this.#room.earlyEventsMax || this.#earlyBytes > this.#room.bytesMax) {
        this.#earlyBytes -= this.#early.shift()?.byteLength ?? 0;
        this.earlyEventsForgotten += 1;
      }
      return;
    }
    const { tag, data } = splitEvent(body);
    const [, jid, name, state, id] = tagPattern.exec(tag) ?? [];
    if (jid !== this.#jid) return;
    if (state !== undefined) this.#noteState();
    else if (id !== undefined) this.#offerReturn(id, data);
    else if (name === "done" && tag.startsWith("saltworks/")) this.#offer(readDone(data));
    else if (name === "new") this.#offer(readExpected(data));
  }

  #noteState(): void {
    this.stateCount += 1;
    this.onState?.();
  }

  #offerReturn(id: string, data: Uint8Array): void {
    const hasRoom = this.#bytes + data.byteLength <= this.#room.bytesMax;
    if (hasRoom) this.#bytes += data.byteLength;
    this.#offer({ kind: "return", id, data: hasRoom ? data : undefined });
  }

  #offer(item: FeedItem): void {
    this.#items.push(item);
    this.#wake?.();
  }
}

/** Whether the tag is `salt/job/JID/prog/..`, which minions send themselves. */
function isProgress(body: Uint8Array): boolean {
  const tagEnd = body.indexOf(lineFeed);
  return tagPattern.exec(Buffer.from(body.buffer, body.byteOffset, Math.max(0, tagEnd)).toString())?.[3] !== undefined;
}

function readDone(data: Uint8Array): JobEnd {
  return toJobEnd(decode(data));
}

/** Reads the master's report of a finished job, from its event or from a reply of `saltworks.job_end`. */
export function toJobEnd(fields: Value): JobEnd {
  const map = fields instanceof Map ? fields : new Map();
  const [silent, reasons] = [textsById(mapField(map, "silent")), textsById(mapField(map, "reasons"))];
  return { kind: "done", returned: texts(listField(map, "returned")), silent, reasons };
}

/** Masters with lower masters announce further expected minions while the job runs. */
function readExpected(data: Uint8Array): FeedItem {
  const fields = decode(data);
  const map = fields instanceof Map ? fields : new Map();
  return { kind: "expected", minions: texts(listField(map, "minions")), missing: texts(listField(map, "missing")) };
}

export function textsById(map: ValueMap | undefined): Map<string, string> {
  return new Map([...(map ?? [])].map(([id, text]) => [String(id), String(text)] as const));
}

export function texts(list: readonly unknown[] | undefined): string[] {
  return (list ?? []).map(String);
}
