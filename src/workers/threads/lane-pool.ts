/** Worker threads without an address, for slow work: RSA, pillars, runners. */
import type { MessagePort } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { type HeapLimits, openThreads } from "./pool.ts";

/** What every lane's threads are started with besides their own: how many threads the lane has started, counted in place. */
export type LaneStart = { readonly startedThreads: SharedArrayBuffer };

export type LanePoolOptions = {
  readonly filename: string;
  readonly heap: HeapLimits;
  readonly threadCount: number;
  /** Threads that stay when the lane has nothing to do; the others start when they are needed, each within a tenth of a second. */
  readonly threadsKept: number;
  readonly concurrentTasksPerThread: number;
  readonly queueMax: number;
  readonly taskTimeoutMs: number;
  readonly workerData: object;
  /** A thread of the lane died outside a task. */
  readonly onThreadLost: (error: Error) => void;
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
  /** Goes before everything that is not, and is never refused: the signature of a publish must not wait behind an auth storm. */
  readonly isUrgent?: boolean;
};

/** Threads without an address, for slow work that any of them can do: RSA, runners. Piscina gets only what they can take now. */
export class LanePool {
  readonly counters = { tasks: 0, refused: 0, failed: 0, timeouts: 0 };
  readonly #options: LanePoolOptions;
  readonly #piscina: ReturnType<typeof openThreads>;
  readonly #urgent: LaneTask[] = [];
  readonly #queue: LaneTask[] = [];
  readonly #runningMax: number;
  #running = 0;
  #isClosing = false;

  constructor(options: LanePoolOptions) {
    this.#options = options;
    this.#runningMax = options.threadCount * options.concurrentTasksPerThread;
    const startedThreads = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    this.#piscina = openThreads({
      ...options,
      threads: options.threadCount,
      tasksPerThread: options.concurrentTasksPerThread,
      workerData: { ...options.workerData, startedThreads } satisfies LaneStart,
    });
    this.#piscina.on("error", options.onThreadLost);
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
    return this.#urgent.length + this.#queue.length + this.#running;
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
    for (const waiting of [...this.#urgent.splice(0), ...this.#queue.splice(0)])
      waiting.reject(new SaltworksError("CHANNEL_CLOSED", "the lane is closed"));
    await this.#piscina.destroy();
  }

  #pump(): void {
    while (this.#running < this.#runningMax && !this.#isClosing) {
      const waiting = this.#urgent.shift() ?? this.#queue.shift();
      if (waiting === undefined) return;
      // Its caller has given up in the meantime.
      if (waiting.isSettled) continue;
      this.#running += 1;
      const { task, transfer, abort } = waiting;
      // Piscina gives a thread nothing beside a task that can be aborted: without the signal, tasks share their thread.
      const signal = this.#isThreadShared ? null : abort.signal;
      this.#piscina
        .run(task, { transferList: [...transfer], signal })
        .then(waiting.resolve, waiting.reject)
        .finally(() => {
          this.#running -= 1;
          this.#pump();
        });
    }
  }

  /** A thread that runs one task at a time and is still at this one hangs: it is replaced. Others' tasks are never ended with it. */
  #endOverdue(waiting: LaneTask): void {
    this.counters.timeouts += 1;
    waiting.reject(new SaltworksError("TASK_TIMEOUT", "a lane task took too long"));
    if (!this.#isThreadShared) waiting.abort.abort();
  }
}
