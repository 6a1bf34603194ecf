/** Measures one worker's batches on the main thread: how long requests wait, how long a batch takes to reach the worker, and its replies to leave. */
import { Histogram, type HistogramSnapshot, secondsBounds } from "../../workers/measures/histogram.ts";

/** Authentications have waits of their own, because they wait behind all others and would hide the waits of returns. */
export type QueueKind = "requests" | "auths";

/** One look at a slot's queue and its times, seconds. */
export type SlotReading = {
  readonly items: number;
  readonly bytes: number;
  readonly batchesInFlight: number;
  /** By kind of queue. */
  readonly waits: Readonly<Record<QueueKind, HistogramSnapshot>>;
  readonly handOver: HistogramSnapshot;
  readonly reply: HistogramSnapshot;
};

/** Each is observed once a batch. */
export class SlotMeter {
  readonly #waits = { requests: new Histogram(secondsBounds), auths: new Histogram(secondsBounds) };
  readonly #handOver = new Histogram(secondsBounds);
  readonly #reply = new Histogram(secondsBounds);

  /** A batch leaves whose oldest request waited this long. */
  noteWait(kind: QueueKind, waitedMs: number): void {
    this.#waits[kind].observe(waitedMs / 1_000);
  }

  /** A batch came back after `awayMs`, of which the worker worked for `workedMs`. Sending its replies took `replyMs`. */
  noteResult(awayMs: number, workedMs: number, replyMs: number): void {
    this.#handOver.observe(Math.max(0, awayMs - workedMs) / 1_000);
    this.#reply.observe(replyMs / 1_000);
  }

  read(queue: Pick<SlotReading, "items" | "bytes" | "batchesInFlight">): SlotReading {
    return {
      ...queue,
      waits: { requests: this.#waits.requests.snapshot(), auths: this.#waits.auths.snapshot() },
      handOver: this.#handOver.snapshot(),
      reply: this.#reply.snapshot(),
    };
  }
}
