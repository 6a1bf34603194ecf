/**
 * The master's event bus: Salt's sockets, and the methods by which the master itself fires.
 * docs/protocol.md section 10.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { EventStreamServer } from "../../transport/event-stream-server.ts";
import { encodeEvent, frameEvent, frameMasterEvent } from "../../wire/event.ts";
import type { Encodable } from "../../wire/values.ts";
import { RefusalLog } from "../log/refusal-log.ts";

export type BusOptions = {
  readonly sockDir: string;
  readonly subscriberBytesMax: number;
  readonly logger: Logger;
};

type EventData = { readonly [key: string]: Encodable } | ReadonlyMap<Encodable, Encodable>;

/** UTC time as Salt writes it: with microseconds, without a zone. */
function stamp(): string {
  const micros = Math.floor(((performance.timeOrigin + performance.now()) % 1) * 1_000);
  return `${new Date().toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}`;
}

function framed(tag: string, data: EventData, frame: (body: Uint8Array) => Buffer): Buffer {
  const fields = new Map<Encodable, Encodable>(data instanceof Map ? data : Object.entries(data));
  fields.set("_stamp", stamp());
  return frame(encodeEvent(tag, fields));
}

export class Bus {
  readonly counters = { fired: 0, ofWorkers: 0, pulled: 0, badFrames: 0, turnedAway: 0 };
  /** Gets the frames of all events but those of other members. It neither changes them nor throws. */
  tap: ((frames: Uint8Array, eventCount: number) => void) | undefined;
  /** As `tap`, for the reactor. */
  reactor: ((frames: Uint8Array) => void) | undefined;
  readonly #server: EventStreamServer;

  private constructor(server: EventStreamServer) {
    this.#server = server;
  }

  /** @throws SaltworksError MASTER_RUNNING if another master answers on these sockets */
  static async open(options: BusOptions): Promise<Bus> {
    const opened: { bus?: Bus } = {};
    const refusals = new RefusalLog(options.logger, Date.now);
    const server = await EventStreamServer.listen({
      pubPath: join(options.sockDir, "master_event_pub.ipc"),
      pullPath: join(options.sockDir, "master_event_pull.ipc"),
      pubMode: 0o660,
      pullMode: 0o600,
      subscriberBytesMax: options.subscriberBytesMax,
      onEvent: (body) => opened.bus?.relay(body),
      onSubscriberDrop: (droppedEvents) =>
        options.logger.warn({ droppedEvents }, "a slow event subscriber lost events"),
      onRefused: () => {
        if (opened.bus !== undefined) opened.bus.counters.turnedAway += 1;
        refusals.note({}, "too many programs are connected to the event bus: one was turned away");
      },
      onBadFrame: (error) => {
        if (opened.bus !== undefined) opened.bus.counters.badFrames += 1;
        options.logger.warn({ err: error }, "unreadable bytes on the event socket");
      },
    });
    // Salt's command line tests only whether these files exist.
    for (const name of ["publish_pull.ipc", "workers.ipc"]) {
      // A Salt master leaves sockets of these names, and a socket cannot be opened for writing.
      rmSync(join(options.sockDir, name), { force: true });
      writeFileSync(join(options.sockDir, name), "", { mode: 0o600 });
    }
    opened.bus = new Bus(server);
    return opened.bus;
  }

  get subscriberCount(): number {
    return this.#server.subscriberCount;
  }

  /** Whether anything takes events. If not, they need not be encoded. */
  get isHeard(): boolean {
    return this.#server.subscriberCount > 0 || this.tap !== undefined || this.reactor !== undefined;
  }

  /** Whether anything takes events of the cluster's other members. */
  get isSubscribed(): boolean {
    return this.#server.subscriberCount > 0;
  }

  get fullestSubscriberBytes(): number {
    return this.#server.fullestSubscriberBytes;
  }

  get droppedEvents(): number {
    return this.#server.droppedEvents;
  }

  /** Fires an event of the master itself. `_stamp` is the last field. */
  fire(tag: string, data: EventData): void {
    this.#fire(tag, data, frameMasterEvent);
  }

  /** As `fire`, for what another member of the cluster did: subscribers get it. `tap` and `reactor` do not, because that member's act on it. */
  fireElsewhere(tag: string, data: EventData): void {
    this.counters.fired += 1;
    if (this.isSubscribed) this.#server.publish(framed(tag, data, frameMasterEvent));
  }

  /** Fires an event with an operator's tag and data, without the master's mark. */
  fireForOperator(tag: string, data: EventData): void {
    this.#fire(tag, data, frameEvent);
  }

  #fire(tag: string, data: EventData, frame: (body: Uint8Array) => Buffer): void {
    this.counters.fired += 1;
    // Encoding a job's 100,000 minions for no subscriber would waste megabytes.
    if (!this.isHeard) return;
    this.#publish(framed(tag, data, frame), 1);
  }

  /** Publishes event frames that a worker has encoded. */
  publishFrames(frames: Uint8Array, eventCount: number): void {
    if (eventCount === 0) return;
    this.counters.ofWorkers += eventCount;
    this.#publish(frames, eventCount);
  }

  /** As `publishFrames`, for what another member of the cluster took. `tap` and `reactor` do not get it. */
  publishElsewhere(frames: Uint8Array, eventCount: number): void {
    if (eventCount === 0) return;
    this.counters.ofWorkers += eventCount;
    this.#server.publish(frames, eventCount);
  }

  /** Publishes an event that a local program wrote to the pull socket (mode 0600), unchanged and without the master's mark. */
  relay(body: Uint8Array): void {
    this.counters.pulled += 1;
    this.#publish(frameEvent(body), 1);
  }

  #publish(frames: Uint8Array, eventCount: number): void {
    this.#server.publish(frames, eventCount);
    this.tap?.(frames, eventCount);
    this.reactor?.(frames);
  }

  async close(): Promise<void> {
    await this.#server.close();
  }
}
