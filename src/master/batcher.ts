/**
 * Gathers frames into batches, one queue per worker slot, and brings each reply back to its connection.
 * A batch leaves when the socket has drained or at `batch_max_frames`/`batch_max_bytes`; authentications wait behind everything else,
 * so that an auth storm cannot starve running jobs.
 */
import { SaltworksError } from "../errors.ts";
import { badLoad, encodeRawReply } from "../wire/reply.ts";
import { type BatchItem, packBatch } from "../workers/batch.ts";
import { type BatchResult, type BatchTask, type Deferred, itemKinds } from "../workers/messages.ts";
import type { Partitioner } from "../workers/partition.ts";
import type { ShardPool } from "../workers/pool.ts";
import { type Route, readRoute } from "./route.ts";

/** `identity` is the ROUTER's name for the connection that waits for the reply. */
type QueuedItem = BatchItem & { readonly identity: Buffer };
type SlotQueue = {
  ordinary: QueuedItem[];
  ordinaryBytes: number;
  auths: QueuedItem[];
  isFlushPlanned: boolean;
  batchesInFlight: number;
};

export type BatcherOptions = {
  readonly pool: ShardPool;
  readonly partitioner: Partitioner;
  readonly framesMax: number;
  readonly bytesMax: number;
  readonly authQueueMax: number;
  /** Batches that one worker has at a time (`batches_in_flight`). */
  readonly batchesInFlightMax: number;
  /** Bytes that may wait for one worker (`queue_max_bytes`). */
  readonly queueBytesMax: number;
  /** Not every queue is full any more. */
  readonly onRoom: () => void;
  readonly reply: (identity: Buffer, payload: Uint8Array) => void;
  readonly isOverMinionsMax: (id: string) => boolean;
  /** Whether anybody follows events or jobs now. */
  readonly isHeard: () => boolean;
  /** Everything of a finished batch but its replies. */
  readonly onResult: (result: BatchResult) => void;
  readonly onDeferred: (work: Deferred, identity: Buffer) => void;
  readonly onFault: (error: Error) => void;
};

/** A frame that cannot be read goes to any worker, which answers it. */
function routeOf(frame: Uint8Array): Route {
  try {
    return readRoute(frame);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { id: undefined, isAuth: false };
  }
}

/** Reading stops when all queues are at their bound; one alone may grow to this many times that before its requests are refused. */
const refusalFactor = 2;
const failedReply = encodeRawReply(Buffer.from("Some exception handling minion payload"));
/** Auths taken along at once: each costs the RSA lane about a millisecond, so a long row of them only waits there. */
const authsPerBatchMax = 32;

export class Batcher {
  readonly counters = { batches: 0, frames: 0, auths: 0, authsSuperseded: 0, refused: 0 };
  readonly #options: BatcherOptions;
  readonly #queues: SlotQueue[];
  #authCount = 0;
  #onIdle: (() => void)[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#queues = Array.from({ length: options.pool.slotCount }, () => ({
      ordinary: [],
      ordinaryBytes: 0,
      auths: [],
      isFlushPlanned: false,
      batchesInFlight: 0,
    }));
  }

  /** Takes a frame from the request socket. */
  offer(identity: Buffer, frame: Buffer): void {
    this.counters.frames += 1;
    const { id, isAuth } = routeOf(frame);
    const slot = this.#slotOf(id, identity);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    if (isAuth) {
      this.counters.auths += 1;
      const isOver = this.#options.isOverMinionsMax(id ?? "");
      const kind = isOver ? itemKinds.overMinionsMax : itemKinds.ordinary;
      this.#queueAuth(queue, { kind, bytes: frame, identity });
    } else if (this.#hasRoom(queue, identity)) {
      queue.ordinary.push({ kind: itemKinds.ordinary, bytes: frame, identity });
      queue.ordinaryBytes += frame.byteLength;
    }
    const isBatchFull =
      queue.ordinary.length >= this.#options.framesMax || queue.ordinaryBytes >= this.#options.bytesMax;
    if (isBatchFull) this.#flushOrdinary(slot, queue);
    this.#planFlush(slot, queue);
  }

  /** Whether every slot's queue is at its bound: time to stop reading, and leave the rest to ZeroMQ and TCP. */
  get isFull(): boolean {
    return this.#queues.every((queue) => queue.ordinaryBytes >= this.#options.queueBytesMax);
  }

  /** Takes a load that one worker has opened for another's partition. */
  offerOpened(identity: Buffer, work: Extract<Deferred, { kind: "forward" }>): void {
    const slot = this.#options.partitioner.slotOf(work.id, this.#options.pool.slotCount);
    const queue = this.#queues[slot];
    if (queue === undefined || !this.#hasRoom(queue, identity)) return;
    queue.ordinary.push({
      kind: itemKinds.opened,
      bytes: work.load,
      version: work.version,
      sealKey: work.sealKey,
      identity,
    });
    queue.ordinaryBytes += work.load.byteLength;
    this.#planFlush(slot, queue);
  }

  /** Settles when no request waits or runs. */
  async idle(): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  get waitingAuths(): number {
    return this.#authCount;
  }

  /** The worker that owns the id where that is visible, else any, by connection. */
  #slotOf(id: string | undefined, identity: Buffer): number {
    const { partitioner, pool } = this.#options;
    if (id !== undefined) return partitioner.slotOf(id, pool.slotCount);
    return (identity[identity.length - 1] ?? 0) % pool.slotCount;
  }

  #queueAuth(queue: SlotQueue, item: QueuedItem): void {
    if (this.#authCount >= this.#options.authQueueMax) {
      // The oldest has waited longest: its client is the nearest to giving up. It gets an answer, so that its socket is free.
      const oldest = queue.auths.shift();
      this.counters.authsSuperseded += 1;
      if (oldest === undefined) {
        this.#options.reply(item.identity, badLoad);
        return;
      }
      this.#authCount -= 1;
      this.#options.reply(oldest.identity, badLoad);
    }
    queue.auths.push(item);
    this.#authCount += 1;
  }

  #planFlush(slot: number, queue: SlotQueue): void {
    if (queue.isFlushPlanned) return;
    queue.isFlushPlanned = true;
    setImmediate(() => {
      queue.isFlushPlanned = false;
      this.#flushOrdinary(slot, queue);
      this.#flushAuths(slot, queue);
    });
  }

  /** A busy worker gets what has gathered meanwhile as one batch: one commit instead of many. */
  #flushOrdinary(slot: number, queue: SlotQueue): void {
    const wasFull = this.isFull;
    while (queue.ordinary.length > 0 && queue.batchesInFlight < this.#options.batchesInFlightMax) {
      this.#dispatch(slot, this.#takeBatch(queue));
    }
    // Here and nowhere else a queue gets shorter: whoever stopped reading would wait for ever otherwise.
    if (wasFull && !this.isFull) this.#options.onRoom();
  }

  /** At least one item, so that a frame over `bytesMax` leaves too. */
  #takeBatch(queue: SlotQueue): readonly QueuedItem[] {
    const { framesMax, bytesMax } = this.#options;
    let bytes = queue.ordinary[0]?.bytes.byteLength ?? 0;
    let count = 1;
    for (; count < Math.min(framesMax, queue.ordinary.length); count += 1) {
      const more = queue.ordinary[count]?.bytes.byteLength ?? 0;
      if (bytes + more > bytesMax) break;
      bytes += more;
    }
    queue.ordinaryBytes -= bytes;
    return queue.ordinary.splice(0, count);
  }

  /** @returns false if the slot's queue is so far over its bound that only refusing is left */
  #hasRoom(queue: SlotQueue, identity: Buffer): boolean {
    if (queue.ordinaryBytes < refusalFactor * this.#options.queueBytesMax) return true;
    this.counters.refused += 1;
    this.#options.reply(identity, failedReply);
    return false;
  }

  /** Holds back only while a batch is under way, whose end comes here again: what else waits in the pool tells nobody. */
  #flushAuths(slot: number, queue: SlotQueue): void {
    const isBusy = queue.ordinary.length > 0 || this.#options.pool.depth(slot) > 0;
    if (queue.auths.length === 0 || (isBusy && queue.batchesInFlight > 0)) return;
    const items = queue.auths.splice(0, authsPerBatchMax);
    this.#authCount -= items.length;
    this.#dispatch(slot, items);
  }

  #dispatch(slot: number, items: readonly QueuedItem[]): void {
    this.counters.batches += 1;
    const queue = this.#queues[slot];
    if (queue !== undefined) queue.batchesInFlight += 1;
    let bytes = 0;
    for (const item of items) bytes += item.bytes.byteLength;
    const build = () => {
      const buffer = packBatch(items);
      const task: BatchTask = { kind: "batch", buffer, isHeard: this.#options.isHeard() };
      return { task, transfer: [buffer] };
    };
    this.#options.pool.offer<BatchResult>(slot, { bytes, build }).then(
      (result) => this.#deliver(slot, items, result),
      (error: Error) => this.#refuse(slot, items, error),
    );
  }

  #deliver(slot: number, items: readonly QueuedItem[], result: BatchResult): void {
    try {
      this.#bringHome(items, result);
    } catch (error) {
      this.#options.onFault(error as Error);
    }
    this.#finish(slot);
  }

  #bringHome(items: readonly QueuedItem[], result: BatchResult): void {
    let start = 0;
    for (const [index, end] of result.replyEnds.entries()) {
      const item = items[index];
      if (end > start && item !== undefined)
        this.#options.reply(item.identity, Buffer.from(result.buffer, start, end - start));
      start = end;
    }
    this.#options.onResult(result);
    for (const work of result.deferred) {
      const item = items[work.item];
      if (item !== undefined) this.#options.onDeferred(work, item.identity);
    }
  }

  #refuse(slot: number, items: readonly QueuedItem[], error: Error): void {
    this.counters.refused += items.length;
    this.#options.onFault(error);
    for (const item of items) this.#options.reply(item.identity, failedReply);
    this.#finish(slot);
  }

  #finish(slot: number): void {
    const queue = this.#queues[slot];
    if (queue !== undefined) {
      queue.batchesInFlight -= 1;
      this.#flushOrdinary(slot, queue);
      this.#flushAuths(slot, queue);
    }
    if (!this.#isIdle()) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #isIdle(): boolean {
    return this.#queues.every(
      ({ ordinary, auths, batchesInFlight }) => ordinary.length === 0 && auths.length === 0 && batchesInFlight === 0,
    );
  }
}
