/**
 * What a thread knows of itself: how late its event loop runs timers, how busy it is, and its heap.
 * Sampled by a timer of its own instead of `monitorEventLoopDelay`, whose percentiles several readers cannot share.
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

/** A random moment sees the delay that a request would see, so few samples do. A busy thread is awake anyway ... */
const busyIntervalMs = 100;
/** ... while an idle one is woken by each, which costs up to half a millisecond with cold caches: five threads at ten samples a second were 3 % of a core. */
const idleIntervalMs = 1_000;
/** Share of its time that a busy thread works. */
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
