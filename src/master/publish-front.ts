/** The publish port (PUB): sends finished publishes, in the order of their serials. docs/protocol.md section 1.2. */
import { createHash } from "node:crypto";
import { Context, type Publisher } from "zeromq";
import { SaltworksError } from "../errors.ts";
import { subscriptionBytesMax } from "../limits.ts";
import { BufferedPublisher, type PortOptions, socketOptions } from "./endpoint.ts";

export type PublishFrontOptions = PortOptions & {
  readonly endpoint: string;
  /** A socket that listens at the endpoint already. */
  readonly descriptor?: number | undefined;
  readonly highWaterMark: number;
  readonly isFiltering: boolean;
};

export class PublishFront {
  readonly counters = { publishes: 0, dropped: 0 };
  readonly #options: PublishFrontOptions;
  readonly #context: Context;
  readonly #publisher: Publisher;

  private constructor(options: PublishFrontOptions) {
    this.#options = options;
    this.#context = new Context({ ioThreads: 1 });
    const publisher = new BufferedPublisher({
      context: this.#context,
      sendHighWaterMark: options.highWaterMark,
      sendTimeout: 0,
      linger: 1_000,
      maxMessageSize: subscriptionBytesMax,
      ...socketOptions(options),
    });
    publisher.setBufferBytes(options.bufferBytes);
    if (options.descriptor !== undefined) publisher.useDescriptor(options.descriptor);
    this.#publisher = publisher;
  }

  /** @throws SaltworksError MASTER_RUNNING if the port is taken */
  static async bind(options: PublishFrontOptions): Promise<PublishFront> {
    const front = new PublishFront(options);
    try {
      await front.#publisher.bind(options.endpoint);
    } catch (cause) {
      front.#publisher.close();
      throw new SaltworksError(
        "MASTER_RUNNING",
        `cannot listen on ${options.endpoint}: is another master running?`,
        {},
        { cause },
      );
    }
    return front;
  }

  get boundEndpoint(): string {
    return this.#publisher.lastEndpoint ?? this.#options.endpoint;
  }

  /** `addressed`: the minions that a filtering master addresses one by one, asked only then; undefined or nobody goes to all. */
  async send(frame: Uint8Array, addressed: (() => readonly string[]) | undefined): Promise<void> {
    this.counters.publishes += 1;
    if (!this.#options.isFiltering) return this.#sendParts([frame]);
    const topicIds = addressed?.();
    if (topicIds === undefined || topicIds.length === 0) return this.#sendParts(["broadcast", frame]);
    for (const id of topicIds) await this.#sendParts([createHash("sha1").update(id).digest("hex"), frame]);
  }

  async #sendParts(parts: (Uint8Array | string)[]): Promise<void> {
    try {
      await this.#publisher.send(parts);
    } catch (cause) {
      this.counters.dropped += 1;
      throw new SaltworksError("QUEUE_FULL", "the publish socket did not take a publish", {}, { cause });
    }
  }

  close(): void {
    this.#publisher.close();
  }
}
