/** One connection to the master's event bus for all that a long-lived client follows. Connects again by itself while it has watchers. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { SaltworksError } from "../errors.ts";
import { watchReconnectMs } from "../limits.ts";
import { EventSubscriber, type SubscriberOptions } from "../transport/event-stream-client.ts";
import { lostBus } from "./texts.ts";

/** Connects to the event bus, as `EventSubscriber.connect`. */
export type ConnectBus = (pubPath: string, options: SubscriberOptions) => Promise<{ readonly close: () => void }>;
/** One event: `isMasters` as in `SubscriberOptions`. */
export type EventListener = (body: Uint8Array, isMasters: boolean) => void;

export class EventHub {
  readonly counters = { events: 0, connections: 0, losses: 0 };
  readonly #path: string;
  /** Followers of one job or call: they end with the connection. */
  readonly #followers = new Set<SubscriberOptions>();
  /** Watchers stay over a restart of the master. */
  readonly #watchers = new Set<EventListener>();
  #link: Promise<EventSubscriber> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(config: Pick<MasterConfig, "sock_dir">) {
    this.#path = join(config.sock_dir, "master_event_pub.ipc");
  }

  /** @throws SaltworksError MASTER_UNREACHABLE, CHANNEL_CLOSED */
  readonly connect: ConnectBus = async (_path, options) => {
    await this.#connected();
    this.#followers.add(options);
    return { close: () => void this.#followers.delete(options) };
  };

  /** @returns a function that ends the watch */
  watch(listener: EventListener): () => void {
    this.#watchers.add(listener);
    this.#keepConnected();
    return () => void this.#watchers.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    void this.#link?.then(
      (link) => link.close(),
      () => undefined,
    );
    this.#followers.clear();
    this.#watchers.clear();
  }

  #connected(): Promise<EventSubscriber> {
    if (this.#isClosed) return Promise.reject(new SaltworksError("CHANNEL_CLOSED", "the client was closed"));
    this.#link ??= this.#open();
    return this.#link;
  }

  async #open(): Promise<EventSubscriber> {
    try {
      const link = await EventSubscriber.connect(this.#path, {
        onEvent: (body, isMasters) => {
          this.counters.events += 1;
          for (const follower of this.#followers) follower.onEvent(body, isMasters);
          for (const watcher of this.#watchers) watcher(body, isMasters);
        },
        onClose: (error) => this.#lose(error),
      });
      this.counters.connections += 1;
      return link;
    } catch (error) {
      this.#link = undefined;
      throw error;
    }
  }

  #lose(error: Error | undefined): void {
    this.#link = undefined;
    this.counters.losses += 1;
    const followers = [...this.#followers];
    this.#followers.clear();
    for (const follower of followers) follower.onClose(lostBus(error));
    this.#keepConnected();
  }

  #keepConnected(): void {
    if (this.#watchers.size === 0 || this.#isClosed) return;
    this.#connected().catch(() => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#keepConnected(), watchReconnectMs);
      this.#timer.unref();
    });
  }
}
