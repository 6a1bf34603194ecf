/**
 * All returners of `event_return`, in their thread: takes the frames of the event bus, leaves out what the lists leave out, and keeps a shipper for each
 * returner busy. A returner that fails holds up no other.
 */
import { setTimeout as pause } from "node:timers/promises";
import { eventReturnsOf } from "../../config/options/event-returns.ts";
import { FrameReader, splitEvent } from "../../wire/event.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import type { EventSink } from "../contract/events.ts";
import { tagFilter } from "./filter.ts";
import { openEventSink } from "./registry.ts";
import { EventShipper, type ReturnerState, type ShipperOptions } from "./shipper.ts";

/** How often a stopping thread looks whether all is written. */
const finishLookMs = 10;

/** `filtered`: left out by the lists. `unreadable`: frames without a tag. */
export type EventsTaken = { readonly taken: number; readonly filtered: number; readonly unreadable: number };
export type EventReturnStates = { readonly counters: EventsTaken; readonly returners: readonly ReturnerState[] };

export class EventReturning {
  readonly #counters = { taken: 0, filtered: 0, unreadable: 0 };
  readonly #isWanted: (tag: string) => boolean;
  readonly #shippers: readonly EventShipper[];
  readonly #running: Promise<unknown>;
  #isClosed = false;
  #wake = new AbortController();

  /** @param others - returners that are not built here. @throws SaltworksError PACKAGE_MISSING */
  constructor(config: DatabaseConfig, others: readonly EventSink[] = []) {
    this.#isWanted = tagFilter(textsOf(config.event_return_whitelist), textsOf(config.event_return_blacklist));
    const options = shipperOptions(config);
    const sinks = [...eventReturnsOf(config).map((name) => openEventSink(config, name)), ...others];
    this.#shippers = sinks.map((sink) => new EventShipper(sink, options));
    this.#running = Promise.all(this.#shippers.map((shipper) => this.#run(shipper)));
  }

  /** `frames`: whole frames, which nothing else uses. */
  take(frames: Uint8Array): void {
    const atMs = performance.now();
    const bodies = new FrameReader().push(frames);
    const wanted = bodies.flatMap((body) => this.#readTag(body));
    // What waits keeps the memory of its chunk, so a few events of many get memory of their own.
    const bytes = wanted.reduce((sum, { data }) => sum + data.byteLength, 0);
    const isSparse = bytes < frames.byteLength / 2;
    for (const { tag, data } of wanted) {
      this.#counters.taken += 1;
      const event = { tag, data: isSparse ? data.slice() : data, serial: this.#counters.taken, atMs };
      for (const shipper of this.#shippers) shipper.offer(event);
    }
    this.#wakeAll();
  }

  states(): EventReturnStates {
    const nowMs = performance.now();
    return { counters: { ...this.#counters }, returners: this.#shippers.map((shipper) => shipper.state(nowMs)) };
  }

  /** Writes what waits for at most `withinMs`, without another try after a failure. The states afterwards say what is left. */
  async finish(withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    for (const shipper of this.#shippers) shipper.finish();
    this.#wakeAll();
    const isOver = ({ waiting, isFailing }: EventShipper) => waiting === 0 || isFailing;
    while (!this.#shippers.every(isOver) && performance.now() < endMs) await pause(finishLookMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wakeAll();
    await Promise.all(this.#shippers.map((shipper) => shipper.close()));
    await this.#running;
  }

  #readTag(body: Uint8Array): { readonly tag: string; readonly data: Uint8Array }[] {
    try {
      const event = splitEvent(body);
      if (this.#isWanted(event.tag)) return [event];
      this.#counters.filtered += 1;
    } catch {
      // Other subscribers of the bus drop it too.
      this.#counters.unreadable += 1;
    }
    return [];
  }

  async #run(shipper: EventShipper): Promise<void> {
    while (!this.#isClosed) {
      const waitMs = shipper.waitMs(performance.now());
      if (waitMs <= 0) await shipper.step(performance.now());
      else await this.#sleep(waitMs);
    }
  }

  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#wake;
    await pause(Math.min(ms, sleepMsMax), undefined, { signal }).catch((error: Error) => {
      if (error.name !== "AbortError") throw error;
    });
  }

  #wakeAll(): void {
    this.#wake.abort();
    this.#wake = new AbortController();
  }
}

/** A timer takes no infinity. */
const sleepMsMax = 60_000;

function shipperOptions(config: DatabaseConfig): ShipperOptions {
  const { event_return_queue: gathered, event_return_queue_max_seconds: seconds } = config;
  const eventsMax = config.event_return_waiting_max;
  return {
    eventsMax,
    bytesMax: config.event_return_waiting_max_bytes,
    gatherEvents: Math.min(Math.max(1, gathered), eventsMax),
    gatherMsMax: seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY,
  };
}

function textsOf(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === "string");
}
