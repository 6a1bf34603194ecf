/**
 * Gathers frames into batches, one queue per worker slot, and brings each reply back to its connection.
 * A batch leaves when the socket has drained or at `batch_max_frames`/`batch_max_bytes`; authentications wait behind everything else,
 * so that an auth storm cannot starve running jobs.
 */
import { SaltworksError } from "../errors.ts";
import { authFrameBytesMax } from "../limits.ts";
import { failedReply } from "../wire/reply.ts";
import { type BatchItem, packBatch } from "../workers/batch.ts";
import { type AuthBatch, type BatchResult, type BatchTask, type Deferred, itemKinds } from "../workers/messages.ts";
import type { Partitioner } from "../workers/partition.ts";
import type { ShardPool } from "../workers/pool.ts";
import { AuthQueue, type AuthQueueOptions } from "./auth-queue.ts";
import type { RequestPeer } from "./request-peer.ts";
import { type Route, readRoute } from "./route.ts";
import { type QueueKind, SlotMeter, type SlotReading } from "./slot-meter.ts";
import { isWorthAnotherWorker, unservedReply } from "./unserved.ts";

/** `peer` is the connection that waits for the reply. */
type QueuedItem = BatchItem & {
  readonly peer: RequestPeer;
  /** As it stands outside of the seal; undefined where only a worker can know it. */
  readonly id: string | undefined;
  /** By `performance.now()`. */
  readonly queuedMs: number;
  /** Workers that could not serve it. */
  readonly failedSlots?: number;
};
type SlotQueue = {
  ordinary: QueuedItem[];
  ordinaryBytes: number;
  isFlushPlanned: boolean;
  batchesInFlight: number;
  readonly meter: SlotMeter;
};

export type BatcherOptions = {
  readonly pool: ShardPool;
  readonly partitioner: Partitioner;
  readonly framesMax: number;
  readonly bytesMax: number;
  readonly auths: Omit<AuthQueueOptions, "slotCount" | "forget">;
  /** How long a request may wait for others to travel with (`batch_linger_us`); 0: not at all. */
  readonly lingerMs: number;
  /** Batches that one worker has at a time (`batches_in_flight`). */
  readonly batchesInFlightMax: number;
  /** Bytes that may wait for one worker (`queue_max_bytes`). */
  readonly queueBytesMax: number;
  /** Not every queue is full any more. */
  readonly onRoom: () => void;
  readonly reply: (peer: RequestPeer, payload: Uint8Array) => void;
  /** A request of this connection gets no reply. */
  readonly forget: (peer: RequestPeer) => void;
  /** A minion has proved itself over this connection. */
  readonly prove: (peer: RequestPeer) => void;
  readonly isOverMinionsMax: (id: string) => boolean;
  /** Whether anybody follows events or jobs now. */
  readonly isHeard: () => boolean;
  /** Whether anybody follows jobs now. */
  readonly isFollowed: () => boolean;
  /** A minion has proved itself. */
  readonly onContact: (id: string) => void;
  /** Everything of a finished batch but its replies. */
  readonly onResult: (result: BatchResult) => void;
  readonly onDeferred: (work: Deferred, peer: RequestPeer) => void;
  /** Decided authentications and who asked, one for one. Settles when they are answered. */
  readonly onAuths: (auths: AuthBatch, peers: readonly (RequestPeer | undefined)[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
};

/** A frame that cannot be read goes to any worker, which answers it. */
function routeOf(frame: Uint8Array): Route {
  try {
    return readRoute(frame);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { kind: "unreadable" };
  }
}

/** Any worker can serve it. */
function isAnybodys({ kind, id }: QueuedItem): boolean {
  return kind === itemKinds.ordinary && id === undefined;
}

/** Reading stops when all queues are at their bound; one alone may grow to this many times that before its requests are refused. */
const refusalFactor = 2;

export class Batcher {
  /** `passedOn`: requests that went to another worker because one could not serve them. */
  readonly counters = { batches: 0, frames: 0, refused: 0, passedOn: 0 };
  readonly #options: BatcherOptions;
  readonly #queues: SlotQueue[];
  readonly #auths: AuthQueue;
  #onIdle: (() => void)[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#queues = Array.from({ length: options.pool.slotCount }, () => ({
      ordinary: [],
      ordinaryBytes: 0,
      isFlushPlanned: false,
      batchesInFlight: 0,
      meter: new SlotMeter(),
    }));
    this.#auths = new AuthQueue({
      slotCount: options.pool.slotCount,
      ...options.auths,
      forget: options.forget,
    });
  }

  /** Takes a frame from the request socket. */
  offer(peer: RequestPeer, frame: Buffer): void {
    this.counters.frames += 1;
    const route = routeOf(frame);
    const id = route.kind === "clear" || route.kind === "unreadable" ? undefined : route.id;
    const slot = this.#slotOf(id, peer);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    // One that is too large is refused unread, which costs no more than anything else.
    if (route.kind === "auth" && frame.byteLength <= authFrameBytesMax) {
      const isOver = this.#options.isOverMinionsMax(route.id);
      const kind = isOver ? itemKinds.overMinionsMax : itemKinds.auth;
      const { id: authId, pub } = route;
      this.#auths.offer(slot, { kind, bytes: frame, peer, id: authId, pub, queuedMs: performance.now() });
    } else {
      this.#enqueue(queue, { kind: itemKinds.ordinary, bytes: frame, peer, id, queuedMs: performance.now() });
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
  offerOpened(peer: RequestPeer, work: Extract<Deferred, { kind: "forward" }>): void {
    const slot = this.#options.partitioner.slotOf(work.id, this.#options.pool.slotCount);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    this.#enqueue(queue, {
      kind: itemKinds.opened,
      bytes: work.load,
      version: work.version,
      encAlgorithm: work.encAlgorithm,
      sealKey: work.sealKey,
      id: undefined,
      queuedMs: performance.now(),
      peer,
    });
    this.#planFlush(slot, queue);
  }

  /** Settles when no request waits or runs. */
  async idle(): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** How every slot's queue stands, by slot. */
  get queues(): readonly SlotReading[] {
    return this.#queues.map(({ ordinary, ordinaryBytes, batchesInFlight, meter }) =>
      meter.read({ items: ordinary.length, bytes: ordinaryBytes, batchesInFlight }),
    );
  }

  get waitingAuths(): number {
    return this.#auths.waitingCount;
  }

  get authCounters(): AuthQueue["counters"] {
    return this.#auths.counters;
  }

  /** The worker that owns the id where that is visible, else any, by connection. */
  #slotOf(id: string | undefined, peer: RequestPeer): number {
    const { partitioner, pool } = this.#options;
    if (id !== undefined) return partitioner.slotOf(id, pool.slotCount);
    return peer.number % pool.slotCount;
  }

  #planFlush(slot: number, queue: SlotQueue): void {
    if (queue.isFlushPlanned) return;
    queue.isFlushPlanned = true;
    const flush = () => {
      queue.isFlushPlanned = false;
      this.#flushOrdinary(slot, queue);
      this.#flushAuths(slot, queue);
    };
    if (this.#options.lingerMs > 0) setTimeout(flush, this.#options.lingerMs);
    else setImmediate(flush);
  }

  /** A busy worker gets what has gathered meanwhile as one batch: one commit instead of many. */
  #flushOrdinary(slot: number, queue: SlotQueue): void {
    const wasFull = this.isFull;
    while (queue.ordinary.length > 0 && queue.batchesInFlight < this.#options.batchesInFlightMax) {
      this.#dispatch(slot, this.#takeBatch(queue), "requests");
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

  /** Refuses it if the slot's queue is so far over its bound that only that is left. */
  #enqueue(queue: SlotQueue, item: QueuedItem): void {
    if (queue.ordinaryBytes >= refusalFactor * this.#options.queueBytesMax) {
      this.#turnAway(item, new SaltworksError("QUEUE_FULL", "a worker's queue is full"));
      return;
    }
    queue.ordinary.push(item);
    queue.ordinaryBytes += item.bytes.byteLength;
  }

  /** Whoever is no minion, as far as can be seen, is told the reason. */
  #turnAway(item: QueuedItem, error: Error): void {
    this.counters.refused += 1;
    this.#options.reply(item.peer, isAnybodys(item) ? unservedReply(item.bytes, error) : failedReply);
  }

  /** A request that has no partition goes to the next worker, each once: one whose store cannot be opened must not fail a part of all commands. */
  #passOn(slot: number, item: QueuedItem, error: Error): boolean {
    const failedSlots = (item.failedSlots ?? 0) + 1;
    if (!isAnybodys(item) || failedSlots >= this.#queues.length || !isWorthAnotherWorker(error)) return false;
    const next = (slot + 1) % this.#queues.length;
    const queue = this.#queues[next];
    if (queue === undefined) return false;
    this.counters.passedOn += 1;
    this.#enqueue(queue, { ...item, failedSlots });
    this.#planFlush(next, queue);
    return true;
  }

  /** Holds back only while a batch is under way, whose end comes here again: what else waits in the pool tells nobody. */
  #flushAuths(slot: number, queue: SlotQueue): void {
    const isBusy = queue.ordinary.length > 0 || this.#options.pool.depth(slot) > 0;
    const items = this.#auths.take(slot, isBusy && queue.batchesInFlight > 0);
    if (items.length > 0) this.#dispatch(slot, items, "auths");
  }

  #dispatch(slot: number, items: readonly QueuedItem[], kind: QueueKind): void {
    this.counters.batches += 1;
    const queue = this.#queues[slot];
    const leftMs = performance.now();
    if (queue !== undefined) queue.batchesInFlight += 1;
    // Returns leave in the order they came, authentications do not.
    const oldestMs = items.reduce((oldest, { queuedMs }) => Math.min(oldest, queuedMs), leftMs);
    queue?.meter.noteWait(kind, leftMs - oldestMs);
    let bytes = 0;
    for (const item of items) bytes += item.bytes.byteLength;
    const build = () => {
      const buffer = packBatch(items);
      const { isHeard, isFollowed } = this.#options;
      const task: BatchTask = { kind: "batch", buffer, isHeard: isHeard(), isFollowed: isFollowed() };
      return { task, transfer: [buffer] };
    };
    this.#options.pool.offer<BatchResult>(slot, { bytes, build }).then(
      (result) => this.#deliver(slot, items, result, kind, leftMs),
      (error: Error) => this.#refuse(slot, items, error, kind),
    );
  }

  #deliver(slot: number, items: readonly QueuedItem[], result: BatchResult, kind: QueueKind, leftMs: number): void {
    const backMs = performance.now();
    try {
      this.#bringHome(items, result);
      this.#queues[slot]?.meter.noteResult(backMs - leftMs, result.workedMs, performance.now() - backMs);
    } catch (error) {
      this.#options.onFault(error as Error);
    }
    if (kind === "auths") this.#answerAuths(slot, items, result).catch(this.#options.onFault);
    this.#finish(slot);
  }

  /** The next ones are taken when these are answered: what waits here can still be given up, what waits in the lane cannot. */
  async #answerAuths(slot: number, items: readonly QueuedItem[], { auths }: BatchResult): Promise<void> {
    try {
      if (auths === undefined) return;
      const peers = Array.from(auths.items, (item) => items[item]?.peer);
      await this.#options.onAuths(auths, peers);
    } finally {
      this.#settleAuths(slot);
    }
  }

  #settleAuths(slot: number): void {
    this.#auths.settle(slot);
    const queue = this.#queues[slot];
    if (queue !== undefined) this.#flushAuths(slot, queue);
    this.#noteIdle();
  }

  #bringHome(items: readonly QueuedItem[], result: BatchResult): void {
    const { reply, prove, onContact } = this.#options;
    const { buffer, replyEnds, proven } = result;
    let start = 0;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      const end = replyEnds[index] ?? start;
      if (end > start && item !== undefined) reply(item.peer, Buffer.from(buffer, start, end - start));
      if (proven[index] === 1 && item !== undefined) {
        prove(item.peer);
        if (item.id !== undefined) onContact(item.id);
      }
      start = end;
    }
    this.#options.onResult(result);
    for (const work of result.deferred) {
      const item = items[work.item];
      if (item !== undefined) this.#options.onDeferred(work, item.peer);
    }
  }

  #refuse(slot: number, items: readonly QueuedItem[], error: Error, kind: QueueKind): void {
    this.#options.onFault(error);
    if (kind === "auths") {
      this.counters.refused += items.length;
      // An answer that is no verdict makes a minion give up its `_auth`; none makes it try again.
      for (const { peer } of items) this.#options.forget(peer);
      this.#settleAuths(slot);
    } else {
      for (const item of items) if (!this.#passOn(slot, item, error)) this.#turnAway(item, error);
    }
    this.#finish(slot);
  }

  #finish(slot: number): void {
    const queue = this.#queues[slot];
    if (queue !== undefined) {
      queue.batchesInFlight -= 1;
      // What lingers leaves when its time has come, and at once if that has passed while the worker was busy.
      const isLingering = this.#options.lingerMs > 0 && queue.isFlushPlanned;
      if (!isLingering) {
        this.#flushOrdinary(slot, queue);
        this.#flushAuths(slot, queue);
      }
    }
    this.#noteIdle();
  }

  #noteIdle(): void {
    if (!this.#isIdle()) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #isIdle(): boolean {
    if (this.#auths.waitingCount > 0 || this.#auths.batchesUnderWay > 0) return false;
    return this.#queues.every(({ ordinary, batchesInFlight }) => ordinary.length === 0 && batchesInFlight === 0);
  }
}
