/**
 * The events of one batch job. Each event gives the offset of its entry in the batch's log, so that the reader notices a missing entry and
 * reads it from the log. Source: docs/decisions/0020-batches-in-the-master.md.
 */
import { SaltworksError } from "../errors.ts";
import { batchFeedBytesMax, earlyEventsMax } from "../limits.ts";
import { EventSubscriber } from "../transport/event-stream-client.ts";
import { splitEvent } from "../wire/event.ts";
import { decode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";
import type { ConnectBus } from "./event-hub.ts";
import { lostBus } from "./texts.ts";

const tagStart = Buffer.from("saltworks/batch/");

export class BatchFeed {
  readonly #bytesMax: number;
  readonly #events: Uint8Array[] = [];
  #subscriber: { readonly close: () => void } | undefined;
  #tagStart: Buffer = tagStart;
  #bytes = 0;
  #failure: SaltworksError | undefined;
  #wake: (() => void) | undefined;

  private constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws SaltworksError MASTER_UNREACHABLE */
  static async open(
    pubPath: string,
    bytesMax: number = batchFeedBytesMax,
    connect: ConnectBus = EventSubscriber.connect,
  ): Promise<BatchFeed> {
    const feed = new BatchFeed(bytesMax);
    feed.#subscriber = await connect(pubPath, {
      onEvent: (body, isMasters) => {
        if (isMasters) feed.#take(body);
      },
      onClose: (error) => {
        feed.#failure = lostBus(error);
        feed.#wake?.();
      },
    });
    return feed;
  }

  /** Drops the events of other batches, including events received before. */
  follow(jid: string): void {
    this.#tagStart = Buffer.from(`saltworks/batch/${jid}/`);
    const early = this.#events.splice(0);
    this.#bytes = 0;
    for (const body of early) this.#take(body);
  }

  /** Removes and returns the oldest received entry. Undefined if there is none. */
  shift(): ValueMap | undefined {
    const body = this.#events.shift();
    if (body === undefined) return undefined;
    this.#bytes -= body.byteLength;
    const fields = decode(splitEvent(body).data);
    return fields instanceof Map ? fields : undefined;
  }

  /**
   * Resolves when an entry has been received, or after `timeoutMs`.
   *
   * @throws SaltworksError MASTER_UNREACHABLE once the bus is lost, CHANNEL_CLOSED after `close`
   */
  async wait(timeoutMs: number): Promise<void> {
    if (this.#events.length > 0) return;
    if (this.#failure === undefined) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, timeoutMs);
      });
      clearTimeout(timer);
    }
    if (this.#events.length === 0 && this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    this.#subscriber?.close();
    this.#events.length = 0;
    this.#failure ??= new SaltworksError("CHANNEL_CLOSED", "this client stopped following the batch");
    this.#wake?.();
  }

  #take(body: Uint8Array): void {
    if (!this.#tagStart.equals(body.subarray(0, this.#tagStart.length))) return;
    this.#events.push(body);
    this.#bytes += body.byteLength;
    // The reader notices that the oldest entries are missing and reads them from the log.
    while (this.#events.length > earlyEventsMax || (this.#bytes > this.#bytesMax && this.#events.length > 1))
      this.#bytes -= this.#events.shift()?.byteLength ?? 0;
    this.#wake?.();
  }
}
