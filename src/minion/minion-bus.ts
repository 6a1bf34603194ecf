/**
 * The minion's own event bus: two sockets under `sock_dir`, where Salt's tools look for them.
 * Source: docs/protocol.md section 10.2.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { MinionConfig } from "../config/schema.ts";
import { fireEvents } from "../transport/event-stream-client.ts";
import { EventStreamServer } from "../transport/event-stream-server.ts";
import { decodeEvent, encodeEvent, frameEvent } from "../wire/event.ts";
import type { Encodable, ValueMap } from "../wire/values.ts";
import { now, stampText } from "./functions/clock-text.ts";

type BusConfig = Pick<MinionConfig, "id" | "sock_dir" | "hash_type" | "max_event_size">;

type BusPlace = Pick<MinionConfig, "id" | "sock_dir" | "hash_type">;

export function busPaths(config: BusPlace): { pub: string; pull: string } {
  const digest = createHash(config.hash_type).update(config.id).digest("hex").slice(0, 10);
  return {
    pub: join(config.sock_dir, `minion_event_${digest}_pub.ipc`),
    pull: join(config.sock_dir, `minion_event_${digest}_pull.ipc`),
  };
}

/**
 * Fires on the bus of a minion that runs as another process. An event reader of this process that is connected already gets the answer: the bus
 * takes connections in turn, while a message to the minion by another way may overtake the reader's connection.
 *
 * @throws SaltworksError MASTER_UNREACHABLE if no minion runs
 */
export async function fireOnBus(config: BusPlace, tag: string, data: Encodable): Promise<void> {
  await fireEvents(busPaths(config).pull, [stampedEvent(tag, data)]);
}

/** With the time, as Salt's events have it. */
function stampedEvent(tag: string, data: Encodable): Uint8Array {
  const members = data instanceof Map ? data : new Map(Object.entries(data ?? {}));
  return encodeEvent(tag, new Map([...members, ["_stamp", stampText(now())]]));
}

export type BusOptions = {
  readonly config: BusConfig;
  readonly log: Logger;
  /** Every event, whatever program fired it. */
  readonly onEvent: (tag: string, data: ValueMap) => void;
};

export class MinionBus {
  readonly #server: EventStreamServer;
  readonly #options: BusOptions;

  private constructor(server: EventStreamServer, options: BusOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** @throws SaltworksError MASTER_RUNNING if another minion of this id is there, CONFIG_INVALID for paths that cannot be sockets */
  static async open(options: BusOptions): Promise<MinionBus> {
    const { config, log } = options;
    await mkdir(config.sock_dir, { recursive: true, mode: 0o755 });
    const paths = busPaths(config);
    const server = await EventStreamServer.listen({
      pubPath: paths.pub,
      pullPath: paths.pull,
      pubMode: 0o600,
      pullMode: 0o600,
      subscriberBytesMax: subscriberEventsMax * config.max_event_size,
      onEvent: (body) => bus.#take(body),
      onSubscriberDrop: (droppedEvents) => log.warn({ droppedEvents }, "a reader of the minion's events is too slow"),
      onRefused: () => log.warn("too many programs are connected to the minion's event bus: one was turned away"),
      onBadFrame: (error) => log.warn({ err: error }, "bytes on the minion's event bus are no events"),
    });
    const bus: MinionBus = new MinionBus(server, options);
    return bus;
  }

  fire(tag: string, data: Encodable): void {
    this.#take(stampedEvent(tag, data));
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  #take(body: Uint8Array): void {
    const { log, onEvent } = this.#options;
    this.#server.publish(frameEvent(body));
    try {
      const { tag, data } = decodeEvent(body);
      onEvent(tag, data);
    } catch (error) {
      log.warn({ err: error }, "an event on the minion's bus cannot be read");
    }
  }
}

/** Largest events that may wait for one reader. */
const subscriberEventsMax = 16;
