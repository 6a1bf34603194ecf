/**
 * Measures one worker's batches on the main thread: their wait in the queue, their hand-over between the threads, and the sending of their replies.
 */
import { Histogram, type HistogramSnapshot, secondsBounds } from "../../workers/measures/histogram.ts";

/** Authentications are measured apart: they wait behind all other requests and would hide the waits of returns. */
export type QueueKind = "requests" | "auths";

/** A slot's queue, and its histograms in seconds. */
export type SlotReading = {
  readonly items: number;
  readonly bytes: number;
  readonly batchesInFlight: number;
  /** By kind of queue. */
  readonly waits: Readonly<Record<QueueKind, HistogramSnapshot>>;
  readonly handOver: HistogramSnapshot;
  readonly reply: HistogramSnapshot;
};

/** Each histogram gets one observation a batch. */
export class SlotMeter {
  readonly #waits = { requests: new Histogram(secondsBounds), auths: new Histogram(secondsBounds) };
  readonly #handOver = new Histogram(secondsBounds);
  readonly #reply = new Histogram(secondsBounds);

  /** Notes that a batch leaves whose oldest request waited for `waitedMs`. */
  noteWait(kind: QueueKind, waitedMs: number): void {
    this.#waits[kind].observe(waitedMs / 1_000);
  }

  /** Notes that a batch came back after `awayMs`. The worker worked for `workedMs` of that; sending the replies took `replyMs`. */
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
