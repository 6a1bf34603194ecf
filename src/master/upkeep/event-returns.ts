/**
 * `event_return`: hands the frames of the event bus to the lane that writes them, unread, and tells the operator how far each returner is behind. The
 * memory of what is handed is bounded, and nothing waits for the lane. docs/decisions/0031-event-returns.md.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "pino";
import { hasCode } from "../../errors.ts";
import { databaseStopMs, eventsHandedBytesMax } from "../../limits.ts";
import type { EventReturnStatus } from "../../runners/contract/contract.ts";
import type { EventTask, EventTaskAnswer } from "../../workers/messages/lanes.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { Bus } from "../ports/bus.ts";
import { ReturnerReports, tellAgainMs } from "./returner-reports.ts";

/** Frames are handed over together: after this time, or once they have this many bytes. */
const handEveryMs = 25;
const handBytes = 256 * 1024;
/** Of the time that a stopping master gives, what the lane needs to answer. */
const answerMs = 500;
/** How often the lane is asked for its state. */
const lookEveryMs = 1_000;

export type EventReturnsParts = {
  readonly bus: Pick<Bus, "fire" | "tap">;
  /** Undefined without `event_return`. */
  readonly events: LanePool | undefined;
  readonly logger: Logger;
};

export class EventReturns {
  /** `handed`: to the lane. `dropped`: the lane took none in. `lost`: with a thread of the lane. */
  readonly counters = { handed: 0, dropped: 0, lost: 0, filtered: 0, unreadable: 0 };
  readonly #parts: EventReturnsParts;
  readonly #reports: ReturnerReports;
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #heldCount = 0;
  #timer: NodeJS.Timeout | undefined;
  #underWayBytes = 0;
  #thread: string | undefined;
  #former = { filtered: 0, unreadable: 0 };
  #latest = { filtered: 0, unreadable: 0 };
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(parts: EventReturnsParts) {
    this.#parts = parts;
    this.#reports = new ReturnerReports(parts.logger);
    if (parts.events !== undefined) {
      parts.bus.tap = (frames, count) => this.#take(frames, count);
      // As Salt's process for events says that it listens.
      parts.bus.fire("salt/event_listen/start", {});
    }
    this.#looking = this.#look();
  }

  get isConfigured(): boolean {
    return this.#parts.events !== undefined;
  }

  /** Bytes that the lane has not taken in. */
  get handedBytes(): number {
    return this.#heldBytes + this.#underWayBytes;
  }

  status(): readonly EventReturnStatus[] {
    return this.#reports.statuses(Date.now());
  }

  /** Call it when nothing fires events any more. Writes what waits for at most `databaseStopMs`; the rest is lost, and the log says how much. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#looking;
    const { bus, events, logger } = this.#parts;
    if (events === undefined) return;
    this.#hand();
    bus.tap = undefined;
    await this.#ask({ kind: "finish", withinMs: databaseStopMs - answerMs }, 0, 0);
    for (const { name, waiting, fault } of this.status())
      if (waiting > 0)
        logger.error(
          { returner: name, lost: waiting, fault },
          "events that waited for a returner are lost, because the master stops",
        );
  }

  #take(frames: Uint8Array, count: number): void {
    // One event may be larger than the bound.
    if (this.handedBytes > 0 && this.handedBytes + frames.byteLength > eventsHandedBytesMax) {
      this.counters.dropped += count;
      this.#tell("the thread of event_return takes no events in: new ones are dropped", this.counters.dropped);
      return;
    }
    this.#held.push(frames);
    this.#heldBytes += frames.byteLength;
    this.#heldCount += count;
    if (this.#heldBytes >= handBytes) this.#hand();
    else this.#timer ??= setTimeout(() => this.#hand(), handEveryMs);
  }

  /** Gives the lane a copy, because the bus still writes these frames to its subscribers. */
  #hand(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#held.length === 0) return;
    const frames = new Uint8Array(this.#heldBytes);
    let at = 0;
    for (const part of this.#held) {
      frames.set(part, at);
      at += part.byteLength;
    }
    const count = this.#heldCount;
    this.#held = [];
    this.#heldBytes = 0;
    this.#heldCount = 0;
    this.counters.handed += count;
    void this.#ask({ kind: "take", frames }, at, count);
  }

  async #look(): Promise<void> {
    while (this.isConfigured && !this.#stop.signal.aborted) {
      await this.#ask({ kind: "look" }, 0, 0);
      await pause(lookEveryMs, undefined, { signal: this.#stop.signal }).catch((error: Error) => {
        if (error.name !== "AbortError") throw error;
      });
    }
  }

  /** @param bytes - on their way with the task. @param count - events that are lost with it */
  async #ask(task: EventTask, bytes: number, count: number): Promise<void> {
    const transfer = task.kind === "take" ? [task.frames.buffer] : [];
    this.#underWayBytes += bytes;
    try {
      const answer = await this.#parts.events?.run<EventTaskAnswer>(task, { transfer });
      if (answer !== undefined) this.#note(answer);
    } catch (error) {
      if (hasCode(error, "CHANNEL_CLOSED") && count === 0) return;
      this.counters.lost += count;
      this.#tell("the thread of event_return failed", this.counters.lost, error as Error);
    } finally {
      this.#underWayBytes -= bytes;
    }
  }

  #note({ thread, counters, returners }: EventTaskAnswer): void {
    const isOther = this.#thread !== undefined && this.#thread !== thread;
    this.#thread = thread;
    if (isOther) this.#former = this.#latest;
    const { filtered, unreadable } = counters;
    this.#latest = { filtered: this.#former.filtered + filtered, unreadable: this.#former.unreadable + unreadable };
    Object.assign(this.counters, this.#latest);
    for (const state of returners) this.#reports.note(state, isOther);
  }

  #tell(text: string, events: number, err?: Error): void {
    if (performance.now() - this.#toldMs < tellAgainMs) return;
    this.#toldMs = performance.now();
    this.#parts.logger.error({ events, ...(err && { err }) }, text);
  }
}
