/**
 * The worker threads as the main thread sees them, and the only file that names Piscina.
 * A shard pool keeps a bounded queue per slot and hands Piscina only what that slot's worker can take now: a balancer that
 * answered null would leave the task waiting behind another worker's. docs/ARCHITECTURE.md, "Threads".
 */
import type { MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import { SaltworksError } from "../errors.ts";
import { workerTaskTimeoutMs } from "../limits.ts";

/**
 * `build` is called for each try, because a worker that dies takes a transferred buffer with it. `bytes` counts against the queue.
 * `isUrgent`: goes before everything that is not, and is never refused: keys and publishes must not wait behind megabytes of returns.
 */
export type SlotJob = {
  readonly bytes: number;
  readonly isUrgent?: boolean;
  readonly build: () => { readonly task: object; readonly transfer: readonly ArrayBuffer[] };
};
type Waiting = {
  readonly job: SlotJob;
  readonly offeredMs: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  tries: number;
  abort: AbortController | undefined;
  startedMs: number;
};
type Slot = {
  readonly index: number;
  workerId: number | undefined;
  readonly urgent: Waiting[];
  readonly queue: Waiting[];
  readonly inFlight: Set<Waiting>;
  queuedBytes: number;
};

export type ShardPoolOptions = {
  readonly filename: string;
  readonly slotCount: number;
  readonly batchesInFlight: number;
  readonly queueBytesMax: number;
  /** Kept current by the owner: a replaced worker starts with it as it is then. */
  readonly workerData: object;
  readonly onWorkerLost: (slot: number, error: Error) => void;
};

/** A worker may die under a batch once: stores are idempotent. The second time its requests are answered with an error. */
const triesMax = 2;
const overdueCheckMs = 1_000;

/** Worker threads with an address: what is offered to a slot runs on that slot's thread, in order, a few at a time. */
export class ShardPool {
  readonly slotCount: number;
  readonly counters = { tasks: 0, refused: 0, retried: 0, workersLost: 0, timeouts: 0 };
  readonly #options: ShardPoolOptions;
  readonly #piscina: Piscina;
  readonly #slots: Slot[];
  readonly #overdueTimer: NodeJS.Timeout;
  #isClosing = false;

  constructor(options: ShardPoolOptions) {
    this.#options = options;
    this.slotCount = options.slotCount;
    this.#slots = Array.from({ length: options.slotCount }, (_, index) => ({
      index,
      workerId: undefined,
      urgent: [],
      queue: [],
      inFlight: new Set<Waiting>(),
      queuedBytes: 0,
    }));
    this.#piscina = new Piscina({
      filename: options.filename,
      minThreads: options.slotCount,
      maxThreads: options.slotCount,
      idleTimeout: Number.POSITIVE_INFINITY,
      concurrentTasksPerWorker: options.batchesInFlight,
      maxQueue: options.slotCount * options.batchesInFlight,
      atomics: "disabled",
      recordTiming: false,
      workerData: options.workerData,
      loadBalancer: (task, workers) => {
        const choice = task[Piscina.queueOptionsSymbol as never] as { slot: number } | undefined;
        const workerId = choice === undefined ? undefined : this.#slots[choice.slot]?.workerId;
        return workers.find((worker) => worker.id === workerId) ?? null;
      },
    });
    // Piscina announces a replaced worker just before it offers it to the balancer: a task given at once would wait in its queue for good.
    this.#piscina.on("workerCreate", (worker: { id: number }) => setImmediate(() => this.#seat(worker.id)));
    this.#piscina.on("workerDestroy", (worker: { id: number }) => this.#vacate(worker.id));
    this.#piscina.on("error", (error: Error) => options.onWorkerLost(-1, error));
    this.#overdueTimer = setInterval(() => this.#endOverdue(), overdueCheckMs);
  }

  /** Batches that wait in the pool's own queue of this slot. */
  depth(slot: number): number {
    return this.#slots[slot]?.queue.length ?? 0;
  }

  /**
   * Runs a job on a slot's worker. The result is what the thread's handler returned.
   * @throws SaltworksError QUEUE_FULL at once; TASK_TIMEOUT or WORKER_LOST after the tries; whatever the handler threw
   */
  offer<Result>(slotIndex: number, job: SlotJob): Promise<Result> {
    const slot = this.#slots[slotIndex];
    if (slot === undefined || this.#isClosing) {
      return Promise.reject(new SaltworksError("CHANNEL_CLOSED", "the worker pool is closed"));
    }
    const isOver = slot.queuedBytes + job.bytes > this.#options.queueBytesMax && slot.queuedBytes > 0;
    if (isOver && job.isUrgent !== true) {
      this.counters.refused += 1;
      return Promise.reject(new SaltworksError("QUEUE_FULL", "worker queue is full", { slot: slotIndex }));
    }
    return new Promise<Result>((resolve, reject) => {
      const resolveAny = resolve as (result: unknown) => void;
      queueOf(slot, job).push({
        job,
        offeredMs: Date.now(),
        resolve: resolveAny,
        reject,
        tries: 0,
        abort: undefined,
        startedMs: 0,
      });
      slot.queuedBytes += job.bytes;
      this.#pump(slot);
    });
  }

  /** Runs one small job on every slot, before what waits there; `build` gets the slot's index. */
  broadcast<Result>(build: (slot: number) => object): Promise<Result[]> {
    return Promise.all(
      this.#slots.map((slot) =>
        this.offer<Result>(slot.index, {
          bytes: 0,
          isUrgent: true,
          build: () => ({ task: build(slot.index), transfer: [] }),
        }),
      ),
    );
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#overdueTimer);
    for (const slot of this.#slots) {
      for (const waiting of [...slot.urgent.splice(0), ...slot.queue.splice(0)])
        waiting.reject(new SaltworksError("CHANNEL_CLOSED", "the worker pool is closed"));
    }
    await this.#piscina.destroy();
  }

  #seat(workerId: number): void {
    const slot = this.#slots.find((candidate) => candidate.workerId === undefined);
    if (slot === undefined) return;
    slot.workerId = workerId;
    this.#pump(slot);
  }

  /** A thread that has ended has lost its id by now: its slot is the one whose id no living thread has. */
  #vacate(workerId: number): void {
    const living = new Set(this.#piscina.threads.map((thread) => thread.threadId));
    living.delete(workerId);
    for (const slot of this.#slots) {
      if (slot.workerId === undefined || living.has(slot.workerId)) continue;
      slot.workerId = undefined;
      if (this.#isClosing) continue;
      this.counters.workersLost += 1;
      this.#options.onWorkerLost(
        slot.index,
        new SaltworksError("WORKER_LOST", "a worker thread ended", { slot: slot.index }),
      );
    }
  }

  #pump(slot: Slot): void {
    while (slot.workerId !== undefined && slot.inFlight.size < this.#options.batchesInFlight) {
      const waiting = slot.urgent.shift() ?? slot.queue.shift();
      if (waiting === undefined) return;
      this.#start(slot, waiting);
    }
  }

  #start(slot: Slot, waiting: Waiting): void {
    const { task, transfer } = waiting.job.build();
    const abort = new AbortController();
    waiting.abort = abort;
    waiting.startedMs = Date.now();
    waiting.tries += 1;
    slot.inFlight.add(waiting);
    this.counters.tasks += 1;
    const addressed = { ...task, slot: slot.index, [Piscina.queueOptionsSymbol as symbol]: { slot: slot.index } };
    this.#piscina.run(addressed, { transferList: [...transfer], signal: abort.signal }).then(
      (result) => this.#settle(slot, waiting, () => waiting.resolve(result)),
      (error: Error) => this.#fail(slot, waiting, error),
    );
  }

  #settle(slot: Slot, waiting: Waiting, finish: () => void): void {
    slot.inFlight.delete(waiting);
    slot.queuedBytes -= waiting.job.bytes;
    finish();
    this.#pump(slot);
  }

  #fail(slot: Slot, waiting: Waiting, error: Error): void {
    // An error that the handler threw is its answer; only a dead or aborted thread is worth a second try.
    const isThreadGone =
      slot.workerId === undefined || error.name === "AbortError" || /worker exited/.test(error.message);
    if (isThreadGone && !this.#isClosing && waiting.tries < triesMax) {
      this.counters.retried += 1;
      slot.inFlight.delete(waiting);
      queueOf(slot, waiting.job).unshift(waiting);
      this.#pump(slot);
      return;
    }
    const final = isThreadGone
      ? new SaltworksError("WORKER_LOST", "the worker thread ended under this task", {}, { cause: error })
      : error;
    this.#settle(slot, waiting, () => waiting.reject(final));
  }

  #endOverdue(): void {
    const now = Date.now();
    for (const slot of this.#slots) {
      for (const waiting of slot.inFlight) {
        if (now - waiting.startedMs <= workerTaskTimeoutMs) continue;
        this.counters.timeouts += 1;
        waiting.abort?.abort();
      }
      if (slot.workerId !== undefined) continue;
      for (const queue of [slot.urgent, slot.queue]) this.#endUnserved(slot, queue, now);
    }
  }

  /** A thread that cannot start, again and again, must not keep its slot's callers waiting for ever. */
  #endUnserved(slot: Slot, queue: Waiting[], now: number): void {
    for (;;) {
      const [waiting] = queue;
      if (waiting === undefined || now - waiting.offeredMs <= workerTaskTimeoutMs) return;
      queue.shift();
      this.counters.timeouts += 1;
      this.#settle(slot, waiting, () =>
        waiting.reject(new SaltworksError("TASK_TIMEOUT", "no worker thread took the task", { slot: slot.index })),
      );
    }
  }
}

function queueOf(slot: Slot, job: SlotJob): Waiting[] {
  return job.isUrgent === true ? slot.urgent : slot.queue;
}

/** What a thread returns so that `buffer` is transferred with `result`, not copied. Called in the worker thread. */
export function transferring<Result extends object>(result: Result, buffer: ArrayBuffer): Result {
  return Piscina.move({
    get [Piscina.transferableSymbol as never]() {
      return [buffer];
    },
    get [Piscina.valueSymbol as never]() {
      return result;
    },
  } as never) as unknown as Result;
}

export type LanePoolOptions = {
  readonly filename: string;
  readonly threadCount: number;
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
  readonly #piscina: Piscina;
  readonly #urgent: LaneTask[] = [];
  readonly #queue: LaneTask[] = [];
  readonly #runningMax: number;
  #running = 0;
  #isClosing = false;

  constructor(options: LanePoolOptions) {
    this.#options = options;
    this.#runningMax = options.threadCount * options.concurrentTasksPerThread;
    this.#piscina = new Piscina({
      filename: options.filename,
      minThreads: options.threadCount,
      maxThreads: options.threadCount,
      idleTimeout: Number.POSITIVE_INFINITY,
      concurrentTasksPerWorker: options.concurrentTasksPerThread,
      maxQueue: this.#runningMax,
      atomics: "disabled",
      recordTiming: false,
      workerData: options.workerData,
    });
    this.#piscina.on("error", options.onThreadLost);
  }

  get #isThreadShared(): boolean {
    return this.#options.concurrentTasksPerThread > 1;
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
