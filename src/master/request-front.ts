/**
 * The request port (ROUTER): one reader, one writer. It hands frames on as they come and never looks inside.
 * docs/ARCHITECTURE.md, "Overload": a paused reader leaves the rest to ZeroMQ's high-water mark and TCP.
 */
import { Context, type Router } from "zeromq";
import { SaltworksError } from "../errors.ts";
import { replyQueueMax, requestDrainMax } from "../limits.ts";
import { badLoad } from "../wire/reply.ts";
import { BufferedRouter, type PortOptions, socketOptions } from "./endpoint.ts";

export type RequestFrontOptions = PortOptions & {
  readonly endpoint: string;
  readonly frameBytesMax: number;
  readonly onRequest: (identity: Buffer, frame: Buffer) => void;
  /** The socket failed for good. */
  readonly onFault: (error: Error) => void;
};

/** The empty part between address and content, which REQ sockets expect. */
const noBytes = Buffer.alloc(0);

export class RequestFront {
  readonly counters = { requests: 0, malformed: 0, replies: 0, repliesDropped: 0, pauses: 0 };
  readonly #options: RequestFrontOptions;
  readonly #context: Context;
  readonly #router: Router;
  #repliesUnderWay = 0;
  /** Of the requests so far. */
  largestFrameBytes = 0;
  #isClosed = false;
  #isStopped = false;
  #resume: (() => void) | undefined;
  #paused: Promise<void> | undefined;
  #reading: Promise<void> | undefined;

  private constructor(options: RequestFrontOptions) {
    this.#options = options;
    this.#context = new Context({ ioThreads: 1 });
    const router = new BufferedRouter({
      context: this.#context,
      // A send completes at once or fails with EAGAIN; without it the 513th unawaited send of a turn throws EBUSY.
      sendTimeout: 0,
      linger: 1_000,
      ...socketOptions(options),
      maxMessageSize: options.frameBytesMax,
      mandatory: false,
      // Minions since 3006.28 and 3007.15 name their connections: one that comes again before the loss of the former was noticed must be heard.
      handover: true,
    });
    router.setBufferBytes(options.bufferBytes);
    this.#router = router;
  }

  /** Binds and starts reading. @throws SaltworksError MASTER_RUNNING if the port is taken */
  static async bind(options: RequestFrontOptions): Promise<RequestFront> {
    const front = new RequestFront(options);
    try {
      await front.#router.bind(options.endpoint);
    } catch (cause) {
      front.#router.close();
      throw new SaltworksError(
        "MASTER_RUNNING",
        `cannot listen on ${options.endpoint}: is another master running?`,
        {},
        { cause },
      );
    }
    front.#reading = front.#read();
    return front;
  }

  /** The address that is bound, with the real port where 0 or * was asked for. */
  get boundEndpoint(): string {
    return this.#router.lastEndpoint ?? this.#options.endpoint;
  }

  /** Sends one reply; a peer that is gone or does not read loses it, counted. */
  reply(identity: Uint8Array, payload: Uint8Array): void {
    if (this.#isClosed) return;
    if (this.#repliesUnderWay >= replyQueueMax) {
      this.counters.repliesDropped += 1;
      return;
    }
    this.#repliesUnderWay += 1;
    this.#router.send([identity, noBytes, payload]).then(this.#onSent, this.#onDropped);
  }

  readonly #onSent = (): void => {
    this.#repliesUnderWay -= 1;
    this.counters.replies += 1;
  };

  readonly #onDropped = (): void => {
    this.#repliesUnderWay -= 1;
    this.counters.repliesDropped += 1;
  };

  /** Replies that the socket has not taken yet. */
  get repliesUnderWay(): number {
    return this.#repliesUnderWay;
  }

  pause(): void {
    if (this.#paused !== undefined) return;
    this.counters.pauses += 1;
    this.#paused = new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    if (this.#isStopped) return;
    this.#paused = undefined;
    this.#resume?.();
    this.#resume = undefined;
  }

  /** Reads no more requests; replies may still be sent until `close`. What was not read is sent again by its client. */
  stopReceiving(): void {
    this.#isStopped = true;
    this.pause();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#resume?.();
    this.#router.close();
    await this.#reading;
  }

  async #read(): Promise<void> {
    let drained = 0;
    while (!this.#isClosed) {
      if (this.#paused !== undefined) await this.#paused;
      if (this.#isClosed) return;
      try {
        this.#take(await this.#router.receive());
      } catch (error) {
        if (!this.#isClosed && !this.#router.closed) this.#options.onFault(error as Error);
        return;
      }
      drained += 1;
      if (drained < requestDrainMax) continue;
      drained = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #take(parts: Buffer[]): void {
    // The reader was waiting for this one when receiving stopped: as those behind it, its client sends it again.
    if (this.#isStopped) return;
    const [identity, empty, frame] = parts;
    if (identity === undefined || frame === undefined || parts.length !== 3 || empty?.byteLength !== 0) {
      this.counters.malformed += 1;
      // Without the empty part its sender is no REQ socket, and there is no telling where it expects a reply.
      if (identity !== undefined && empty?.byteLength === 0) this.reply(identity, badLoad);
      return;
    }
    this.counters.requests += 1;
    if (frame.byteLength > this.largestFrameBytes) this.largestFrameBytes = frame.byteLength;
    this.#options.onRequest(identity, frame);
  }
}
