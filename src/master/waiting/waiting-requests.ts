/**
 * Requests that wait for one worker, in rows by their standing: proven ones first, others with a share of each batch, so that a long row does not delay
 * a better one. Strangers have few bytes of their own, and are refused when these are used up.
 */
import { hugeRequestBytes, largeHoldMsMax, strangerQueueBytesMax, strangersPauseShare } from "../../limits.ts";
import { Forgeries } from "./forgeries.ts";
import type { Standing } from "./standing.ts";

export type Waiting = {
  readonly bytes: { readonly byteLength: number };
  readonly standing: Standing;
  readonly queuedMs: number;
};

export type WaitingOptions = {
  readonly framesMax: number;
  readonly bytesMax: number;
  /** Bytes of all rows but the strangers'. */
  readonly queueBytesMax: number;
};

type Row<Item> = { items: Item[]; bytes: number };
type Batch<Item> = { readonly items: Item[]; bytes: number };

/** Reading stops when all workers' queues are at their bound. A single queue may grow to `refusalFactor` times its bound before requests are refused. */
const refusalFactor = 2;
/** Shares of a batch that are kept for a row while it has requests, so that a long row of proven ones does not starve it. */
const keptShares = { named: 1 / 4, stranger: 1 / 8 } as const;
/** Shares of the queue for unproven requests, and for large ones among them, while forgeries come. */
const forgedShares = { unproven: 1 / 2, large: 1 / 8 } as const;

/** Requests that found no room: strangers', and unproven ones while forgeries came. */
export type RowCounters = { strangersRefused: number; unprovenRefused: number };

export function sumOfCounters(all: readonly RowCounters[]): RowCounters {
  const sum = { strangersRefused: 0, unprovenRefused: 0 };
  for (const { strangersRefused, unprovenRefused } of all) {
    sum.strangersRefused += strangersRefused;
    sum.unprovenRefused += unprovenRefused;
  }
  return sum;
}

export class WaitingRequests<Item extends Waiting> {
  readonly counters: RowCounters = { strangersRefused: 0, unprovenRefused: 0 };
  readonly #options: WaitingOptions;
  /** Requests that a worker found forged. They have cost the worker's time. */
  readonly #forgeries = new Forgeries();
  /** Requests that the main thread refused. They cost no worker, so they do not hold up waiting requests. */
  readonly #refusedUnread = new Forgeries();
  readonly #rows: Readonly<Record<Standing, Row<Item>>> = {
    proven: { items: [], bytes: 0 },
    named: { items: [], bytes: 0 },
    stranger: { items: [], bytes: 0 },
    large: { items: [], bytes: 0 },
  };
  /** A batch of large requests is with the worker, which has not examined them yet. */
  #isLargeUnderWay = false;

  constructor(options: WaitingOptions) {
    this.#options = options;
  }

  get count(): number {
    return Object.values(this.#rows).reduce((sum, { items }) => sum + items.length, 0);
  }

  get bytes(): number {
    return Object.values(this.#rows).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Whether the small rows fill a whole batch. */
  get fillsBatch(): boolean {
    const { proven, named, stranger } = this.#rows;
    const { framesMax, bytesMax } = this.#options;
    return (
      proven.items.length + named.items.length + stranger.items.length >= framesMax ||
      proven.bytes + named.bytes + stranger.bytes >= bytesMax
    );
  }

  /**
   * Whether reading these connections should stop. For proven connections only proven requests count. For strangers all rows count but their own, at a
   * smaller bound; while forgeries come, only proven requests count.
   */
  isFullFor(readers: "strangers" | "proven", nowMs: number): boolean {
    const { proven, named, large } = this.#rows;
    const { queueBytesMax } = this.#options;
    if (readers === "proven") return proven.bytes >= queueBytesMax;
    const bytesMax = strangersPauseShare * queueBytesMax;
    if (proven.bytes >= bytesMax) return true;
    return proven.bytes + named.bytes + large.bytes >= bytesMax && !this.isForged(nowMs);
  }

  /** @returns false if there is no room for it */
  offer(item: Item, nowMs: number): boolean {
    if (!this.#hasRoom(item, nowMs)) return false;
    const row = this.#rows[item.standing];
    row.items.push(item);
    row.bytes += item.bytes.byteLength;
    return true;
  }

  #hasRoom({ standing, bytes }: Item, nowMs: number): boolean {
    const { proven, named, stranger, large } = this.#rows;
    const { queueBytesMax } = this.#options;
    if (standing === "stranger") {
      if (stranger.bytes + bytes.byteLength <= strangerQueueBytesMax) return true;
      this.counters.strangersRefused += 1;
      return false;
    }
    const unproven = named.bytes + large.bytes;
    if (standing !== "proven" && this.isForged(nowMs)) {
      const isOver = unproven >= forgedShares.unproven * queueBytesMax;
      const isLargeOver =
        standing === "large" &&
        (bytes.byteLength > hugeRequestBytes || large.bytes >= forgedShares.large * queueBytesMax);
      if (isOver || isLargeOver) {
        this.counters.unprovenRefused += 1;
        return false;
      }
    }
    if (standing === "proven") return proven.bytes < refusalFactor * queueBytesMax;
    // Unproven requests do not take the places of proven ones.
    return unproven < queueBytesMax && proven.bytes + unproven < refusalFactor * queueBytesMax;
  }

  /** The next batch, in the order in which the worker should go through it; empty if none is due. */
  take(nowMs: number): readonly Item[] {
    const { proven, named, stranger, large } = this.#rows;
    const hasSmall = proven.items.length + named.items.length > 0;
    const [first] = large.items;
    if (first !== undefined && !this.#isLargeUnderWay && this.#forgeries.waitMs(nowMs) === 0) {
      // Large requests keep the worker longest, so they go after small ones, but wait at most `largeHoldMsMax`.
      if (!hasSmall || nowMs - first.queuedMs >= largeHoldMsMax) return this.#takeLarge();
    }
    const batch: Batch<Item> = { items: [], bytes: 0 };
    const kept = {
      named: named.items.length > 0 ? keptShares.named : 0,
      stranger: stranger.items.length > 0 ? keptShares.stranger : 0,
    };
    this.#fill(batch, proven, 1 - kept.named - kept.stranger);
    this.#fill(batch, named, 1 - kept.stranger);
    this.#fill(batch, stranger, 1);
    this.#fill(batch, proven, 1);
    this.#fill(batch, named, 1);
    return batch.items;
  }

  /** A worker has examined it. `isForged`: its claim was false. */
  settle(item: Partial<Waiting>, isForged: boolean, nowMs: number): void {
    const { standing, bytes } = item;
    if (standing === "large") this.#isLargeUnderWay = false;
    if (isForged && (standing === "named" || standing === "large")) this.#forgeries.note(bytes?.byteLength ?? 0, nowMs);
  }

  /** A request with a false claim was refused unread. */
  noteForged(bytes: number, nowMs: number): void {
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
    const { large } = this.#rows;
    if (large.items.length === 0 || !this.isForged(nowMs)) return [];
    const dropped = large.items.filter(({ bytes }) => bytes.byteLength > hugeRequestBytes);
    large.items = large.items.filter(({ bytes }) => bytes.byteLength <= hugeRequestBytes);
    for (const { bytes } of dropped) large.bytes -= bytes.byteLength;
    this.counters.unprovenRefused += dropped.length;
    return dropped;
  }

  /** How long held requests still wait, milliseconds; undefined without any. */
  heldMs(nowMs: number): number | undefined {
    if (this.#rows.large.items.length === 0 || this.#isLargeUnderWay) return undefined;
    const waitMs = this.#forgeries.waitMs(nowMs);
    return waitMs > 0 ? waitMs : undefined;
  }

  #takeLarge(): readonly Item[] {
    const batch: Batch<Item> = { items: [], bytes: 0 };
    this.#fill(batch, this.#rows.large, 1);
    this.#isLargeUnderWay = true;
    return batch.items;
  }

  /** Fills up to `share` of a batch, with at least one item, so that a frame over `bytesMax` leaves, too. */
  #fill(batch: Batch<Item>, row: Row<Item>, share: number): void {
    const framesMax = Math.max(1, Math.floor(this.#options.framesMax * share));
    const bytesMax = this.#options.bytesMax * share;
    let count = 0;
    for (; count < row.items.length && batch.items.length < framesMax; count += 1) {
      const item = row.items[count] as Item;
      if (batch.bytes + item.bytes.byteLength > bytesMax && batch.items.length > 0) break;
      batch.items.push(item);
      batch.bytes += item.bytes.byteLength;
      row.bytes -= item.bytes.byteLength;
    }
    row.items.splice(0, count);
  }
}
