/**
 * The minion's own event bus: two sockets under `sock_dir`, where Salt's tools look for them.
 * Source: docs/protocol.md section 10.2.
 */
import { mkdir } from "node:fs/promises";
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { EventStreamServer } from "../../transport/event-stream-server.ts";
import { decodeEvent, frameEvent } from "../../wire/event.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { busPaths, stampedEvent } from "./fire.ts";

type BusConfig = Pick<MinionConfig, "id" | "sock_dir" | "hash_type" | "max_event_size">;

export type BusOptions = {
  readonly config: BusConfig;
  readonly log: Logger;
  /** Gets every event, from this process and from others. */
  readonly onEvent: (tag: string, data: ValueMap) => void;
};

export class MinionBus {
  readonly #server: EventStreamServer;
  readonly #options: BusOptions;

  private constructor(server: EventStreamServer, options: BusOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** @throws SaltworksError MASTER_RUNNING if another minion of this id runs, CONFIG_INVALID for paths that cannot be sockets */
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
      onRefused: () => log.warn("too many programs are connected to the minion's event bus: a connection was refused"),
      onBadFrame: (error) => log.warn({ err: error }, "bytes on the minion's event bus are not an event"),
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

/** Limit of unread bytes for one reader, in events of the largest size (`max_event_size`). */
const subscriberEventsMax = 16;
