/** The publish port (PUB): sends finished publishes in the order of their serials, through its own thread. docs/protocol.md section 1.2. */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { publishLingerMs, publishThreadSettleMs } from "../../limits.ts";
import type { ListenOn } from "../../transport/zmtp/listening.ts";
import type { HeapLimits } from "../../workers/threads/worker-pool.ts";
import { connectionsMax, endpointOf, hostAddress, listenError, type PortOptions } from "./endpoint.ts";
import { PublishThread, type PublishThreadOptions } from "./publish/hand-over.ts";
import type { PublishStats } from "./publish/messages.ts";

export type PublishFrontOptions = PortOptions & {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** A socket that listens there already. The thread takes it over. */
  readonly descriptor?: number | undefined;
  readonly highWaterMark: number;
  readonly isFiltering: boolean;
  /** Publishes to some minions also go to the topic of lower masters. */
  readonly hasLowerMasters?: boolean;
  readonly heap: HeapLimits;
  readonly logger: Logger;
  /** Called when the port is lost for good. */
  readonly onFault: (error: Error) => void;
  /** The thread's program; default: ours. */
  readonly filename?: URL;
  /** Default: `publishThreadSettleMs`. */
  readonly settleMs?: number;
  /** Default: the times of src/limits.ts. */
  readonly watch?: Pick<PublishThreadOptions, "hangMs" | "lookMs" | "endMs">;
};

const threadProgram = new URL("./publish/publish-thread.js", import.meta.url);
/** With `zmq_filtering`: the topic of publishes to all minions. */
const broadcastTopic = "broadcast";
/** With `zmq_filtering`: the topic of syndics, for publishes that go to single minions. */
const syndicTopic = "syndic";

export class PublishFront {
  readonly #counters = { publishes: 0, refused: 0 };
  readonly #options: PublishFrontOptions;
  readonly #thread: PublishThread;

  private constructor(options: PublishFrontOptions) {
    this.#options = options;
    const { host, port, descriptor, backlog, keepalive, highWaterMark, heap, logger, onFault } = options;
    const on: ListenOn = descriptor === undefined ? { host: hostAddress(host), port } : { descriptor };
    this.#thread = new PublishThread({
      filename: options.filename ?? threadProgram,
      settleMs: options.settleMs ?? publishThreadSettleMs,
      ...options.watch,
      heap,
      start: {
        on,
        backlog,
        keepalive,
        highWaterMark,
        connectionsMax: connectionsMax(),
        addressConnectionsMax: options.addressConnectionsMax,
        proxies: options.proxies,
      },
      logger,
      onFault,
    });
  }

  /** @throws SaltworksError MASTER_RUNNING if the port or address cannot be bound, WORKER_LOST, TASK_TIMEOUT */
  static async bind(options: PublishFrontOptions): Promise<PublishFront> {
    const front = new PublishFront(options);
    try {
      await front.#thread.open();
    } catch (error) {
      if (error instanceof SaltworksError) throw error;
      throw listenError("publish_port", error as NodeJS.ErrnoException, options.host, options.port);
    }
    return front;
  }

  /** The bound address, with the chosen port if the configured one is 0. */
  get boundEndpoint(): string {
    return endpointOf(this.#options.host, this.#thread.port);
  }

  /** `dropped`: publishes that reached no subscriber, because the thread did not take them or was lost. */
  get counters(): { readonly publishes: number; readonly dropped: number; readonly threadsLost: number } {
    const { publishes, refused } = this.#counters;
    const { lost, threadsLost } = this.#thread.counters;
    return { publishes, dropped: refused + lost, threadsLost };
  }

  /** Whether the thread hangs and does not end. */
  get isStuck(): boolean {
    return this.#thread.isStuck;
  }

  /** The thread's counts at the last `look`. */
  get stats(): PublishStats {
    return this.#thread.stats;
  }

  /**
   * Resolves when the thread has written all earlier publishes to its sockets and `stats` is current, or after `timeoutMs`.
   *
   * @returns false if the thread did not answer or was lost
   */
  look(timeoutMs: number): Promise<boolean> {
    return this.#thread.look(timeoutMs);
  }

  /**
   * `addressed`: returns the minions to address one by one; called only with `zmq_filtering`. Without any, the publish goes to all minions.
   *
   * @throws SaltworksError QUEUE_FULL
   */
  async send(frame: Uint8Array, addressed: (() => readonly string[]) | undefined): Promise<void> {
    this.#counters.publishes += 1;
    // A copy, because the payload is transferred, and the frame may be a piece of a larger buffer.
    const payload = new Uint8Array(frame);
    const ids = this.#options.isFiltering ? (addressed?.() ?? []) : [];
    try {
      if (!this.#options.isFiltering) await this.#thread.hand({ payload });
      else if (ids.length === 0) await this.#thread.hand({ payload, topic: broadcastTopic });
      else await this.#thread.hand({ payload, ids, ...(this.#options.hasLowerMasters ? { topic: syndicTopic } : {}) });
    } catch (cause) {
      this.#counters.refused += 1;
      throw new SaltworksError("QUEUE_FULL", "the publish port did not take a publish", {}, { cause });
    }
  }

  async close(): Promise<void> {
    await this.#thread.close(publishLingerMs);
  }
}
