/**
 * The main thread's side of the publish thread: starts the thread, hands it publishes in order and within bounds, replaces it when it is lost, and
 * ends it. The buffer of a publish is transferred to the thread.
 */
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { within } from "../../../deadline.ts";
import { SaltworksError } from "../../../errors.ts";
import {
  publishesHandedBytesMax,
  publishesHandedMax,
  publishThreadEndMs,
  publishThreadLookMs,
  publishThreadTimeoutMs,
  workerStartTimeoutMs,
} from "../../../limits.ts";
import { subscriberCloseReasons } from "../../../transport/zmtp/publish/subscriber.ts";
import type { HeapLimits } from "../../../workers/threads/worker-pool.ts";
import { finishWithin } from "../../shutdown/deadline.ts";
import { HangWatch } from "./hang-watch.ts";
import type { PublishReport, PublishStart, PublishStats, PublishTask } from "./messages.ts";

export type PublishThreadOptions = {
  /** The thread's program. */
  readonly filename: URL;
  readonly heap: HeapLimits;
  readonly start: PublishStart;
  readonly logger: Logger;
  /** A thread that ends within this time after its start is not replaced, milliseconds. */
  readonly settleMs: number;
  /** How long a publish or a look may take the thread before it counts as hung, milliseconds; default: `publishThreadTimeoutMs`. */
  readonly hangMs?: number | undefined;
  /** How often a thread without publishes is asked for a sign of life, milliseconds; default: `publishThreadLookMs`. */
  readonly lookMs?: number | undefined;
  /** How long a hung thread may take to end, milliseconds; default: `publishThreadEndMs`. */
  readonly endMs?: number | undefined;
  /** Called when the port is lost for good. */
  readonly onFault: (error: Error) => void;
};

type PublishOf = Omit<Extract<PublishTask, { kind: "publish" }>, "kind">;
type Waiter = { readonly publish: PublishOf; readonly resolve: () => void; readonly reject: (error: Error) => void };

const nothingClosed = Object.fromEntries(subscriberCloseReasons.map((reason) => [reason, 0])) as PublishStats["closed"];
const noStats: PublishStats = {
  accepted: 0,
  messages: 0,
  sent: 0,
  dropped: 0,
  closed: nothingClosed,
  connections: 0,
  subscribers: 0,
  behind: 0,
  heldBytes: 0,
};

export class PublishThread {
  readonly counters = { lost: 0, threadsLost: 0 };
  /** Set if a thread did not end within `endMs` after it was told to. */
  isStuck = false;
  readonly #options: PublishThreadOptions;
  #worker: Worker | undefined;
  #startedMs = 0;
  #port = 0;
  /** Bytes of each publish that was handed to the thread and that it has not taken yet. */
  #handed: number[] = [];
  #handedBytes = 0;
  readonly #waiters: Waiter[] = [];
  #stats = noStats;
  /** Sum of the last counts of lost threads. */
  #former = noStats;
  #looks: ((isAnswered: boolean) => void)[] = [];
  readonly #watch: HangWatch;
  readonly #lookTimer: NodeJS.Timeout;
  #isClosing = false;
  #fault: Error | undefined;

  constructor(options: PublishThreadOptions) {
    this.#options = options;
    this.#watch = new HangWatch(options.hangMs ?? publishThreadTimeoutMs, () => void this.#endHung());
    this.#lookTimer = setInterval(() => this.#askForStats(() => {}), options.lookMs ?? publishThreadLookMs).unref();
  }

  /** @throws NodeJS.ErrnoException with the `code` of the system call, SaltworksError WORKER_LOST, TASK_TIMEOUT */
  async open(): Promise<void> {
    const { filename, heap, start, logger } = this.#options;
    const on = this.#port === 0 || "descriptor" in start.on ? start.on : { ...start.on, port: this.#port };
    const worker = new Worker(filename, {
      workerData: { ...start, on } satisfies PublishStart,
      resourceLimits: { maxYoungGenerationSizeMb: heap.youngMb, maxOldGenerationSizeMb: heap.oldMb },
    });
    this.#startedMs = performance.now();
    worker.on("error", (error) => logger.error({ err: error }, "the publish thread met a fault"));
    try {
      this.#port = await portOf(worker);
    } catch (error) {
      await this.#endsInTime(worker);
      throw error;
    }
    this.#worker = worker;
    worker.on("message", (report: PublishReport) => this.#take(report));
    worker.once("exit", () => this.#noteEnd());
  }

  get port(): number {
    return this.#port;
  }

  /** The counts of the last look, including those of lost threads. */
  get stats(): PublishStats {
    return this.#stats;
  }

  /**
   * Hands over a publish, in the order of the calls. Waits while the thread holds `publishesHandedMax` publishes or `publishesHandedBytesMax`.
   *
   * @param publish The buffer of its payload is transferred and must not be a piece of a larger one.
   * @throws SaltworksError CHANNEL_CLOSED, TASK_TIMEOUT
   */
  async hand(publish: PublishOf): Promise<void> {
    if (this.#isClosing || this.#fault !== undefined)
      throw new SaltworksError("CHANNEL_CLOSED", "the publish port is closed");
    if (this.#waiters.length > 0 || !this.#hasRoomFor(publish)) await this.#turn(publish);
    else this.#give(publish);
  }

  /**
   * Asks the thread for its counts, after all earlier publishes. Resolves when it has answered or is lost, or after `timeoutMs`.
   *
   * @returns whether it has answered
   */
  async look(timeoutMs: number): Promise<boolean> {
    if (this.#worker === undefined) return false;
    let timer: NodeJS.Timeout | undefined;
    const isAnswered = await new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), timeoutMs);
      this.#askForStats(resolve);
    });
    clearTimeout(timer);
    return isAnswered;
  }

  /** @param onSettled called with whether the thread has answered */
  #askForStats(onSettled: (isAnswered: boolean) => void): void {
    if (this.#worker === undefined) return;
    this.#looks.push(onSettled);
    this.#watch.asked();
    this.#post({ kind: "look" });
  }

  /** Gives subscribers `lingerMs` to receive what was published, then ends the thread. */
  async close(lingerMs: number): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#lookTimer);
    this.#watch.end();
    const closed = new SaltworksError("CHANNEL_CLOSED", "the publish port is closed");
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closed);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    this.#post({ kind: "close", lingerMs });
    await finishWithin(2 * lingerMs, ended, "the publish thread did not end in time", this.#options.logger);
    if (!(await this.#endsInTime(worker))) this.#options.logger.error("the publish thread does not end");
  }

  #post(task: PublishTask, transfer: ArrayBuffer[] = []): void {
    this.#worker?.postMessage(task, transfer);
  }

  #give(publish: PublishOf): void {
    const bytes = publish.payload.byteLength;
    this.#handed.push(bytes);
    this.#handedBytes += bytes;
    this.#watch.asked();
    this.#post({ kind: "publish", ...publish }, [publish.payload.buffer as ArrayBuffer]);
  }

  #hasRoomFor({ payload }: PublishOf): boolean {
    if (this.#worker === undefined || this.#handed.length >= publishesHandedMax) return false;
    return this.#handed.length === 0 || this.#handedBytes + payload.byteLength <= publishesHandedBytesMax;
  }

  /** Waits for the publish's turn. Resolves when the thread was given the publish. */
  #turn(publish: PublishOf): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(new SaltworksError("TASK_TIMEOUT", "the publish thread took no publish in time"));
      }, publishThreadTimeoutMs);
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        finish();
      };
      const waiter: Waiter = {
        publish,
        resolve: () => settle(resolve),
        reject: (error) => settle(() => reject(error)),
      };
      this.#waiters.push(waiter);
    });
  }

  #take(report: PublishReport): void {
    switch (report.kind) {
      case "taken":
        this.#handedBytes -= this.#handed.shift() ?? 0;
        this.#noteAnswer();
        this.#letGo();
        return;
      case "stats":
        this.#stats = sum(this.#former, report.stats);
        for (const settle of this.#looks.splice(0, 1)) settle(true);
        this.#noteAnswer();
        return;
      case "failed":
        this.#fail(new SaltworksError("PORT_UNUSABLE", `publish_port: ${report.text}`));
        return;
      case "listening":
        return;
    }
  }

  #letGo(): void {
    for (;;) {
      const [waiter] = this.#waiters;
      if (waiter === undefined || !this.#hasRoomFor(waiter.publish)) return;
      this.#waiters.shift();
      this.#give(waiter.publish);
      waiter.resolve();
    }
  }

  #noteAnswer(): void {
    this.#watch.answered(this.#handed.length + this.#looks.length > 0);
  }

  async #endHung(): Promise<void> {
    this.#options.logger.error("the publish thread hangs and is replaced");
    const worker = this.#worker;
    if (worker === undefined || (await this.#endsInTime(worker))) return;
    this.#fail(new SaltworksError("WORKER_LOST", "the publish thread hangs and does not end"));
  }

  /** Ends the thread. False if it hangs in a system call, so that callers do not wait for ever. */
  async #endsInTime(worker: Worker): Promise<boolean> {
    const termination = worker.terminate().then(() => true);
    const isEnded = await within(termination, this.#options.endMs ?? publishThreadEndMs, () => false);
    if (!isEnded) this.isStuck = true;
    return isEnded;
  }

  /**
   * Replaces a thread that ended. Subscribers lose their connections and connect again. Unsent publishes are
   * lost, as when a minion's connection breaks.
   */
  #noteEnd(): void {
    this.#worker = undefined;
    this.#watch.end();
    for (const settle of this.#looks.splice(0)) settle(false);
    if (this.#isClosing || this.#fault !== undefined) return;
    const lost = this.#handed.length;
    this.counters.lost += lost;
    this.counters.threadsLost += 1;
    this.#handed = [];
    this.#handedBytes = 0;
    this.#former = { ...this.#stats, connections: 0, subscribers: 0, behind: 0, heldBytes: 0 };
    this.#stats = this.#former;
    const error = new SaltworksError("WORKER_LOST", "the publish thread ended");
    const isUnsettled = performance.now() - this.#startedMs < this.#options.settleMs;
    if (isUnsettled || "descriptor" in this.#options.start.on) {
      this.#fail(error);
      return;
    }
    this.#options.logger.error({ err: error, lost }, "the publish thread ended and is replaced");
    this.open().then(
      () => (this.#isClosing ? void this.#worker?.terminate() : this.#letGo()),
      (cause: Error) =>
        this.#fail(new SaltworksError("PORT_UNUSABLE", "publish_port cannot be opened again", {}, { cause })),
    );
  }

  #fail(error: Error): void {
    if (this.#isClosing || this.#fault !== undefined) return;
    this.#fault = error;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
    this.#options.onFault(error);
  }
}

/** The port that the thread listens on. */
function portOf(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => finish(() => reject(new SaltworksError("TASK_TIMEOUT", "the publish thread did not start in time"))),
      workerStartTimeoutMs,
    );
    const onMessage = (report: PublishReport) => {
      if (report.kind === "listening") finish(() => resolve(report.port));
      else if (report.kind === "failed")
        finish(() => reject(Object.assign(new Error(report.text), { code: report.errno })));
    };
    const onExit = () =>
      finish(() => reject(new SaltworksError("WORKER_LOST", "the publish thread ended while it started")));
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      worker.off("message", onMessage);
      worker.off("exit", onExit);
      settle();
    };
    worker.on("message", onMessage);
    worker.on("exit", onExit);
  });
}

/** Adds the counters of lost threads. Connections, subscribers and held bytes are the present thread's alone. */
function sum(former: PublishStats, now: PublishStats): PublishStats {
  const closed = { ...now.closed };
  for (const reason of subscriberCloseReasons) closed[reason] += former.closed[reason];
  return {
    ...now,
    accepted: former.accepted + now.accepted,
    messages: former.messages + now.messages,
    sent: former.sent + now.sent,
    dropped: former.dropped + now.dropped,
    closed,
  };
}
