/** Worker threads without an address, for slow work that any of them can do: RSA, pillars, runners. */
import assert from "node:assert/strict";
import type { MessagePort } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { laneTurnMs } from "../../limits.ts";
import { type HeapLimits, openThreads } from "./pool.ts";
import { TurnWatch } from "./turns.ts";

/** Start values that the threads of every lane have beside their own. */
export type LaneStart = {
  /** How many threads the lane has started, counted in place. */
  readonly startedThreads: SharedArrayBuffer;
  /** A thread whose tasks share it counts its turns here (turns.ts). */
  readonly turns: SharedArrayBuffer;
};

export type LanePoolOptions = {
  readonly filename: string;
  readonly heap: HeapLimits;
  readonly threadCount: number;
  /** Over 1: the tasks share their thread, and the lane has one thread. */
  readonly concurrentTasksPerThread: number;
  /** Threads that stay when the lane is idle. The others start on demand, each within a tenth of a second. */
  readonly threadsKept: number;
  readonly queueMax: number;
  readonly taskTimeoutMs: number;
  readonly workerData: object;
  /** A thread of the lane died outside a task, or hung. */
  readonly onThreadLost: (error: Error) => void;
  /** Default `laneTurnMs`. */
  readonly turnMs?: number;
};

type LaneTask = {
  readonly task: object;
  readonly transfer: readonly (ArrayBuffer | MessagePort)[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly abort: AbortController;
  isSettled: boolean;
};

export type LaneRunOptions = {
  readonly transfer?: readonly (ArrayBuffer | MessagePort)[];
  /** Goes first and is never refused: the signature of a publish must not wait behind an auth storm. */
  readonly isUrgent?: boolean;
};

/** Keeps its own queue. Piscina gets only tasks that a thread can take now. */
export class LanePool {
  readonly counters = { tasks: 0, refused: 0, failed: 0, timeouts: 0 };
  readonly #options: LanePoolOptions;
  readonly #piscina: ReturnType<typeof openThreads>;
  readonly #urgent: LaneTask[] = [];
  readonly #queue: LaneTask[] = [];
  readonly #runningMax: number;
  readonly #running = new Set<LaneTask>();
  readonly #turns = new TurnWatch();
  #turnTimer: NodeJS.Timeout | undefined;
  /** The shared thread was told to end and has not ended yet. */
  #isThreadEnding = false;
  #isClosing = false;

  constructor(options: LanePoolOptions) {
    this.#options = options;
    this.#runningMax = options.threadCount * options.concurrentTasksPerThread;
    const startedThreads = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#piscina = openThreads({
      ...options,
      threads: options.threadCount,
      tasksPerThread: options.concurrentTasksPerThread,
      workerData: { ...options.workerData, startedThreads, turns: this.#turns.memory } satisfies LaneStart,
    });
    this.#piscina.on("error", options.onThreadLost);
    if (!this.#isThreadShared) return;
    assert.equal(options.threadCount, 1, "tasks share the lane's only thread");
    this.#piscina.on("workerDestroy", () => this.#noteThreadEnd());
    this.#turnTimer = setInterval(() => this.#endHanging(), options.turnMs ?? laneTurnMs).unref();
  }

  get #isThreadShared(): boolean {
    return this.#options.concurrentTasksPerThread > 1;
  }

  /** Threads that run now or are being started. */
  get threadsUp(): number {
    return this.#piscina.threads.length;
  }

  /** Tasks offered and not finished. */
  get pending(): number {
    return this.#urgent.length + this.#queue.length + this.#running.size;
  }

  /** @throws SaltworksError QUEUE_FULL, TASK_TIMEOUT, CHANNEL_CLOSED, or what the task threw */
  run<Result>(task: object, options: LaneRunOptions = {}): Promise<Result> {
    const isUrgent = options.isUrgent === true;
    if (this.#isClosing) return Promise.reject(new SaltworksError("CHANNEL_CLOSED", "the lane is closed"));
    if (!isUrgent && this.pending >= this.#options.queueMax) {
      this.counters.refused += 1;
      const { queueMax } = this.#options;
      return Promise.reject(new SaltworksError("QUEUE_FULL", "the lane's queue is full", { queueMax }));
    }
    this.counters.tasks += 1;
    return new Promise<Result>((resolve, reject) => {
      const timer = setTimeout(() => this.#endOverdue(waiting), this.#options.taskTimeoutMs).unref();
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        if (!waiting.isSettled) finish();
        waiting.isSettled = true;
      };
      const waiting: LaneTask = {
        task,
        transfer: options.transfer ?? [],
        resolve: (result) => settle(() => resolve(result as Result)),
        reject: (error) =>
          settle(() => {
            this.counters.failed += 1;
            reject(error);
          }),
        abort: new AbortController(),
        isSettled: false,
      };
      (isUrgent ? this.#urgent : this.#queue).push(waiting);
      this.#pump();
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#turnTimer);
    for (const waiting of [...this.#urgent.splice(0), ...this.#queue.splice(0)])
      waiting.reject(new SaltworksError("CHANNEL_CLOSED", "the lane is closed"));
    await this.#piscina.destroy();
  }

  #pump(): void {
    while (this.#running.size < this.#runningMax && !this.#isThreadEnding && !this.#isClosing) {
      const waiting = this.#urgent.shift() ?? this.#queue.shift();
      if (waiting === undefined) return;
      // The caller has given up meanwhile.
      if (waiting.isSettled) continue;
      this.#running.add(waiting);
      const { task, transfer, abort } = waiting;
      // With a signal, Piscina gives the thread no other task beside it.
      const signal = this.#isThreadShared ? null : abort.signal;
      this.#piscina
        .run(task, { transferList: [...transfer], signal })
        .then(waiting.resolve, waiting.reject)
        .finally(() => {
          this.#running.delete(waiting);
          this.#pump();
        });
    }
  }

  /**
   * A thread that runs one task at a time is replaced. A shared one goes on while its loop turns: a file's hash that takes too long is there for
   * the next request, even if requests for it hold every place.
   */
  #endOverdue(waiting: LaneTask): void {
    this.#timeOut(waiting, "a lane task took too long");
    if (!this.#isThreadShared) waiting.abort.abort();
  }

  /** A shared thread whose loop does not turn answers none of its tasks, however long they may take. */
  #endHanging(): void {
    if (!this.#turns.look(this.#running.size === 0)) return;
    this.#options.onThreadLost(
      new SaltworksError("WORKER_LOST", "a lane's thread hangs", { tasks: this.#running.size }),
    );
    for (const task of this.#running) if (!task.isSettled) this.#timeOut(task, "the lane's thread hangs");
    this.#endThread();
  }

  #timeOut(waiting: LaneTask, reason: string): void {
    this.counters.timeouts += 1;
    waiting.reject(new SaltworksError("TASK_TIMEOUT", reason));
  }

  /** The next task starts another one, as it does where a thread ended before it was ready. */
  #endThread(): void {
    if (this.#isThreadEnding || this.#piscina.threads.length === 0) return;
    this.#isThreadEnding = true;
    for (const thread of this.#piscina.threads) thread.terminate().catch(this.#options.onThreadLost);
  }

  #noteThreadEnd(): void {
    this.#isThreadEnding = false;
    // Piscina still lists the thread while it tells this.
    setImmediate(() => this.#pump());
  }
}
