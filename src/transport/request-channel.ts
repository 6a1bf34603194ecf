/**
 * One REQ socket to a master's request port: sends one request at a time, each with a timeout, tries and an abort signal.
 * Source: docs/protocol.md sections 1.1 and 1.3.
 */
import { type Context, Request } from "zeromq";
import { SaltworksError } from "../errors.ts";
import { requestChannelQueueMax } from "../limits.ts";
import type { Keepalive } from "./keepalive.ts";

export type RequestChannelOptions = {
  /** `tcp://host:port` or `ipc://path`. */
  endpoint: string;
  /** Timeout of one try of one request. */
  timeoutMs: number;
  /** How often a request is sent before it counts as unanswered. */
  tries: number;
  /** Requests that wait behind the one under way; over it: QUEUE_FULL. */
  queueMax?: number;
  /** ZeroMQ context that owns the I/O threads; the process-wide one if absent. */
  context?: Context;
  keepalive?: Keepalive;
  isIpv6?: boolean;
};

type Waiting = {
  payload: Uint8Array;
  timeoutMs: number;
  tries: number;
  signal: AbortSignal | undefined;
  /** Listens to the signal while the request waits in line. */
  leave: () => void;
  resolve: (reply: Buffer) => void;
  reject: (error: unknown) => void;
};

/** Why a try ended before its reply; decides whether another follows. */
type Interruption = { kind: "timeout" } | { kind: "given up"; error: unknown };

/**
 * A REQ socket must read the reply before it may send again, so requests are sent one after the other.
 * After a timeout the socket is closed and replaced, and a late reply is lost.
 */
export class RequestChannel {
  readonly #options: RequestChannelOptions;
  readonly #queue: Waiting[] = [];
  readonly #queueMax: number;
  #socket: Request | undefined;
  #isBusy = false;
  #isClosed = false;
  #interrupt: ((why: Interruption) => void) | undefined;

  constructor(options: RequestChannelOptions) {
    this.#options = options;
    this.#queueMax = options.queueMax ?? requestChannelQueueMax;
  }

  /**
   * Sends `payload` (not copied: do not change it until the promise settles) and returns the reply's first frame.
   *
   * @throws SaltworksError REQUEST_TIMEOUT after the last try, QUEUE_FULL, CHANNEL_CLOSED; the signal's reason when it was aborted
   */
  request(
    payload: Uint8Array,
    options: { timeoutMs?: number; tries?: number; signal?: AbortSignal } = {},
  ): Promise<Buffer> {
    if (this.#isClosed) return Promise.reject(closedError(this.#options.endpoint));
    if (this.#queue.length >= this.#queueMax) {
      return Promise.reject(
        new SaltworksError("QUEUE_FULL", `${this.#queueMax} requests wait already`, { max: this.#queueMax }),
      );
    }
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    return new Promise<Buffer>((resolve, reject) => {
      const waiting: Waiting = {
        payload,
        timeoutMs: options.timeoutMs ?? this.#options.timeoutMs,
        tries: options.tries ?? this.#options.tries,
        signal: options.signal,
        leave: () => this.#leaveQueue(waiting),
        resolve,
        reject,
      };
      this.#queue.push(waiting);
      options.signal?.addEventListener("abort", waiting.leave, { once: true });
      if (!this.#isBusy) void this.#drain();
    });
  }

  /** Rejects waiting requests with CHANNEL_CLOSED. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.abandon(closedError(this.#options.endpoint));
  }

  /** Rejects the requests that wait or are under way. Later ones are sent over a new connection. */
  abandon(error: Error): void {
    for (const waiting of this.#queue.splice(0)) {
      waiting.signal?.removeEventListener("abort", waiting.leave);
      waiting.reject(error);
    }
    this.#interrupt?.({ kind: "given up", error });
    this.#dropSocket();
  }

  #leaveQueue(waiting: Waiting): void {
    const index = this.#queue.indexOf(waiting);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    waiting.reject(waiting.signal?.reason);
  }

  async #drain(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      next.signal?.removeEventListener("abort", next.leave);
      try {
        next.resolve(await this.#answer(next));
      } catch (error) {
        next.reject(error);
      }
    }
    this.#isBusy = false;
  }

  async #answer(waiting: Waiting): Promise<Buffer> {
    for (let tried = 0; tried < waiting.tries; tried += 1) {
      const outcome = await this.#attempt(waiting);
      if (Buffer.isBuffer(outcome)) return outcome;
      this.#dropSocket();
      if (outcome.kind === "given up") throw outcome.error;
    }
    throw new SaltworksError("REQUEST_TIMEOUT", `no reply from ${this.#options.endpoint}`, {
      endpoint: this.#options.endpoint,
      timeoutMs: waiting.timeoutMs,
      tries: waiting.tries,
    });
  }

  /** Sends once and waits for the reply or an interruption. Ignores the socket after an interruption. */
  #attempt(waiting: Waiting): Promise<Buffer | Interruption> {
    return new Promise((resolve) => {
      const finish = (outcome: Buffer | Interruption): void => {
        clearTimeout(timer);
        waiting.signal?.removeEventListener("abort", onAbort);
        // The socket of an ended try settles late, when another try may be under way.
        if (this.#interrupt === finish) this.#interrupt = undefined;
        resolve(outcome);
      };
      const onAbort = (): void => finish({ kind: "given up", error: waiting.signal?.reason });
      const timer = setTimeout(() => finish({ kind: "timeout" }), waiting.timeoutMs);
      waiting.signal?.addEventListener("abort", onAbort, { once: true });
      this.#interrupt = finish;
      if (waiting.signal?.aborted) onAbort();
      else this.#exchange(waiting.payload).then(finish, (error: unknown) => finish({ kind: "given up", error }));
    });
  }

  async #exchange(payload: Uint8Array): Promise<Buffer> {
    const socket = this.#openSocket();
    await socket.send(payload);
    const [reply] = await socket.receive();
    return reply ?? Buffer.alloc(0);
  }

  #openSocket(): Request {
    if (this.#socket !== undefined) return this.#socket;
    const { endpoint, keepalive, context } = this.#options;
    const socket = new Request({
      linger: 0,
      reconnectMaxInterval: reconnectIntervalMaxMs,
      ...(context ? { context } : {}),
      ...(this.#options.isIpv6 ? { ipv6: true } : {}),
    });
    if (keepalive) {
      socket.tcpKeepalive = keepalive.isOn ? 1 : 0;
      socket.tcpKeepaliveIdle = keepalive.idleSeconds;
      socket.tcpKeepaliveCount = keepalive.count;
      socket.tcpKeepaliveInterval = keepalive.intervalSeconds;
    }
    socket.connect(endpoint);
    this.#socket = socket;
    return socket;
  }

  #dropSocket(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}

/** Salt's RECONNECT_IVL_MAX of a request socket. */
const reconnectIntervalMaxMs = 5_000;

function closedError(endpoint: string): SaltworksError {
  return new SaltworksError("CHANNEL_CLOSED", `the channel to ${endpoint} was closed`, { endpoint });
}
