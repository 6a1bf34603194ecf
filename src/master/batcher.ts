/**
 * Gathers frames into batches, one queue per worker slot, and brings each reply back to its connection.
 * A batch leaves when the socket has drained or at `batch_max_frames`/`batch_max_bytes`; authentications wait behind everything else,
 * so that an auth storm cannot starve running jobs.
 */
import { SaltworksError } from "../errors.ts";
import { badLoad, encodeRawReply } from "../wire/reply.ts";
import { clearLoadHead, type Envelope, readEnvelope } from "../wire/request.ts";
import { type BatchItem, packBatch } from "../workers/batch.ts";
import { type BatchResult, type Deferred, itemKinds } from "../workers/messages.ts";
import type { Partitioner } from "../workers/partition.ts";
import type { ShardPool } from "../workers/pool.ts";

/** `identity` is the ROUTER's name for the connection that waits for the reply. */
type QueuedItem = BatchItem & { readonly identity: Buffer };
type SlotQueue = { ordinary: QueuedItem[]; ordinaryBytes: number; auths: QueuedItem[]; isFlushPlanned: boolean };

export type BatcherOptions = {
  readonly pool: ShardPool;
  readonly partitioner: Partitioner;
  readonly framesMax: number;
  readonly bytesMax: number;
  readonly authQueueMax: number;
  readonly reply: (identity: Buffer, payload: Uint8Array) => void;
  readonly isOverMinionsMax: (id: string) => boolean;
  /** Everything of a finished batch but its replies. */
  readonly onResult: (result: BatchResult) => void;
  readonly onDeferred: (work: Deferred, identity: Buffer) => void;
  readonly onFault: (error: Error) => void;
};

const failedReply = encodeRawReply(Buffer.from("Some exception handling minion payload"));
/** Auths taken along at once: each costs the RSA lane about a millisecond, so a long row of them only waits there. */
const authsPerBatchMax = 32;

export class Batcher {
  readonly counters = { batches: 0, frames: 0, auths: 0, authsSuperseded: 0, refused: 0 };
  readonly #options: BatcherOptions;
  readonly #queues: SlotQueue[];
  #authCount = 0;
  #inFlight = 0;
  #onIdle: (() => void)[] = [];

  constructor(options: BatcherOptions) {
    this.#options = options;
    this.#queues = Array.from({ length: options.pool.slotCount }, () => ({
      ordinary: [],
      ordinaryBytes: 0,
      auths: [],
      isFlushPlanned: false,
    }));
  }

  /** Takes a frame from the request socket. */
  offer(identity: Buffer, frame: Buffer): void {
    this.counters.frames += 1;
    const route = this.#route(identity, frame);
    const queue = this.#queues[route.slot];
    if (queue === undefined) return;
    if (route.isAuth) {
      this.counters.auths += 1;
      this.#queueAuth(queue, {
        kind: route.isOverMinionsMax ? itemKinds.overMinionsMax : itemKinds.ordinary,
        bytes: frame,
        identity,
      });
    } else {
      queue.ordinary.push({ kind: itemKinds.ordinary, bytes: frame, identity });
      queue.ordinaryBytes += frame.byteLength;
    }
    const isBatchFull =
      queue.ordinary.length >= this.#options.framesMax || queue.ordinaryBytes >= this.#options.bytesMax;
    if (isBatchFull) this.#flushOrdinary(route.slot, queue);
    else this.#planFlush(route.slot, queue);
  }

  /** Takes a load that one worker has opened for another's partition. */
  offerOpened(identity: Buffer, work: Extract<Deferred, { kind: "forward" }>): void {
    const slot = this.#options.partitioner.slotOf(work.id, this.#options.pool.slotCount);
    const queue = this.#queues[slot];
    if (queue === undefined) return;
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

  /** Which worker: the owner of the id where it is visible, else any, by connection. Reads no more than the envelope. */
  #route(
    identity: Buffer,
    frame: Buffer,
  ): { readonly slot: number; readonly isAuth: boolean; readonly isOverMinionsMax: boolean } {
    const { partitioner, pool } = this.#options;
    const byConnection = {
      slot: identity.length === 0 ? 0 : (identity[identity.length - 1] ?? 0) % pool.slotCount,
      isAuth: false,
      isOverMinionsMax: false,
    };
    let envelope: Envelope;
    let head: { cmd: string | undefined; id: string | undefined };
    try {
      envelope = readEnvelope(frame);
      head = envelope.enc === "clear" ? clearLoadHead(envelope.load) : { cmd: undefined, id: undefined };
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      return byConnection;
    }
    if (head.cmd === "_auth") {
      const id = head.id ?? "";
      return {
        slot: partitioner.slotOf(id, pool.slotCount),
        isAuth: true,
        isOverMinionsMax: this.#options.isOverMinionsMax(id),
      };
    }
    if (envelope.enc === "aes" && envelope.version >= 3 && envelope.id !== undefined) {
      return { slot: partitioner.slotOf(envelope.id, pool.slotCount), isAuth: false, isOverMinionsMax: false };
    }
    return byConnection;
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

  #flushOrdinary(slot: number, queue: SlotQueue): void {
    if (queue.ordinary.length === 0) return;
    const items = queue.ordinary;
    queue.ordinary = [];
    queue.ordinaryBytes = 0;
    this.#dispatch(slot, items);
  }

  #flushAuths(slot: number, queue: SlotQueue): void {
    if (queue.auths.length === 0 || queue.ordinary.length > 0 || this.#options.pool.depth(slot) > 0) return;
    const items = queue.auths.splice(0, authsPerBatchMax);
    this.#authCount -= items.length;
    this.#dispatch(slot, items);
  }

  #dispatch(slot: number, items: readonly QueuedItem[]): void {
    this.counters.batches += 1;
    this.#inFlight += 1;
    let bytes = 0;
    for (const item of items) bytes += item.bytes.byteLength;
    const build = () => {
      const buffer = packBatch(items);
      return { task: { kind: "batch", buffer }, transfer: [buffer] };
    };
    this.#options.pool.offer<BatchResult>(slot, { bytes, build }).then(
      (result) => this.#deliver(slot, items, result),
      (error: Error) => this.#refuse(slot, items, error),
    );
  }

  #deliver(slot: number, items: readonly QueuedItem[], result: BatchResult): void {
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
    this.#finish(slot);
  }

  #refuse(slot: number, items: readonly QueuedItem[], error: Error): void {
    this.counters.refused += items.length;
    this.#options.onFault(error);
    for (const item of items) this.#options.reply(item.identity, failedReply);
    this.#finish(slot);
  }

  #finish(slot: number): void {
    this.#inFlight -= 1;
    const queue = this.#queues[slot];
    if (queue !== undefined) this.#flushAuths(slot, queue);
    if (!this.#isIdle()) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #isIdle(): boolean {
    return (
      this.#inFlight === 0 && this.#queues.every((queue) => queue.ordinary.length === 0 && queue.auths.length === 0)
    );
  }
}
