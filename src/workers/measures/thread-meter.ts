/**
 * Measures the calling thread: how late its event loop runs timers, how busy it is, and its heap.
 * It samples with a timer of its own, because several readers cannot share the percentiles of `monitorEventLoopDelay`.
 */
import { performance } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { delayBounds, Histogram, type HistogramSnapshot } from "./histogram.ts";

export type ThreadMeasures = {
  readonly loopDelay: HistogramSnapshot;
  readonly loopBusySeconds: number;
  readonly loopIdleSeconds: number;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
  /** Buffers and other memory of this thread's objects outside its heap. */
  readonly externalBytes: number;
};

/** Sampling interval of a busy thread. Few samples suffice, because a sample at a random moment sees the delay that a request would see. */
const busyIntervalMs = 100;
/** Sampling interval of an idle thread. A sample wakes the thread for up to 0.5 ms: five threads at ten samples a second cost up to 3 % of a core. */
const idleIntervalMs = 1_000;
/** A thread that works for more than this share of the time counts as busy. */
const busyShare = 0.05;

export class ThreadMeter {
  readonly #loopDelay = new Histogram(delayBounds);
  #timer: NodeJS.Timeout | undefined;
  #dueMs = 0;
  #activeMs = 0;
  #idleMs = 0;

  constructor() {
    this.#plan(idleIntervalMs);
  }

  read(): ThreadMeasures {
    const { active, idle } = performance.eventLoopUtilization();
    const heap = getHeapStatistics();
    return {
      loopDelay: this.#loopDelay.snapshot(),
      loopBusySeconds: active / 1_000,
      loopIdleSeconds: idle / 1_000,
      heapUsedBytes: heap.used_heap_size,
      heapLimitBytes: heap.heap_size_limit,
      externalBytes: heap.external_memory,
    };
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #sample(): void {
    this.#loopDelay.observe(Math.max(0, performance.now() - this.#dueMs) / 1_000);
    const { active, idle } = performance.eventLoopUtilization();
    const workedMs = active - this.#activeMs;
    const passedMs = workedMs + idle - this.#idleMs;
    this.#activeMs = active;
    this.#idleMs = idle;
    this.#plan(workedMs > passedMs * busyShare ? busyIntervalMs : idleIntervalMs);
  }

  #plan(intervalMs: number): void {
    this.#dueMs = performance.now() + intervalMs;
    this.#timer = setTimeout(() => this.#sample(), intervalMs).unref();
  }
}
