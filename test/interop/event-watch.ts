/** Follows the event bus of a master, real or ours, so that tests wait for events instead of time. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EventSubscriber } from "../../src/transport/event-stream-client.ts";
import { decodeEvent } from "../../src/wire/event.ts";
import type { ValueMap } from "../../src/wire/values.ts";

export type SeenEvent = { readonly tag: string; readonly data: ValueMap };
type Wanted = (event: SeenEvent) => boolean;

const eventsMax = 10_000;
const reconnectDelayMs = 50;

export class EventWatch {
  readonly #seen: SeenEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #subscriber: EventSubscriber | undefined;
  #failure: Error | undefined;

  /** Connects as soon as a master listens in `sockDir`. */
  static async open(sockDir: string, timeoutMs: number): Promise<EventWatch> {
    const watch = new EventWatch();
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      try {
        watch.#subscriber = await EventSubscriber.connect(join(sockDir, "master_event_pub.ipc"), {
          onEvent: (body) => watch.#keep(body),
          onClose: (error) => watch.#lost(error),
        });
        return watch;
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        await delay(reconnectDelayMs);
      }
    }
  }

  /** Every event since the watch began, oldest first. */
  get seen(): readonly SeenEvent[] {
    return this.#seen;
  }

  /** The first matching event, past or to come. */
  async until(what: string, isWanted: Wanted, timeoutMs: number): Promise<SeenEvent> {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const event = this.#seen.find(isWanted);
      if (event !== undefined) return event;
      if (this.#failure !== undefined) throw this.#failure;
      if (deadline.aborted) {
        const tags = this.#seen.slice(-20).map((seen) => seen.tag);
        throw new Error(`no event "${what}" within ${timeoutMs} ms; the latest: ${tags.join(", ")}`);
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#waiting.delete(done);
          deadline.removeEventListener("abort", done);
          resolve();
        };
        this.#waiting.add(done);
        deadline.addEventListener("abort", done);
      });
    }
  }

  close(): void {
    this.#subscriber?.close();
  }

  #lost(error: Error | undefined): void {
    this.#failure = error ?? new Error("the event stream ended");
    for (const listener of [...this.#waiting]) listener();
  }

  #keep(body: Uint8Array): void {
    const { tag, data } = decodeEvent(body);
    this.#seen.push({ tag, data });
    if (this.#seen.length > eventsMax) this.#seen.shift();
    for (const listener of [...this.#waiting]) listener();
  }
}
