/** Reads the master's events for `state.event`, also after a restart of the master. Source: docs/protocol.md section 10.2. */
import { setTimeout as delay } from "node:timers/promises";
import { SaltworksError } from "../errors.ts";
import { watchedEventsBytesMax, watchReconnectMs } from "../limits.ts";
import { EventSubscriber } from "../transport/event-stream-client.ts";
import { splitEvent } from "../wire/event.ts";

export type WatchedEvent = { readonly tag: string; readonly data: Uint8Array };

/** Reads events until `signal` aborts. If the caller is too slow, the oldest events are dropped. */
export class EventWatch {
  /** Number of dropped events. */
  dropped = 0;
  readonly #path: string;
  readonly #signal: AbortSignal;
  readonly #items: WatchedEvent[] = [];
  #bytes = 0;
  #isLost = false;
  #wake: (() => void) | undefined;

  private constructor(path: string, signal: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake?.());
  }

  /** @throws SaltworksError MASTER_UNREACHABLE if no master runs when the watch is opened */
  static async open(path: string, signal: AbortSignal): Promise<EventWatch> {
    const watch = new EventWatch(path, signal);
    await watch.#connect();
    return watch;
  }

  /** Ends with the signal. If the master stops, waits until it is back. */
  async *events(): AsyncGenerator<WatchedEvent, void, void> {
    while (!this.#signal.aborted) {
      const item = this.#items.shift();
      if (item !== undefined) {
        this.#bytes -= item.data.byteLength;
        yield item;
      } else if (this.#isLost) {
        await this.#reconnect();
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  async #connect(): Promise<void> {
    const subscriber = await EventSubscriber.connect(this.#path, {
      onEvent: (body) => this.#take(body),
      onClose: () => {
        this.#isLost = true;
        this.#wake?.();
      },
    });
    this.#isLost = false;
    this.#signal.addEventListener("abort", () => subscriber.close(), { once: true });
    if (this.#signal.aborted) subscriber.close();
  }

  async #reconnect(): Promise<void> {
    try {
      await delay(watchReconnectMs, undefined, { signal: this.#signal });
      await this.#connect();
    } catch (error) {
      // The next iteration of `events` connects again, or ends with the signal.
      const isExpected =
        this.#signal.aborted || (error instanceof SaltworksError && error.code === "MASTER_UNREACHABLE");
      if (!isExpected) throw error;
    }
  }

  #take(body: Uint8Array): void {
    const { tag, data } = splitEvent(body);
    this.#items.push({ tag, data });
    this.#bytes += data.byteLength;
    while (this.#bytes > watchedEventsBytesMax && this.#items.length > 1) {
      this.#bytes -= this.#items.shift()?.data.byteLength ?? 0;
      this.dropped += 1;
    }
    this.#wake?.();
  }
}
