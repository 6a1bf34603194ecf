/**
 * Writes the events that wait for one returner, in batches, as Salt's `event_return_queue` asks. After a failure the events wait, and the next try comes
 * later each time. docs/decisions/0031-event-returns.md.
 */
import { hasCode } from "../../errors.ts";
import { databaseRetryMsMax, databaseRowsMax, logItemsMax } from "../../limits.ts";
import { decode } from "../../wire/msgpack.ts";
import type { EventRow, EventSink } from "../contract/events.ts";
import { jsonText } from "../contract/packed-json.ts";
import { narrowJson } from "../contract/rows.ts";
import { EventQueue, type HeldEvent, type QueueBounds } from "./queue.ts";

/** Bytes of events in one transaction. */
const batchBytesMax = 2 * 1024 * 1024;
/** The first wait after a failure. Each is twice the one before, with jitter, up to `databaseRetryMsMax`. */
const firstRetryMs = 250;

/** `gatherEvents`: all are written together once this many wait, `gatherMsMax`: or once one has waited this long. */
export type ShipperOptions = QueueBounds & { readonly gatherEvents: number; readonly gatherMsMax: number };

/** What a thread tells of one returner. Times are ages, because each thread has a clock of its own. */
export type ReturnerState = {
  readonly name: string;
  readonly place: string;
  readonly hasAnswered: boolean;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly oldestAgeMs: number | undefined;
  readonly fault: string | undefined;
  readonly nextTryInMs: number | undefined;
  /** Since the thread started. `dropped`: too much waited. `refused`: the returner does not take what the event holds. */
  readonly counters: Readonly<Record<ReturnerCount, number>>;
  /** A text for each of the first events that were refused since the last answer. */
  readonly refusals: readonly string[];
};
export const returnerCounts = ["written", "present", "refused", "dropped", "batches", "failures"] as const;
export type ReturnerCount = (typeof returnerCounts)[number];

type Refusal = { readonly tag: string; readonly reason: string };

export class EventShipper {
  readonly #sink: EventSink;
  readonly #o: ShipperOptions;
  readonly #queue: EventQueue;
  readonly #counters = { written: 0, present: 0, refused: 0, dropped: 0, batches: 0, failures: 0 };
  readonly #refusals: string[] = [];
  /** Events at the head that are to be written, whether or not more are gathered. */
  #due = 0;
  /** Rows of the next attempt. Fewer after a refusal, until the refused row is found. */
  #rowsMax = databaseRowsMax;
  #isChecked = false;
  #hasAnswered = false;
  /** The latest attempt may have written the rows at the head. */
  #isUnsure = false;
  #isFinishing = false;
  #fault: string | undefined;
  #retryMs = firstRetryMs;
  #nextTryMs = 0;

  constructor(sink: EventSink, o: ShipperOptions) {
    this.#sink = sink;
    this.#o = o;
    this.#queue = new EventQueue(o);
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get isFailing(): boolean {
    return this.#fault !== undefined;
  }

  offer(event: HeldEvent): void {
    if (this.#queue.add(event)) return;
    this.#counters.dropped += 1;
    // Gathering must not be the reason: what waits is written at once.
    this.#due = this.#queue.length;
  }

  /** From now on nothing is gathered, and the next step tries at once. */
  finish(): void {
    this.#isFinishing = true;
    this.#nextTryMs = 0;
  }

  /** Milliseconds until the next step has something to do; infinity until events come. */
  waitMs(nowMs: number): number {
    if (this.#nextTryMs > nowMs) return this.#nextTryMs - nowMs;
    if (!this.#isChecked) return 0;
    this.#gather(nowMs);
    if (this.#due > 0) return 0;
    const { oldest } = this.#queue;
    return oldest === undefined ? Number.POSITIVE_INFINITY : oldest.atMs + this.#o.gatherMsMax - nowMs;
  }

  /** Connects, or writes one batch of what is due. Never throws: a fault is part of the state. */
  async step(nowMs: number): Promise<void> {
    try {
      if (!this.#isChecked) {
        await this.#sink.check();
        this.#isChecked = true;
      }
      this.#gather(nowMs);
      if (this.#due > 0) await this.#writeBatch();
      this.#hasAnswered = true;
      this.#fault = undefined;
      this.#retryMs = firstRetryMs;
    } catch (error) {
      this.#fail(error as Error, nowMs);
    }
  }

  state(nowMs: number): ReturnerState {
    const { oldest } = this.#queue;
    return {
      ...{ name: this.#sink.name, place: this.#sink.place, hasAnswered: this.#hasAnswered, fault: this.#fault },
      ...{ waiting: this.#queue.length, waitingBytes: this.#queue.bytes },
      oldestAgeMs: oldest === undefined ? undefined : nowMs - oldest.atMs,
      nextTryInMs: this.#fault === undefined ? undefined : Math.max(0, this.#nextTryMs - nowMs),
      counters: { ...this.#counters },
      refusals: this.#refusals.splice(0),
    };
  }

  async close(): Promise<void> {
    await this.#sink.close();
  }

  /** As in Salt, all that waits is due once there is enough of it, or once the oldest has waited long enough. */
  #gather(nowMs: number): void {
    const { oldest, length } = this.#queue;
    if (oldest === undefined) return;
    const { gatherEvents, gatherMsMax } = this.#o;
    if (this.#isFinishing || length >= gatherEvents || nowMs - oldest.atMs >= gatherMsMax) this.#due = length;
  }

  async #writeBatch(): Promise<void> {
    const events = this.#queue.first(Math.min(this.#due, this.#rowsMax), batchBytesMax);
    const unreadable: Refusal[] = [];
    const rows = events.flatMap((event) => rowsOf(event, unreadable));
    try {
      await this.#write(rows);
    } catch (error) {
      if (!hasCode(error, "DATABASE_REFUSED")) throw error;
      if (events.length > 1) {
        this.#rowsMax = Math.ceil(events.length / 2);
        return;
      }
      await this.#writeNarrow(rows, error as Error);
    }
    for (const refusal of unreadable) this.#refuse(refusal);
    this.#isUnsure = false;
    this.#queue.removeFirst(events.length);
    this.#due -= events.length;
    this.#rowsMax = Math.min(2 * this.#rowsMax, databaseRowsMax);
  }

  async #write(rows: readonly EventRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { added, present } = await this.#sink.write(rows, { mayBePresent: this.#isUnsure });
    this.#counters.batches += 1;
    this.#counters.written += added;
    this.#counters.present += present;
  }

  /** Tables of Salt's documentation hold no characters beyond U+FFFF. As escapes in the JSON they mean the same. */
  async #writeNarrow(rows: readonly EventRow[], refusal: Error): Promise<void> {
    const narrow = rows.map((row) => ({ ...row, data: narrowJson(row.data) }));
    try {
      if (narrow.every(({ data }, index) => data === rows[index]?.data)) throw refusal;
      await this.#write(narrow);
    } catch (error) {
      if (!hasCode(error, "DATABASE_REFUSED")) throw error;
      for (const { tag } of rows) this.#refuse({ tag, reason: refusal.message });
    }
  }

  #refuse({ tag, reason }: Refusal): void {
    this.#counters.refused += 1;
    if (this.#refusals.length < logItemsMax) this.#refusals.push(`${JSON.stringify(tag)}: ${reason}`);
  }

  #fail({ message }: Error, nowMs: number): void {
    this.#isUnsure ||= this.#isChecked;
    this.#isChecked = false;
    this.#counters.failures += 1;
    this.#fault = message;
    // Jitter, so that several masters do not come back to a database at once.
    this.#nextTryMs = nowMs + this.#retryMs * (0.5 + Math.random() / 2);
    this.#retryMs = Math.min(2 * this.#retryMs, databaseRetryMsMax);
  }
}

function rowsOf({ tag, data, serial }: HeldEvent, unreadable: Refusal[]): readonly EventRow[] {
  try {
    return [{ tag, data: jsonText(decode(data)), serial }];
  } catch (error) {
    unreadable.push({ tag, reason: (error as Error).message });
    return [];
  }
}
