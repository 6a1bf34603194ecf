/** What the main thread measures of one worker's batches: how long requests wait for it, how long a batch takes to reach it, and its replies to leave. */
import { Histogram, type HistogramSnapshot, secondsBounds } from "../../workers/measures/histogram.ts";

/** Authentications wait behind all others, by design; their waits would hide those of returns. */
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

  /** A batch that was away for `awayMs` was being worked on for `workedMs` of it; sending its replies took `replyMs`. */
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
