/**
 * The pool of worker threads, for the main thread. This is the only file that names Piscina.
 * The pool keeps a bounded queue per slot. It gives Piscina only tasks that the slot's worker can take now: Piscina keeps a task for which the
 * balancer answers null in one queue for all workers. docs/ARCHITECTURE.md, "Threads".
 */
import { Piscina } from "piscina";
import { SaltworksError } from "../../errors.ts";
import { idleThreadMs, workerStartTimeoutMs, workerTaskTimeoutMs } from "../../limits.ts";
import { isInTransaction } from "../../store/lmdb/transaction-marks.ts";

/**
 * A task for a slot. `build` is called for each try, because a transferred buffer is lost if the worker dies. `bytes` counts against
 * `queueBytesMax`. `isUrgent`: the task goes first and is never refused, because keys and publishes must not wait behind megabytes of returns.
 */
export type PoolTask = {
  readonly bytes: number;
  readonly isUrgent?: boolean;
  readonly build: () => { readonly task: object; readonly transfer: readonly ArrayBuffer[] };
};
type Waiting = {
  readonly asked: PoolTask;
  /** When the task was last put into its queue. */
  queuedMs: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  tries: number;
  startedMs: number;
  /** The thread that runs the task. */
  workerId: number | undefined;
};
type Slot = {
  readonly index: number;
  workerId: number | undefined;
  /** When the slot lost its worker. */
  emptySinceMs: number;
  /** Whether the slot's thread has finished a task. */
  hasStarted: boolean;
  readonly urgent: Waiting[];
  readonly queue: Waiting[];
  readonly inFlight: Set<Waiting>;
  queuedBytes: number;
  /** Looks in a row at which its oldest task was overdue. After a pause of the whole process the first of them says nothing. */
  lateLooks: number;
};

/** Bounds of a thread's heap. A large `youngMb` costs memory; a thread that outgrows `oldMb` ends. */
export type HeapLimits = { readonly youngMb: number; readonly oldMb: number };

export type ThreadOptions = {
  readonly filename: string;
  readonly heap: HeapLimits;
  readonly threads: number;
  /** Threads that stay while the pool is idle. Default: all. */
  readonly threadsKept?: number;
  /** After this time without work the other threads end. Default: `idleThreadMs`. */
  readonly idleMs?: number;
  readonly tasksPerThread: number;
  readonly workerData: object;
};

/** Opens threads for any pool. Idle threads do not block in `Atomics.wait`, which would stop their timers. */
export function openThreads(o: ThreadOptions, loadBalancer?: LoadBalancer): Piscina {
  return new Piscina({
    filename: o.filename,
    minThreads: o.threadsKept ?? o.threads,
    maxThreads: o.threads,
    idleTimeout: o.threadsKept === undefined ? Number.POSITIVE_INFINITY : (o.idleMs ?? idleThreadMs),
    concurrentTasksPerWorker: o.tasksPerThread,
    maxQueue: o.threads * o.tasksPerThread,
    atomics: "disabled",
    recordTiming: false,
    resourceLimits: { maxYoungGenerationSizeMb: o.heap.youngMb, maxOldGenerationSizeMb: o.heap.oldMb },
    workerData: o.workerData,
    ...(loadBalancer === undefined ? {} : { loadBalancer }),
  });
}

type LoadBalancer = NonNullable<NonNullable<ConstructorParameters<typeof Piscina>[0]>["loadBalancer"]>;

export type WorkerPoolOptions = {
  readonly filename: string;
  readonly heap: HeapLimits;
  readonly slotCount: number;
  readonly batchesInFlight: number;
  readonly queueBytesMax: number;
  /** The owner keeps it current for replacement workers. */
  readonly workerData: object;
  readonly onWorkerLost: (slot: number, error: Error) => void;
  /** A thread whose task takes longer is ended, and a task that waits longer for a thread fails. Default: `workerTaskTimeoutMs`. */
  readonly taskTimeoutMs?: number;
  /** A thread whose first task takes longer is ended. A slot without a thread for this long counts as unserved. Default: `workerStartTimeoutMs`. */
  readonly startTimeoutMs?: number;
  /** Marks of threads within a transaction of LMDB. Such a thread is not ended: it has longer, and then counts as unserved. */
  readonly transactions?: SharedArrayBuffer;
};

/** Tries of a task whose worker dies. A second try is safe, because stores are idempotent. After the last try the task fails. */
const triesMax = 2;
/** Urgent tasks that a worker gets while its batches run, because a batch may wait for the disk. */
const urgentBeside = 1;
const overdueCheckMs = 1_000;

/** One worker thread per slot. A slot's tasks start on its thread in order, and at most `batchesInFlight` of them run at once. */
export class WorkerPool {
  readonly slotCount: number;
  readonly counters = { tasks: 0, refused: 0, retried: 0, workersLost: 0, timeouts: 0 };
  /**
   * Called once, if a slot gets no thread: Piscina does not replace a thread that failed while its modules loaded, and a thread that hangs within a
   * transaction of LMDB cannot be ended.
   */
  onUnserved: ((error: SaltworksError) => void) | undefined;
  readonly #options: WorkerPoolOptions;
  readonly #piscina: Piscina;
  readonly #slots: Slot[];
  readonly #overdueTimer: NodeJS.Timeout;
  #isClosing = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.slotCount = options.slotCount;
    this.#slots = Array.from({ length: options.slotCount }, (_, index) => ({
      index,
      workerId: undefined,
      emptySinceMs: performance.now(),
      hasStarted: false,
      urgent: [],
      queue: [],
      inFlight: new Set<Waiting>(),
      queuedBytes: 0,
      lateLooks: 0,
    }));
    const threads = { ...options, threads: options.slotCount, tasksPerThread: options.batchesInFlight + urgentBeside };
    this.#piscina = openThreads(threads, (task, workers) => {
      const choice = task[Piscina.queueOptionsSymbol as never] as { slot: number } | undefined;
      const workerId = choice === undefined ? undefined : this.#slots[choice.slot]?.workerId;
      return workers.find((worker) => worker.id === workerId) ?? null;
    });
    // Piscina emits `workerCreate` before the balancer sees the worker. A task given at once would wait forever.
    this.#piscina.on("workerCreate", (worker: { id: number }) => setImmediate(() => this.#seat(worker.id)));
    this.#piscina.on("workerDestroy", (worker: { id: number }) => this.#vacate(worker.id));
    this.#piscina.on("error", (error: Error) => options.onWorkerLost(-1, error));
    this.#overdueTimer = setInterval(() => this.#endOverdue(), overdueCheckMs);
  }

  /** Number of ordinary tasks that wait in this slot's queue. */
  depth(slot: number): number {
    return this.#slots[slot]?.queue.length ?? 0;
  }

  /**
   * Runs a task on a slot's worker. Resolves with the handler's result.
   * @throws SaltworksError QUEUE_FULL at once; TASK_TIMEOUT or WORKER_LOST after the tries; errors of the handler
   */
  offer<Result>(slotIndex: number, task: PoolTask): Promise<Result> {
    const slot = this.#slots[slotIndex];
    if (slot === undefined || this.#isClosing) {
      return Promise.reject(new SaltworksError("CHANNEL_CLOSED", "the worker pool is closed"));
    }
    const isOver = slot.queuedBytes + task.bytes > this.#options.queueBytesMax && slot.queuedBytes > 0;
    if (isOver && task.isUrgent !== true) {
      this.counters.refused += 1;
      return Promise.reject(new SaltworksError("QUEUE_FULL", "worker queue is full", { slot: slotIndex }));
    }
    return new Promise<Result>((resolve, reject) => {
      const resolveAny = resolve as (result: unknown) => void;
      queueOf(slot, task).push({
        asked: task,
        queuedMs: performance.now(),
        resolve: resolveAny,
        reject,
        tries: 0,
        startedMs: 0,
        workerId: undefined,
      });
      slot.queuedBytes += task.bytes;
      this.#pump(slot);
    });
  }

  /** Runs one small task on every slot, before waiting tasks. `build` gets the slot's index. */
  broadcast<Result>(build: (slot: number) => object): Promise<Result[]> {
    return Promise.all(this.#toAll<Result>(build));
  }

  /** Like `broadcast`, but resolves with each slot's answer or error, in order. */
  broadcastSettled<Result>(build: (slot: number) => object): Promise<PromiseSettledResult<Result>[]> {
    return Promise.allSettled(this.#toAll<Result>(build));
  }

  #toAll<Result>(build: (slot: number) => object): Promise<Result>[] {
    return this.#slots.map(({ index }) =>
      this.offer<Result>(index, { bytes: 0, isUrgent: true, build: () => ({ task: build(index), transfer: [] }) }),
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
    slot.hasStarted = false;
    this.#pump(slot);
  }

  /** Frees the slots whose thread no longer lives. The thread that ended no longer has its id, so `workerId` may not be the slot's. */
  #vacate(workerId: number): void {
    const living = new Set(this.#piscina.threads.map((thread) => thread.threadId));
    living.delete(workerId);
    for (const slot of this.#slots) {
      if (slot.workerId === undefined || living.has(slot.workerId)) continue;
      slot.workerId = undefined;
      slot.emptySinceMs = performance.now();
      if (this.#isClosing) continue;
      this.counters.workersLost += 1;
      this.#options.onWorkerLost(
        slot.index,
        new SaltworksError("WORKER_LOST", "a worker thread ended", { slot: slot.index }),
      );
    }
  }

  #pump(slot: Slot): void {
    const { batchesInFlight } = this.#options;
    while (slot.workerId !== undefined && slot.inFlight.size < batchesInFlight + urgentBeside) {
      const waiting = slot.urgent.shift() ?? (slot.inFlight.size < batchesInFlight ? slot.queue.shift() : undefined);
      if (waiting === undefined) return;
      this.#start(slot, waiting);
    }
  }

  #start(slot: Slot, waiting: Waiting): void {
    const { task, transfer } = waiting.asked.build();
    waiting.startedMs = performance.now();
    waiting.tries += 1;
    waiting.workerId = slot.workerId;
    slot.inFlight.add(waiting);
    this.counters.tasks += 1;
    const addressed = { ...task, slot: slot.index, [Piscina.queueOptionsSymbol as symbol]: { slot: slot.index } };
    this.#piscina.run(addressed, { transferList: transfer as ArrayBuffer[] }).then(
      (result) => this.#settle(slot, waiting, () => finish(waiting, result)),
      (error: Error) => this.#fail(slot, waiting, error),
    );
  }

  #settle(slot: Slot, waiting: Waiting, finish: () => void): void {
    if (slot.inFlight.delete(waiting)) slot.hasStarted = true;
    slot.queuedBytes -= waiting.asked.bytes;
    finish();
    this.#pump(slot);
  }

  #fail(slot: Slot, waiting: Waiting, error: Error): void {
    // Either the handler threw, or the thread died. A dead thread's slot is vacated before its tasks fail, so that `workerId` tells which.
    const isThreadGone = slot.workerId !== waiting.workerId;
    if (isThreadGone && !this.#isClosing && waiting.tries < triesMax) {
      this.counters.retried += 1;
      slot.inFlight.delete(waiting);
      waiting.queuedMs = performance.now();
      queueOf(slot, waiting.asked).unshift(waiting);
      this.#pump(slot);
      return;
    }
    const final = isThreadGone
      ? new SaltworksError("WORKER_LOST", "the worker thread ended while it ran this task", {}, { cause: error })
      : error;
    this.#settle(slot, waiting, () => waiting.reject(final));
  }

  #endOverdue(): void {
    const now = performance.now();
    const { taskTimeoutMs = workerTaskTimeoutMs, startTimeoutMs = workerStartTimeoutMs } = this.#options;
    for (const slot of this.#slots) {
      const [oldest] = slot.inFlight;
      const timeoutMs = slot.hasStarted ? taskTimeoutMs : startTimeoutMs;
      const lateMs = oldest === undefined ? 0 : now - oldest.startedMs - timeoutMs;
      slot.lateLooks = lateMs > 0 ? slot.lateLooks + 1 : 0;
      if (lateMs > 0) this.#endLate(slot, lateMs > startTimeoutMs && slot.lateLooks > 1);
      if (slot.workerId !== undefined) continue;
      for (const queue of [slot.urgent, slot.queue]) this.#endUnserved(slot, queue, now - taskTimeoutMs);
      if (now - slot.emptySinceMs > startTimeoutMs)
        this.#tellUnserved(slot, "a worker thread ended and no other could start");
    }
  }

  #endLate(slot: Slot, isHopeless: boolean): void {
    const { transactions } = this.#options;
    const isWriting = transactions !== undefined && isInTransaction(transactions, slot.workerId ?? 0);
    if (!isWriting) this.#endThread(slot);
    if (isHopeless) this.#tellUnserved(slot, "a worker thread hangs and cannot be ended");
  }

  #tellUnserved(slot: Slot, why: string): void {
    const tell = this.onUnserved;
    this.onUnserved = undefined;
    tell?.(new SaltworksError("WORKER_LOST", why, { slot: slot.index }));
  }

  /** Terminates the slot's thread; Piscina replaces it. Piscina's own cancellation, a signal per task, costs more than the thread hop. */
  #endThread(slot: Slot): void {
    this.counters.timeouts += 1;
    const thread = this.#piscina.threads.find(({ threadId }) => threadId === slot.workerId);
    thread?.terminate().catch((error: Error) => this.#options.onWorkerLost(slot.index, error));
  }

  /** Fails the tasks that have waited in the queue since before `sinceMs`. */
  #endUnserved(slot: Slot, queue: Waiting[], sinceMs: number): void {
    for (;;) {
      const [waiting] = queue;
      if (waiting === undefined || waiting.queuedMs >= sinceMs) return;
      queue.shift();
      this.counters.timeouts += 1;
      this.#settle(slot, waiting, () =>
        waiting.reject(new SaltworksError("TASK_TIMEOUT", "no worker thread took the task", { slot: slot.index })),
      );
    }
  }
}

function queueOf(slot: Slot, task: PoolTask): Waiting[] {
  return task.isUrgent === true ? slot.urgent : slot.queue;
}

/** An answer that carries a SaltworksError to the main thread; a thrown error would lose its code. Called in the worker thread. */
export function failed({ code, message }: SaltworksError): object {
  return { failure: { code, message } };
}

function finish(waiting: Waiting, result: unknown): void {
  if (typeof result !== "object" || result === null || !("failure" in result)) {
    waiting.resolve(result);
    return;
  }
  const { code, message } = result.failure as Pick<SaltworksError, "code" | "message">;
  waiting.reject(new SaltworksError(code, message));
}

/** Makes Piscina transfer `buffer` with `result` instead of copying it. Called in the worker thread. */
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
