/**
 * The queue of one worker, with a row per standing. Proven requests go first. Other rows get a share of each batch (`batchSharesKept`), so that a
 * long row of proven requests does not starve them. Strangers' requests may take `strangerQueueBytesMax`; beyond it they are refused.
 */
import {
  batchSharesKept,
  forgedBytesOwedMax,
  forgedBytesPerSecondMax,
  forgedQueueShares,
  hugeRequestBytes,
  largeHoldMsMax,
  queueGrowthMax,
  strangerQueueBytesMax,
  strangersPauseShare,
} from "../../limits.ts";
import type { AddressRanks } from "./address-ranks.ts";
import { Forgeries } from "./forgeries.ts";
import { type LargeRequest, LargeRow } from "./large-row.ts";
import type { Standing } from "./standing.ts";

export type Waiting = LargeRequest & { readonly standing: Standing };

export type WaitingOptions = {
  readonly framesMax: number;
  readonly bytesMax: number;
  /** Bytes of all rows but the strangers'. */
  readonly queueBytesMax: number;
};

type Row<Item> = { items: Item[]; bytes: number };
type Batch<Item> = { readonly items: Item[]; bytes: number };

/** Refused requests: strangers' for lack of room, unproven ones while forgeries came. */
export type RowCounters = { strangersRefused: number; unprovenRefused: number };

export function sumOfCounters(all: readonly RowCounters[]): RowCounters {
  const sum = { strangersRefused: 0, unprovenRefused: 0 };
  for (const { strangersRefused, unprovenRefused } of all) {
    sum.strangersRefused += strangersRefused;
    sum.unprovenRefused += unprovenRefused;
  }
  return sum;
}

export class RequestQueue<Item extends Waiting> {
  readonly counters: RowCounters = { strangersRefused: 0, unprovenRefused: 0 };
  readonly #options: WaitingOptions;
  /** Requests that a worker found forged. They have cost the worker's time. */
  readonly #forgeries = new Forgeries(forgedBytesPerSecondMax, forgedBytesOwedMax);
  /** Requests that the main thread refused. They cost no worker, so they do not hold up waiting requests. */
  readonly #refusedUnread = new Forgeries(forgedBytesPerSecondMax, forgedBytesOwedMax);
  readonly #rows: Readonly<Record<Exclude<Standing, "large">, Row<Item>>> = {
    proven: { items: [], bytes: 0 },
    named: { items: [], bytes: 0 },
    stranger: { items: [], bytes: 0 },
  };
  readonly #large: LargeRow<Item>;

  constructor(options: WaitingOptions, ranks: AddressRanks) {
    this.#options = options;
    this.#large = new LargeRow(ranks);
  }

  get count(): number {
    return this.#smallCount + this.#large.count;
  }

  get bytes(): number {
    return this.#smallBytes + this.#large.bytes;
  }

  /** Whether the small rows fill a whole batch. */
  get fillsBatch(): boolean {
    const { framesMax, bytesMax } = this.#options;
    return this.#smallCount >= framesMax || this.#smallBytes >= bytesMax;
  }

  /** Whether all rows together hold at least this number of requests, or of bytes. */
  holds(frames: number, bytes: number): boolean {
    return this.#smallCount + this.#large.count >= frames || this.#smallBytes + this.#large.bytes >= bytes;
  }

  get #smallCount(): number {
    const { proven, named, stranger } = this.#rows;
    return proven.items.length + named.items.length + stranger.items.length;
  }

  get #smallBytes(): number {
    const { proven, named, stranger } = this.#rows;
    return proven.bytes + named.bytes + stranger.bytes;
  }

  /**
   * Whether reading these connections should stop. For proven connections only proven requests count. For strangers all rows but their own count, at
   * a smaller bound; while forgeries come, only proven requests count.
   */
  isFullFor(readers: "strangers" | "proven", nowMs: number): boolean {
    const { proven, named } = this.#rows;
    const { queueBytesMax } = this.#options;
    if (readers === "proven") return proven.bytes >= queueBytesMax;
    const bytesMax = strangersPauseShare * queueBytesMax;
    if (proven.bytes >= bytesMax) return true;
    return proven.bytes + named.bytes + this.#large.bytes >= bytesMax && !this.isForged(nowMs);
  }

  /** @returns the requests without a place, to be refused: `item` itself, or large ones that gave way to it */
  offer(item: Item, nowMs: number): readonly Item[] {
    const out = item.standing === "large" ? this.#giveWay(item, nowMs) : [];
    if (!this.#hasRoom(item, nowMs)) return [...out, item];
    if (item.standing === "large") {
      this.#large.add(item, nowMs);
      return out;
    }
    const row = this.#rows[item.standing];
    row.items.push(item);
    row.bytes += item.bytes.byteLength;
    return out;
  }

  /** Removes waiting large requests that give way to this one while forgeries come. */
  #giveWay(item: Item, nowMs: number): Item[] {
    const out: Item[] = [];
    if (!this.isForged(nowMs) || item.bytes.byteLength > hugeRequestBytes) return out;
    while (this.#isLargeFull) {
      const crowdedOut = this.#large.crowdedOut(item, nowMs);
      if (crowdedOut === undefined) break;
      out.push(crowdedOut);
    }
    this.counters.unprovenRefused += out.length;
    return out;
  }

  /** Whether large requests fill what they may have while forgeries come. */
  get #isLargeFull(): boolean {
    return this.#large.bytes >= forgedQueueShares.large * this.#options.queueBytesMax;
  }

  #hasRoom({ standing, bytes }: Item, nowMs: number): boolean {
    const { proven, named, stranger } = this.#rows;
    const { queueBytesMax } = this.#options;
    if (standing === "stranger") {
      if (stranger.bytes + bytes.byteLength <= strangerQueueBytesMax) return true;
      this.counters.strangersRefused += 1;
      return false;
    }
    const unproven = named.bytes + this.#large.bytes;
    if (standing !== "proven" && this.isForged(nowMs)) {
      const isOver = unproven >= forgedQueueShares.unproven * queueBytesMax;
      const isLargeOver = standing === "large" && (bytes.byteLength > hugeRequestBytes || this.#isLargeFull);
      if (isOver || isLargeOver) {
        this.counters.unprovenRefused += 1;
        return false;
      }
    }
    if (standing === "proven") return proven.bytes < queueGrowthMax * queueBytesMax;
    // Unproven requests do not take the places of proven ones.
    return unproven < queueBytesMax && proven.bytes + unproven < queueGrowthMax * queueBytesMax;
  }

  /** Takes the next batch, in the order in which the worker is to process it; empty if none is due. */
  take(nowMs: number): readonly Item[] {
    const { proven, named, stranger } = this.#rows;
    const hasSmall = proven.items.length + named.items.length > 0;
    const first = this.#large.isUnderWay ? undefined : this.#large.next(nowMs);
    if (first !== undefined) {
      // Large requests keep the worker longest, so they go after small ones, but wait at most `largeHoldMsMax`.
      if (!hasSmall || nowMs - first.queuedMs >= largeHoldMsMax) return this.#takeLarge(nowMs);
    }
    const batch: Batch<Item> = { items: [], bytes: 0 };
    const kept = {
      named: named.items.length > 0 ? batchSharesKept.named : 0,
      stranger: stranger.items.length > 0 ? batchSharesKept.stranger : 0,
    };
    this.#fill(batch, proven, 1 - kept.named - kept.stranger);
    this.#fill(batch, named, 1 - kept.stranger);
    // No more than their share even in an otherwise empty batch: proven requests that come meanwhile wait for its end.
    this.#fill(batch, stranger, 1, batchSharesKept.stranger);
    this.#fill(batch, proven, 1);
    this.#fill(batch, named, 1);
    return batch.items;
  }

  /** Notes that a worker has examined a request. `isForged`: its claim was false. */
  settle(item: Partial<Item>, isForged: boolean, nowMs: number): void {
    const { standing, bytes } = item;
    if (standing === "large") this.#large.settle(item, isForged, nowMs);
    if (isForged && (standing === "named" || standing === "large")) this.#forgeries.note(bytes?.byteLength ?? 0, nowMs);
  }

  /** Notes a request that was refused unread, because it is too large for its command or claims what is false. */
  noteRefusedUnread(bytes: number, nowMs: number): void {
    this.#refusedUnread.note(bytes, nowMs);
  }

  /** Whether a huge unproven request may be read. Its bytes cost memory and bandwidth before its sender is known. */
  takesHuge(nowMs: number): boolean {
    return !this.isForged(nowMs) && this.#refusedUnread.waitMs(nowMs) === 0;
  }

  /** Whether more forgeries have come lately than a worker should examine. */
  isForged(nowMs: number): boolean {
    return this.#forgeries.waitMs(nowMs) > 0;
  }

  /** Removes requests that are too large to wait while forgeries come. */
  dropHuge(nowMs: number): readonly Item[] {
    if (!this.isForged(nowMs)) return [];
    const dropped = this.#large.dropHuge();
    this.counters.unprovenRefused += dropped.length;
    return dropped;
  }

  /** Milliseconds until held large requests may leave; undefined if none is held. */
  heldMs(nowMs: number): number | undefined {
    return this.#large.isUnderWay ? undefined : this.#large.heldMs(nowMs);
  }

  /** Large requests of one batch, at least one. */
  #takeLarge(nowMs: number): readonly Item[] {
    const items: Item[] = [];
    const { framesMax, bytesMax } = this.#options;
    let bytes = 0;
    while (items.length < framesMax) {
      const next = this.#large.next(nowMs);
      if (next === undefined || (items.length > 0 && bytes + next.bytes.byteLength > bytesMax)) break;
      this.#large.take(nowMs);
      items.push(next);
      bytes += next.bytes.byteLength;
    }
    return items;
  }

  /**
   * Fills up to `share` of a batch, with at least one item, so that a frame over `bytesMax` leaves, too. `ownShare`: the most that this row may take
   * of it; at least one item.
   */
  #fill(batch: Batch<Item>, row: Row<Item>, share: number, ownShare = 1): void {
    const { framesMax, bytesMax } = this.#options;
    const batchFramesMax = Math.max(1, Math.floor(framesMax * share));
    const ownFramesMax = Math.max(1, Math.floor(framesMax * ownShare));
    let count = 0;
    let bytes = 0;
    for (; count < row.items.length && count < ownFramesMax && batch.items.length < batchFramesMax; count += 1) {
      const item = row.items[count] as Item;
      const { byteLength } = item.bytes;
      if (batch.bytes + byteLength > bytesMax * share && batch.items.length > 0) break;
      if (bytes + byteLength > bytesMax * ownShare && count > 0) break;
      batch.items.push(item);
      batch.bytes += byteLength;
      bytes += byteLength;
    }
    row.bytes -= bytes;
    row.items.splice(0, count);
  }
}
