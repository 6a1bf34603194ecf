/** One connection to the master's event bus for all that a long-lived client follows. Connects again by itself while it has watchers. */
import { join } from "node:path";
import type { MasterConfig } from "../config/load.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { watchReconnectMs } from "../limits.ts";
import { EventSubscriber, type SubscriberOptions } from "../transport/event-stream-client.ts";
import { lostEventsTag } from "../wire/event.ts";
import { lostBus, notContactedText } from "./texts.ts";

/** Connects to the event bus, as `EventSubscriber.connect`. */
export type ConnectBus = (pubPath: string, options: SubscriberOptions) => Promise<{ readonly close: () => void }>;
/** One event: `isMasters` as in `SubscriberOptions`. */
export type EventListener = (body: Uint8Array, isMasters: boolean) => void;
/** `onGap`: called when events may have been missed, because the bus is connected again or the master dropped some for a slow reader. */
export type EventWatcher = { readonly onEvent: EventListener; readonly onGap?: () => void };

const lostStart = Buffer.from(`${lostEventsTag}\n\n`);

export class EventHub {
  readonly counters = { events: 0, connections: 0, losses: 0 };
  /** Called when the connection has ended, which it does with the master. */
  onLoss: (error: SaltworksError) => void = () => undefined;
  readonly #path: string;
  /** Followers of one job or call: they end with the connection. */
  readonly #followers = new Set<SubscriberOptions>();
  /** Watchers stay over a restart of the master. */
  readonly #watchers = new Set<EventWatcher>();
  #link: Promise<EventSubscriber> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether events may have been fired since a watcher began and before the next connection. */
  #isLate = false;
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

  /**
   * Resolves at once while the bus is connected, which ends with the master. A connection to the request port for each call would cost the master
   * more than many a call itself.
   *
   * @throws SaltworksError MASTER_UNREACHABLE, CHANNEL_CLOSED
   */
  async reach(): Promise<void> {
    try {
      await this.#connected();
    } catch (cause) {
      if (!hasCode(cause, "MASTER_UNREACHABLE")) throw cause;
      throw new SaltworksError("MASTER_UNREACHABLE", notContactedText, { socket: this.#path }, { cause });
    }
  }

  /** @returns a function that ends the watch */
  watch(onEvent: EventListener, onGap?: () => void): () => void {
    const watcher = { onEvent, ...(onGap === undefined ? {} : { onGap }) };
    this.#watchers.add(watcher);
    this.#keepConnected();
    return () => void this.#watchers.delete(watcher);
  }

  /** Resolves when the bus is connected, or has been tried once. Never rejects. */
  async tried(): Promise<void> {
    await this.#connected().catch(() => undefined);
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
          if (isMasters && lostStart.equals(body.subarray(0, lostStart.length))) {
            for (const { onGap } of this.#watchers) onGap?.();
            return;
          }
          this.counters.events += 1;
          for (const follower of this.#followers) follower.onEvent(body, isMasters);
          for (const { onEvent } of this.#watchers) onEvent(body, isMasters);
        },
        onClose: (error) => this.#lose(error),
      });
      this.counters.connections += 1;
      if (this.#isLate) for (const { onGap } of this.#watchers) onGap?.();
      this.#isLate = false;
      return link;
    } catch (error) {
      this.#link = undefined;
      this.#isLate = true;
      throw error;
    }
  }

  #lose(error: Error | undefined): void {
    this.#link = undefined;
    this.#isLate = true;
    this.counters.losses += 1;
    const followers = [...this.#followers];
    this.#followers.clear();
    const lost = lostBus(error);
    for (const follower of followers) follower.onClose(lost);
    this.onLoss(lost);
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
