/** Pools of interchangeable worker threads (lanes) for slow work: RSA, pillars, runners. */
import assert from "node:assert/strict";
import type { MessagePort } from "node:worker_threads";
import { SaltworksError } from "../../errors.ts";
import { laneStartMs, laneTurnMs, threadsEndingMax } from "../../limits.ts";
import { TurnWatch } from "./turns.ts";
import { type HeapLimits, openThreads } from "./worker-pool.ts";

/** Start values that every lane gives its threads beside the lane's own. */
export type LaneStart = {
  /** How many threads the lane has started. Each thread increments it. */
  readonly startedThreads: SharedArrayBuffer;
  /** A thread that runs several tasks at once counts its event loop's turns here (turns.ts). */
  readonly turns: SharedArrayBuffer;
};

export type LanePoolOptions = {
  readonly filename: string;
  readonly heap: HeapLimits;
  readonly threadCount: number;
  /** If this is over 1, the tasks share one thread, the lane's only one. */
  readonly concurrentTasksPerThread: number;
  /** Threads that stay while the lane is idle. The others start on demand, each within 0.1 s. */
  readonly threadsKept: number;
  /** Default: `idleThreadMs`. */
  readonly idleMs?: number;
  readonly queueMax: number;
  readonly taskTimeoutMs: number;
  readonly workerData: object;
  /** How long overdue tasks may hold all places of a shared thread while others wait. Default 0. */
  readonly overdueGraceMs?: number;
  /** Called when a thread of the lane dies outside a task, or is ended because it hangs or has overdue tasks only. */
  readonly onThreadLost: (error: Error) => void;
  /** Default `laneTurnMs`. */
  readonly turnMs?: number;
  /** What the first thread may take to start beyond `taskTimeoutMs`. Default `laneStartMs`. */
  readonly startMs?: number;
};

type LaneTask = {
  readonly task: object;
  readonly transfer: readonly (ArrayBuffer | MessagePort)[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly abort: AbortController;
  isSettled: boolean;
  /** Since when the task is overdue, by `performance.now()`; infinity if it is not. */
  overdueSinceMs: number;
};

export type LaneRunOptions = {
  readonly transfer?: readonly (ArrayBuffer | MessagePort)[];
  /** An urgent task goes first and is never refused. Example: a publish's signature must not wait behind a storm of authentications. */
  readonly isUrgent?: boolean;
};

/** A lane's threads and its queue. Piscina gets only tasks that a thread can take now. */
export class LanePool {
  readonly counters = { tasks: 0, refused: 0, failed: 0, timeouts: 0, threadsLost: 0 };
  readonly #options: LanePoolOptions;
  readonly #startedThreads = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  #piscina: ReturnType<typeof openThreads>;
  readonly #urgent: LaneTask[] = [];
  readonly #queue: LaneTask[] = [];
  readonly #runningMax: number;
  #running = new Set<LaneTask>();
  #turns = new TurnWatch();
  #lookTimer: NodeJS.Timeout | undefined;
  /** One for each replaced thread that has not ended yet. */
  readonly #ending = new Set<Promise<void>>();
  #isClosing = false;
  /** How many threads had started when the present ones were asked for. Until one more has, tasks wait for a thread and not for their own end. */
  #coldCount = 0;

  constructor(options: LanePoolOptions) {
    this.#options = options;
    this.#runningMax = options.threadCount * options.concurrentTasksPerThread;
    this.#piscina = this.#open();
    if (!this.#isThreadShared) return;
    assert.equal(options.threadCount, 1, "tasks share the lane's only thread");
    this.#lookTimer = setInterval(() => this.#look(), options.turnMs ?? laneTurnMs).unref();
  }

  #open(): ReturnType<typeof openThreads> {
    const { threadCount: threads, concurrentTasksPerThread: tasksPerThread } = this.#options;
    const laneStart: LaneStart = { startedThreads: this.#startedThreads, turns: this.#turns.memory };
    const workerData = { ...this.#options.workerData, ...laneStart };
    const piscina = openThreads({ ...this.#options, threads, tasksPerThread, workerData });
    piscina.on("error", (error) => {
      this.#noteThreadLost(error);
      if (piscina === this.#piscina && piscina.threads.length === 0) this.#failUnstarted(error);
    });
    return piscina;
  }

  /**
   * The only thread could not start, as when the program's files were replaced or memory is short. Piscina would let its tasks wait until a later
   * task asks for another thread.
   */
  #failUnstarted(cause: Error): void {
    if (this.#running.size === 0 || this.#isClosing) return;
    for (const task of this.#running)
      task.reject(new SaltworksError("WORKER_LOST", `a thread could not start: ${cause.message}`, {}, { cause }));
    this.#renewThreads();
  }

  get #isThreadShared(): boolean {
    return this.#options.concurrentTasksPerThread > 1;
  }

  /** Number of threads that run or are being started. */
  get threadsUp(): number {
    return this.#piscina.threads.length;
  }

  /** Number of tasks that wait or run. */
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
      const { taskTimeoutMs, startMs = laneStartMs } = this.#options;
      const startedMs = performance.now();
      let wasStarting = false;
      const late = (): void => {
        // A loaded machine takes seconds to start a thread. That time is not the task's, whose own begins after it.
        const isStarting = this.#isStarting;
        const mayWait = (isStarting || wasStarting) && performance.now() - startedMs <= taskTimeoutMs + startMs;
        wasStarting = isStarting;
        if (mayWait) timer = setTimeout(late, isStarting ? Math.min(taskTimeoutMs, startMs) : taskTimeoutMs).unref();
        else this.#endOverdue(waiting);
      };
      let timer = setTimeout(late, taskTimeoutMs).unref();
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
        overdueSinceMs: Number.POSITIVE_INFINITY,
      };
      (isUrgent ? this.#urgent : this.#queue).push(waiting);
      this.#pump();
      this.#endOverdueThread();
    });
  }

  /** Whether no thread has come up since the lane had none. */
  get #isStarting(): boolean {
    return this.#coldCount === this.#startedCount;
  }

  get #startedCount(): number {
    return Atomics.load(new Int32Array(this.#startedThreads), 0);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#lookTimer);
    for (const waiting of [...this.#urgent.splice(0), ...this.#queue.splice(0)])
      waiting.reject(new SaltworksError("CHANNEL_CLOSED", "the lane is closed"));
    await Promise.all([this.#piscina.destroy(), ...this.#ending]);
  }

  #pump(): void {
    if (this.#piscina.threads.length === 0) this.#coldCount = this.#startedCount;
    while (this.#running.size < this.#runningMax && !this.#isClosing) {
      const waiting = this.#urgent.shift() ?? this.#queue.shift();
      if (waiting === undefined) return;
      const running = this.#running.add(waiting);
      const { task, transfer, abort } = waiting;
      // Piscina gives a thread whose task has a signal no further task.
      const signal = this.#isThreadShared ? null : abort.signal;
      this.#piscina
        .run(task, { transferList: [...transfer], signal })
        .then(waiting.resolve, waiting.reject)
        .finally(() => {
          running.delete(waiting);
          this.#pump();
        });
    }
  }

  /**
   * Fails the task. A thread that runs one task at a time is replaced. A shared thread goes on while it serves other tasks, because a slow task may
   * still be of use: a file's hash is then ready for the next request.
   */
  #endOverdue(waiting: LaneTask): void {
    this.#timeOut(waiting, "a lane task took too long");
    if (!this.#running.has(waiting)) this.#dropWaiting(waiting);
    else if (this.#isThreadShared) this.#endOverdueThread();
    else {
      this.counters.threadsLost += 1;
      waiting.abort.abort();
    }
  }

  #dropWaiting(waiting: LaneTask): void {
    for (const queue of [this.#urgent, this.#queue]) {
      const index = queue.indexOf(waiting);
      if (index >= 0) queue.splice(index, 1);
    }
  }

  #look(): void {
    if (this.#turns.look(this.#running.size === 0)) this.#replaceThread("a lane's thread hangs");
    else this.#endOverdueThread();
  }

  /** Replaces a shared thread that has no place for a task that waits, because overdue tasks have held all places for `overdueGraceMs`. */
  #endOverdueThread(): void {
    const isAnyWaiting = this.#urgent.length + this.#queue.length > 0;
    if (!this.#isThreadShared || !isAnyWaiting || this.#running.size < this.#runningMax) return;
    const overdueMs = performance.now() - (this.#options.overdueGraceMs ?? 0);
    for (const { overdueSinceMs } of this.#running) if (overdueSinceMs > overdueMs) return;
    this.#replaceThread("all tasks of a lane's thread are overdue");
  }

  #timeOut(waiting: LaneTask, reason: string): void {
    waiting.overdueSinceMs = performance.now();
    this.counters.timeouts += 1;
    waiting.reject(new SaltworksError("TASK_TIMEOUT", reason));
  }

  /**
   * Fails the tasks of the shared thread, and gives what waits to another thread at once: one that hangs in a system call ends only after the call.
   * So that such threads do not pile up, the latest one goes on if `threadsEndingMax` have not ended yet.
   */
  #replaceThread(reason: string): void {
    if (this.#isClosing || this.#ending.size >= threadsEndingMax) return;
    this.#noteThreadLost(new SaltworksError("WORKER_LOST", reason, { tasks: this.#running.size }));
    for (const task of this.#running) if (!task.isSettled) this.#timeOut(task, reason);
    this.#renewThreads();
  }

  /** Gives what waits to other threads. The former ones end by themselves. */
  #renewThreads(): void {
    this.#running = new Set();
    this.#turns = new TurnWatch();
    const replaced = this.#piscina;
    this.#coldCount = this.#startedCount;
    this.#piscina = this.#open();
    const ending = replaced.destroy().catch(this.#options.onThreadLost);
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
    this.#pump();
  }

  #noteThreadLost(error: Error): void {
    this.counters.threadsLost += 1;
    this.#options.onThreadLost(error);
  }
}
