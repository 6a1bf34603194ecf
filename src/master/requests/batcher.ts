/**
 * Gathers frames into batches, one queue per worker slot, and brings each reply back to its connection.
 * A batch leaves when the socket has drained or at `batch_max_frames`/`batch_max_bytes`. In a queue, requests are ordered by what
 * is known of their right (`waiting/`). Authentications wait behind everything else, so that an auth storm cannot starve running jobs.
 */
import { SaltworksError } from "../../errors.ts";
import { authFrameBytesMax } from "../../limits.ts";
import type { PeerGroupName } from "../../transport/zmtp/peer-group.ts";
import { failedReply } from "../../wire/reply.ts";
import { itemKinds, packBatch } from "../../workers/batch/frames.ts";
import type { AuthBatch, BatchResult, BatchTask } from "../../workers/messages/batch.ts";
import type { Deferred } from "../../workers/messages/deferred.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { ShardPool } from "../../workers/threads/pool.ts";
import type { RequestPeer } from "../ports/request-peer.ts";
import { refusedUnread } from "../waiting/refused-unread.ts";
import { type Route, routeOf } from "../waiting/route.ts";
import { type StandingQuestions, standingOf } from "../waiting/standing.ts";
import { type RowCounters, sumOfCounters, WaitingRequests } from "../waiting/waiting-requests.ts";
import { AuthQueue, type AuthQueueOptions } from "./auth-queue.ts";
import { bringHome, isForAnyWorker, type QueuedItem, type ResultTakers, type StandingItem } from "./queued-item.ts";
import { type QueueKind, SlotMeter, type SlotReading } from "./slot-meter.ts";
import { isWorthAnotherWorker, unservedReply } from "./unserved.ts";

type SlotQueue = {
  readonly waiting: WaitingRequests<StandingItem>;
  isFlushPlanned: boolean;
  /** Looks again when held requests may leave. */
  heldTimer: NodeJS.Timeout | undefined;
  batchesInFlight: number;
  readonly meter: SlotMeter;
};

export type BatcherOptions = ResultTakers & {
  readonly pool: ShardPool;
  readonly partitioner: Partitioner;
  readonly framesMax: number;
  readonly bytesMax: number;
  readonly auths: Omit<AuthQueueOptions, "slotCount" | "forget">;
  /** How long a request may wait for others to join its batch (`batch_linger_us`); 0: not at all. */
  readonly lingerMs: number;
  /** Batches that one worker has at a time (`batches_in_flight`). */
  readonly batchesInFlightMax: number;
  /** Bytes that may wait for one worker (`queue_max_bytes`). */
  readonly queueBytesMax: number;
  /** A queue has room again for these connections. */
  readonly onRoom: (readers: PeerGroupName) => void;
  /** A request of this connection gets no reply. */
  readonly forget: (peer: RequestPeer) => void;
  readonly isOverMinionsMax: (id: string) => boolean;
  readonly standing: StandingQuestions;
  /** Whether events or jobs are followed now. */
  readonly isHeard: () => boolean;
  /** Whether jobs are followed now. */
  readonly isFollowed: () => boolean;
  /** Takes decided authentications with their connections, one for one. Settles when they are answered. */
  readonly onAuths: (auths: AuthBatch, peers: readonly (RequestPeer | undefined)[]) => Promise<void>;
  readonly onFault: (error: Error) => void;
};

export class Batcher {
  /** `passedOn`: requests that went to another worker because one could not serve them. */
  readonly counters = { batches: 0, frames: 0, refused: 0, passedOn: 0, refusedLarge: 0 };
  readonly #options: BatcherOptions;
  readonly #queues: SlotQueue[];
  readonly #auths: AuthQueue;
  #onIdle: (() => void)[] = [];
  /** Groups that are not read, because every queue was full for them. */
  readonly #heldBack = new Set<PeerGroupName>();

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#queues = Array.from({ length: options.pool.slotCount }, () => ({
      waiting: new WaitingRequests<StandingItem>(options),
      isFlushPlanned: false,
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

  /** Takes a frame from the request socket. */
  offer(peer: RequestPeer, frame: Buffer): void {
    this.counters.frames += 1;
    const route = routeOf(frame);
    const id = route.kind === "clear" || route.kind === "unreadable" ? undefined : route.id;
    const slot = this.#slotOf(id, peer);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
    // A larger `_auth` goes the ordinary way, where it is refused.
    if (route.kind === "auth" && frame.byteLength <= authFrameBytesMax) {
      const kind = this.#options.isOverMinionsMax(route.id) ? itemKinds.overMinionsMax : itemKinds.auth;
      this.#auths.offer(slot, { kind, bytes: frame, peer, id: route.id, pub: route.pub, queuedMs: performance.now() });
    } else {
      this.#offerOrdinary(queue, peer, frame, route, id);
    }
    if (queue.waiting.fillsBatch) this.#flushOrdinary(slot, queue);
    this.#planFlush(slot, queue);
  }

  #offerOrdinary(queue: SlotQueue, peer: RequestPeer, frame: Buffer, route: Route, id: string | undefined): void {
    const standing = standingOf(route, frame.byteLength, peer.isProven, this.#options.standing);
    if (standing === undefined) {
      const { reply, isForged } = refusedUnread(route);
      if (isForged) queue.waiting.noteForged(frame.byteLength, performance.now());
      this.counters.refusedLarge += 1;
      this.#options.reply(peer, reply);
      return;
    }
    this.#enqueue(queue, { kind: itemKinds.ordinary, bytes: frame, peer, id, standing, queuedMs: performance.now() });
  }

  /** Whether to stop reading these connections and leave the rest to TCP, because every slot's queue is at its bound. `onRoom` ends it. */
  holdsBack(readers: PeerGroupName): boolean {
    if (this.#isFullFor(readers)) this.#heldBack.add(readers);
    return this.#heldBack.has(readers);
  }

  #isFullFor(readers: PeerGroupName, nowMs = performance.now()): boolean {
    return this.#queues.every(({ waiting }) => waiting.isFullFor(readers, nowMs));
  }

  /** Whether connections that proved nothing may send requests over `hugeRequestBytes`. */
  get takesHuge(): boolean {
    return this.#queues.every(({ waiting }) => waiting.takesHuge(performance.now()));
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
      standing: "proven",
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

  get queues(): readonly SlotReading[] {
    return this.#queues.map(({ waiting, batchesInFlight, meter }) =>
      meter.read({ items: waiting.count, bytes: waiting.bytes, batchesInFlight }),
    );
  }

  /** Requests that found no room in their row: strangers', and unproven ones while forgeries came. */
  get rowCounters(): RowCounters {
    return sumOfCounters(this.#queues.map(({ waiting }) => waiting.counters));
  }

  get waitingAuths(): number {
    return this.#auths.waitingCount;
  }

  get authCounters(): AuthQueue["counters"] {
    return this.#auths.counters;
  }

  /** The worker that owns the id. If the id is not visible, any worker, by connection. */
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

  /** A busy worker gets the gathered requests as one batch, so that one commit is enough. */
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

  /** Requests that are held back because of forgeries leave when the hold is over, even if no other request comes. */
  #lookAgain(slot: number, queue: SlotQueue): void {
    const heldMs = queue.waiting.heldMs(performance.now());
    if (heldMs === undefined || queue.heldTimer !== undefined) return;
    queue.heldTimer = setTimeout(() => {
      queue.heldTimer = undefined;
      this.#flushOrdinary(slot, queue);
    }, heldMs).unref();
  }

  #enqueue(queue: SlotQueue, item: StandingItem): void {
    const hasRoom = queue.waiting.offer(item, performance.now());
    if (!hasRoom) this.#turnAway(item, new SaltworksError("QUEUE_FULL", "a worker's queue is full"));
  }

  /** Operators get the reason in the reply. Minions get the generic failure, on which they retry. */
  #turnAway(item: QueuedItem, error: Error): void {
    this.counters.refused += 1;
    this.#options.reply(item.peer, isForAnyWorker(item) ? unservedReply(item.bytes, error) : failedReply);
  }

  /** Passes a request without a partition to the next worker, to each once, so that a worker without a store does not fail a share of all commands. */
  #passOn(slot: number, item: QueuedItem, error: Error): boolean {
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

  /** Holds back only while a batch is under way, because its end calls this again; other work of the pool does not. */
  #flushAuths(slot: number, queue: SlotQueue): void {
    const isBusy = queue.waiting.count > 0 || this.#options.pool.depth(slot) > 0;
    const items = this.#auths.take(slot, isBusy && queue.batchesInFlight > 0);
    if (items.length > 0) this.#dispatch(slot, items, "auths");
  }

  #dispatch(slot: number, items: readonly QueuedItem[], kind: QueueKind): void {
    this.counters.batches += 1;
    const queue = this.#queues[slot];
    const leftMs = performance.now();
    if (queue !== undefined) queue.batchesInFlight += 1;
    // Requests leave in the order of arrival, authentications do not.
    const oldestMs = items.reduce((oldest, { queuedMs }) => Math.min(oldest, queuedMs), leftMs);
    queue?.meter.noteWait(kind, leftMs - oldestMs);
    const build = () => {
      const buffer = packBatch(items);
      const { isHeard, isFollowed } = this.#options;
      const task: BatchTask = { kind: "batch", buffer, isHeard: isHeard(), isFollowed: isFollowed() };
      return { task, transfer: [buffer] };
    };
    // Counted here (`WaitingRequests`): the pool's bound is for other tasks. docs/decisions/0018-batch-limits.md
    this.#options.pool.offer<BatchResult>(slot, { bytes: 0, build }).then(
      (result) => this.#deliver(slot, items, result, kind, leftMs),
      (error: Error) => this.#refuse(slot, items, error, kind),
    );
  }

  #deliver(slot: number, items: readonly QueuedItem[], result: BatchResult, kind: QueueKind, leftMs: number): void {
    const backMs = performance.now();
    try {
      if (kind === "requests") this.#noteForgeries(slot, items, result);
      bringHome(items, result, this.#options);
      this.#queues[slot]?.meter.noteResult(backMs - leftMs, result.workedMs, performance.now() - backMs);
    } catch (error) {
      this.#options.onFault(error as Error);
    }
    if (kind === "auths") this.#answerAuths(slot, items, result).catch(this.#options.onFault);
    this.#finish(slot);
  }

  /** The next batch is taken when this one is answered: requests that wait here can be given up, in the lane they cannot. */
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

  /** A request that a worker defers is not forged: it had an opened seal, or a credential that another part checks. */
  #noteForgeries(slot: number, items: readonly QueuedItem[], { proven, deferred }: BatchResult): void {
    const handedOn = new Set(deferred.map(({ item }) => item));
    const nowMs = performance.now();
    const waiting = this.#queues[slot]?.waiting;
    for (const [index, item] of items.entries())
      waiting?.settle(item, proven[index] === 0 && !handedOn.has(index), nowMs);
    for (const item of waiting?.dropHuge(nowMs) ?? [])
      this.#turnAway(item, new SaltworksError("QUEUE_FULL", "large requests are refused while forgeries come"));
  }

  #refuse(slot: number, items: readonly QueuedItem[], error: Error, kind: QueueKind): void {
    this.#options.onFault(error);
    if (kind === "auths") {
      this.counters.refused += items.length;
      // An answer that is not a verdict makes a minion give up its `_auth`; without an answer it tries again.
      for (const { peer } of items) this.#options.forget(peer);
      this.#settleAuths(slot);
    } else {
      const nowMs = performance.now();
      for (const item of items) {
        this.#queues[slot]?.waiting.settle(item, false, nowMs);
        if (!this.#passOn(slot, item, error)) this.#turnAway(item, error);
      }
    }
    this.#finish(slot);
  }

  #finish(slot: number): void {
    const queue = this.#queues[slot];
    if (queue !== undefined) {
      queue.batchesInFlight -= 1;
      // Lingering requests leave when their time has come, or at once if it has passed while the worker was busy.
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
    return this.#queues.every(({ waiting, batchesInFlight }) => waiting.count === 0 && batchesInFlight === 0);
  }
}
