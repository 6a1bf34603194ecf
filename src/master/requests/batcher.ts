/**
 * Gathers requests into batches, one queue per worker, and sends each reply to its connection. A batch leaves when the socket has drained (after
 * `batch_linger_us`, if set), or at `batch_max_frames` or `batch_max_bytes`. A queue serves requests by their standing (`admission/`).
 * Authentications wait behind all other requests, so that an auth storm cannot starve running jobs.
 */
import { SaltworksError } from "../../errors.ts";
import { authFrameBytesMax } from "../../limits.ts";
import { kept } from "../../transport/zmtp/bodies/body-buffers.ts";
import { SharedMemory } from "../../transport/zmtp/bodies/shared-memory.ts";
import type { PeerGroupName } from "../../transport/zmtp/peer-group.ts";
import { failedReply } from "../../wire/reply.ts";
import { itemKinds, packBatch } from "../../workers/batch/frames.ts";
import type { AuthBatch, BatchResult, BatchTask } from "../../workers/messages/batch.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { type AddressQuestions, AddressRanks } from "../admission/address-ranks.ts";
import { RequestQueue, type RowCounters, sumOfCounters } from "../admission/request-queue.ts";
import { type Route, routeOf } from "../admission/route.ts";
import { type StandingQuestions, standingOf } from "../admission/standing.ts";
import type { RequestConnection } from "../ports/request-connection.ts";
import { AuthQueue, type AuthQueueOptions } from "./auth-queue.ts";
import { Linger } from "./linger.ts";
import {
  deliverResult,
  isForAnyWorker,
  type QueuedRequest,
  type RequestWithStanding,
  type ResultTakers,
} from "./queued-request.ts";
import { type QueueKind, SlotMeter, type SlotReading } from "./slot-meter.ts";
import { isWorthAnotherWorker, unservedReply } from "./unserved.ts";

type SlotQueue = {
  readonly waiting: RequestQueue<RequestWithStanding>;
  isFlushPlanned: boolean;
  readonly linger: Linger;
  /** Fires when requests that wait for others leave. */
  lingerTimer: NodeJS.Timeout | undefined;
  heldTimer: NodeJS.Timeout | undefined;
  batchesInFlight: number;
  readonly meter: SlotMeter;
};

export type BatcherOptions = ResultTakers & {
  readonly pool: WorkerPool;
  readonly partitioner: Partitioner;
  readonly framesMax: number;
  readonly bytesMax: number;
  readonly auths: Omit<AuthQueueOptions, "slotCount" | "forget">;
  /** How long at most a request waits for others to join its batch (`batch_linger_us`); 0: not at all. */
  readonly lingerMs: number;
  /** Most batches under way in one worker (`batches_in_flight`). */
  readonly batchesInFlightMax: number;
  /** Bytes that may wait for one worker (`queue_max_bytes`). */
  readonly queueBytesMax: number;
  /** Called when a queue has room again for these connections. */
  readonly onRoom: (readers: PeerGroupName) => void;
  readonly refuseUnread: (route: Route, connection: RequestConnection) => void;
  /** Called for a request that gets no reply over this connection. */
  readonly forget: (connection: RequestConnection) => void;
  readonly isOverMinionsMax: (id: string) => boolean;
  readonly standing: StandingQuestions;
  readonly addresses: AddressQuestions;
  /** Whether a program follows the event bus or the master follows jobs now. */
  readonly isHeard: () => boolean;
  /** Whether the master follows jobs now. */
  readonly isFollowed: () => boolean;
  /** Takes decided authentications with their connections, one for one. Settles when they are answered. */
  readonly onAuths: (auths: AuthBatch, connections: readonly (RequestConnection | undefined)[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
};

export class Batcher {
  /** `passedOn`: requests that went to another worker because one could not serve them. */
  readonly counters = { batches: 0, frames: 0, refused: 0, passedOn: 0, refusedLarge: 0 };
  readonly #options: BatcherOptions;
  readonly #queues: SlotQueue[];
  readonly #auths: AuthQueue;
  /** Of large sealed requests, and of large requests that proven connections bring. */
  readonly memory = new SharedMemory();
  #onIdle: (() => void)[] = [];
  /** Groups that are not read, because every queue was full for them. */
  readonly #heldBack = new Set<PeerGroupName>();

  constructor(options: BatcherOptions) {
    this.#options = options;
    const ranks = new AddressRanks(options.addresses);
    this.#queues = Array.from({ length: options.pool.slotCount }, () => ({
      waiting: new RequestQueue<RequestWithStanding>(options, ranks),
      isFlushPlanned: false,
      linger: new Linger(options.lingerMs),
      lingerTimer: undefined,
      heldTimer: undefined,
      batchesInFlight: 0,
      meter: new SlotMeter(),
    }));
    this.#auths = new AuthQueue({
      slotCount: options.pool.slotCount,
      ...options.auths,
      forget: options.forget,
    });
  }

  /** Takes a frame from the request socket. The frame is valid only during the call. */
  offer(connection: RequestConnection, frame: Buffer): void {
    this.counters.frames += 1;
    const route = routeOf(frame);
    const id = route.kind === "auth" || route.kind === "sealed" ? route.id : undefined;
    const slot = this.#slotOf(id, connection);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    // A larger `_auth` joins the ordinary queue, and the worker refuses it.
    if (route.kind === "auth" && frame.byteLength <= authFrameBytesMax) {
      const kind = this.#options.isOverMinionsMax(route.id) ? itemKinds.overMinionsMax : itemKinds.auth;
      const pub = route.pub === undefined ? undefined : Buffer.from(route.pub);
      this.#auths.offer(slot, { kind, bytes: kept(frame), connection, id: route.id, pub, queuedMs: performance.now() });
    } else {
      this.#offerOrdinary(queue, connection, frame, route, id);
    }
    if (queue.waiting.fillsBatch) this.#flushOrdinary(slot, queue);
    // Others than minions ask in clear, and an authentication takes a thread of its own for milliseconds.
    if (route.kind === "sealed")
      this.#planLate(slot, queue, queue.linger.delayMs(connection, performance.now(), queue.waiting));
    else this.#planFlush(slot, queue);
  }

  #offerOrdinary(
    queue: SlotQueue,
    connection: RequestConnection,
    frame: Buffer,
    route: Route,
    id: string | undefined,
  ): void {
    const standing = standingOf(route, frame.byteLength, connection.isProven, this.#options.standing);
    if (standing === undefined) {
      queue.waiting.noteRefusedUnread(frame.byteLength, performance.now());
      this.counters.refusedLarge += 1;
      this.#options.refuseUnread(route, connection);
      return;
    }
    // Only a worker's cipher reads a sealed request. Parts of a clear one may outlive its batch.
    const bytes = (route.kind === "sealed" ? this.memory.keep(frame) : undefined) ?? kept(frame);
    this.#enqueue(queue, { kind: itemKinds.ordinary, bytes, connection, id, standing, queuedMs: performance.now() });
  }

  /** Whether to stop reading these connections, because the queue of every worker is full for them. TCP then slows their senders, until `onRoom`. */
  holdsBack(readers: PeerGroupName): boolean {
    if (this.#isFullFor(readers)) this.#heldBack.add(readers);
    return this.#heldBack.has(readers);
  }

  #isFullFor(readers: PeerGroupName, nowMs = performance.now()): boolean {
    return this.#queues.every(({ waiting }) => waiting.isFullFor(readers, nowMs));
  }

  /** Whether unproven connections may send requests over `hugeRequestBytes`. */
  get takesHuge(): boolean {
    return this.#queues.every(({ waiting }) => waiting.takesHuge(performance.now()));
  }

  /** Takes a load that one worker has decrypted, but whose minion is in another worker's partition. */
  offerOpened(connection: RequestConnection, work: Extract<Deferred, { kind: "forward" }>): void {
    const slot = this.#options.partitioner.slotOf(work.id, this.#options.pool.slotCount);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    this.#enqueue(queue, {
      kind: itemKinds.opened,
      bytes: work.load,
      version: work.version,
      encAlgorithm: work.encAlgorithm,
      sealKey: work.sealKey,
      standing: "proven",
      id: undefined,
      queuedMs: performance.now(),
      connection,
    });
    this.#planFlush(slot, queue);
  }

  /** Settles when no request waits or runs. */
  async idle(): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  get queues(): readonly SlotReading[] {
    return this.#queues.map(({ waiting, batchesInFlight, meter }) =>
      meter.read({ items: waiting.count, bytes: waiting.bytes, batchesInFlight }),
    );
  }

  /** Refused requests: strangers' for lack of room, unproven ones while forgeries came. */
  get rowCounters(): RowCounters {
    return sumOfCounters(this.#queues.map(({ waiting }) => waiting.counters));
  }

  get waitingAuths(): number {
    return this.#auths.waitingCount;
  }

  get authCounters(): AuthQueue["counters"] {
    return this.#auths.counters;
  }

  /** The worker of the id's partition. Without a visible id the connection's number selects a worker. */
  #slotOf(id: string | undefined, connection: RequestConnection): number {
    const { partitioner, pool } = this.#options;
    if (id !== undefined) return partitioner.slotOf(id, pool.slotCount);
    return connection.number % pool.slotCount;
  }

  #planLate(slot: number, queue: SlotQueue, delayMs: number): void {
    if (delayMs === 0) this.#planFlush(slot, queue);
    else if (!queue.isFlushPlanned) queue.lingerTimer ??= setTimeout(() => this.#flush(slot, queue), delayMs);
  }

  #planFlush(slot: number, queue: SlotQueue): void {
    if (queue.isFlushPlanned) return;
    queue.isFlushPlanned = true;
    setImmediate(() => this.#flush(slot, queue));
  }

  #flush(slot: number, queue: SlotQueue): void {
    queue.isFlushPlanned = false;
    clearTimeout(queue.lingerTimer);
    queue.lingerTimer = undefined;
    this.#flushOrdinary(slot, queue);
    this.#flushAuths(slot, queue);
  }

  /** While a worker is busy, requests gather into one batch, which needs only one commit. */
  #flushOrdinary(slot: number, queue: SlotQueue): void {
    while (queue.batchesInFlight < this.#options.batchesInFlightMax) {
      const items = queue.waiting.take(performance.now());
      if (items.length === 0) break;
      this.#dispatch(slot, items, "requests");
    }
    this.#lookAgain(slot, queue);
    // Queues become shorter only here, so reading must resume here.
    for (const readers of this.#heldBack) {
      if (!this.#isFullFor(readers) && this.#heldBack.delete(readers)) this.#options.onRoom(readers);
    }
  }

  /** Sets a timer, so that requests held back because of forgeries leave in time even if no other request comes. */
  #lookAgain(slot: number, queue: SlotQueue): void {
    const heldMs = queue.waiting.heldMs(performance.now());
    if (heldMs === undefined || queue.heldTimer !== undefined) return;
    queue.heldTimer = setTimeout(() => {
      queue.heldTimer = undefined;
      this.#flushOrdinary(slot, queue);
    }, heldMs).unref();
  }

  #enqueue(queue: SlotQueue, item: RequestWithStanding): void {
    for (const out of queue.waiting.offer(item, performance.now()))
      this.#turnAway(out, new SaltworksError("QUEUE_FULL", "a worker's queue is full"));
  }

  /** Operators get the reason in the reply. Minions get the generic failure, on which they retry. */
  #turnAway(item: QueuedRequest, error: Error): void {
    this.counters.refused += 1;
    this.memory.giveBack(item.bytes);
    this.#options.reply(item.connection, isForAnyWorker(item) ? unservedReply(item.bytes, error) : failedReply);
  }

  /**
   * Passes a request without a partition to the next worker, at most once to each. Otherwise a worker whose store
   * fails would fail its share of all commands.
   */
  #passOn(slot: number, item: QueuedRequest, error: Error): boolean {
    const failedSlots = (item.failedSlots ?? 0) + 1;
    if (!isForAnyWorker(item) || failedSlots >= this.#queues.length || !isWorthAnotherWorker(error)) return false;
    const next = (slot + 1) % this.#queues.length;
    const queue = this.#queues[next];
    if (queue === undefined) return false;
    this.counters.passedOn += 1;
    this.#enqueue(queue, { ...item, standing: item.standing ?? "stranger", failedSlots });
    this.#planFlush(next, queue);
    return true;
  }

  /** Dispatches authentications. Holds them back only while a batch is under way, because only the end of a batch calls this again. */
  #flushAuths(slot: number, queue: SlotQueue): void {
    const isBusy = queue.waiting.count > 0 || this.#options.pool.depth(slot) > 0;
    const items = this.#auths.take(slot, isBusy && queue.batchesInFlight > 0);
    if (items.length > 0) this.#dispatch(slot, items, "auths");
  }

  #dispatch(slot: number, items: readonly QueuedRequest[], kind: QueueKind): void {
    this.counters.batches += 1;
    const queue = this.#queues[slot];
    const leftMs = performance.now();
    if (queue !== undefined) queue.batchesInFlight += 1;
    // Requests leave in the order of arrival, authentications do not.
    const oldestMs = items.reduce((oldest, { queuedMs }) => Math.min(oldest, queuedMs), leftMs);
    queue?.meter.noteWait(kind, leftMs - oldestMs);
    const build = () => {
      const { buffer, shared } = packBatch(items);
      const { isHeard, isFollowed } = this.#options;
      const task: BatchTask = { kind: "batch", buffer, shared, isHeard: isHeard(), isFollowed: isFollowed() };
      return { task, transfer: [buffer] };
    };
    // `bytes: 0`, because `RequestQueue` bounds these bytes. The pool's own bound is for other tasks. docs/decisions/0018-batch-limits.md
    this.#options.pool.offer<BatchResult>(slot, { bytes: 0, build }).then(
      (result) => this.#deliver(slot, items, result, kind, leftMs),
      (error: Error) => this.#refuse(slot, items, error, kind),
    );
  }

  #deliver(slot: number, items: readonly QueuedRequest[], result: BatchResult, kind: QueueKind, leftMs: number): void {
    const backMs = performance.now();
    try {
      if (kind === "requests") this.#noteForgeries(slot, items, result);
      deliverResult(items, result, this.#options);
      this.#queues[slot]?.meter.noteResult(backMs - leftMs, result.workedMs, performance.now() - backMs);
    } catch (error) {
      this.#options.onFault(error as Error);
    } finally {
      for (const { bytes } of items) this.memory.giveBack(bytes);
    }
    if (kind === "auths") this.#answerAuths(slot, items, result).catch(this.#options.onFault);
    this.#finish(slot);
  }

  /** Takes the next batch only when this one is answered, because a request can be given up in this queue, but not in the RSA lane. */
  async #answerAuths(slot: number, items: readonly QueuedRequest[], { auths }: BatchResult): Promise<void> {
    try {
      if (auths === undefined) return;
      const connections = Array.from(auths.items, (item) => items[item]?.connection);
      await this.#options.onAuths(auths, connections);
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

  /**
   * Counts as forged what the worker neither proved nor deferred. A deferred request was decrypted, or brings a credential that another part checks.
   */
  #noteForgeries(slot: number, items: readonly QueuedRequest[], { proven, deferred }: BatchResult): void {
    const handedOn = new Set(deferred.map(({ item }) => item));
    const nowMs = performance.now();
    const waiting = this.#queues[slot]?.waiting;
    for (const [index, item] of items.entries())
      waiting?.settle(item, proven[index] === 0 && !handedOn.has(index), nowMs);
    for (const item of waiting?.dropHuge(nowMs) ?? [])
      this.#turnAway(item, new SaltworksError("QUEUE_FULL", "large requests are refused while forgeries come"));
  }

  #refuse(slot: number, items: readonly QueuedRequest[], error: Error, kind: QueueKind): void {
    this.#options.onFault(error);
    if (kind === "auths") {
      this.counters.refused += items.length;
      // A minion gives up its `_auth` on an answer that is not a verdict. Without an answer it tries again.
      for (const { connection } of items) this.#options.forget(connection);
      this.#settleAuths(slot);
    } else {
      const nowMs = performance.now();
      for (const item of items) {
        this.#queues[slot]?.waiting.settle(item, false, nowMs);
        if (this.#passOn(slot, item, error)) continue;
        // A thread that hangs may still read it.
        this.memory.abandon(item.bytes);
        this.#turnAway(item, error);
      }
    }
    this.#finish(slot);
  }

  #finish(slot: number): void {
    const queue = this.#queues[slot];
    if (queue !== undefined) {
      queue.batchesInFlight -= 1;
      // While the linger timer runs, requests wait for it. If it fired while the worker was busy, they leave now.
      if (queue.lingerTimer === undefined) {
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
    return this.#queues.every(({ waiting, batchesInFlight }) => waiting.count === 0 && batchesInFlight === 0);
  }
}
