/**
 * The row of large requests over unproven connections, of one worker. Addresses take turns, better ranks first, so that a flood from one address
 * does not delay requests from others. Forgeries of each rank have a budget of their own. In a full row the address with the most bytes gives way.
 */
import { hugeRequestBytes, largeForgedBytesOwedMax, largeForgedBytesPerSecondMax } from "../../limits.ts";
import { type AddressRank, type AddressRanks, addressRanks } from "./address-ranks.ts";
import { Forgeries } from "./forgeries.ts";
import { Fullest } from "./fullest.ts";

export type LargeRequest = {
  readonly bytes: { readonly byteLength: number };
  readonly queuedMs: number;
  readonly connection: { readonly address: string };
};

/** Requests of one address, the oldest first. */
type Line<Item> = { readonly key: string; readonly items: Item[]; rank: AddressRank; bytes: number; place: number };

class RankRow<Item> {
  /** The next in turn comes first. */
  readonly lines = new Map<string, Line<Item>>();
  readonly fullest = new Fullest<Line<Item>>();
  readonly forgeries = new Forgeries(largeForgedBytesPerSecondMax, largeForgedBytesOwedMax);

  add(line: Line<Item>): void {
    this.lines.set(line.key, line);
    this.fullest.add(line);
  }

  remove(line: Line<Item>): void {
    this.lines.delete(line.key);
    this.fullest.remove(line);
  }
}

export class LargeRow<Item extends LargeRequest> {
  readonly #ranks: AddressRanks;
  readonly #rows: Readonly<Record<AddressRank, RankRow<Item>>> = {
    known: new RankRow(),
    unknown: new RankRow(),
    forger: new RankRow(),
  };
  readonly #lines = new Map<string, Line<Item>>();
  /** Requests that a worker examines, with the rank that pays for them. */
  readonly #underWay = new Map<Partial<Item>, AddressRank>();
  #count = 0;
  #bytes = 0;
  #hugeCount = 0;

  constructor(ranks: AddressRanks) {
    this.#ranks = ranks;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a batch of large requests is with the worker, which has not examined all of them yet. */
  get isUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  add(item: Item, nowMs: number): void {
    const line = this.#lineOf(item, nowMs);
    line.items.push(item);
    this.#grow(line, item, 1);
    this.#rows[line.rank].fullest.resized(line);
  }

  /** The next in turn: of the best rank whose forgeries leave time for it. Undefined if none may be examined now. */
  next(nowMs: number): Item | undefined {
    return this.#lineInTurn(nowMs)?.items[0];
  }

  /** Takes the next in turn. It is under way until `settle`. */
  take(nowMs: number): Item | undefined {
    const line = this.#lineInTurn(nowMs);
    const item = line?.items.shift();
    if (line === undefined || item === undefined) return undefined;
    this.#underWay.set(item, line.rank);
    this.#shrunk(line, item);
    const { lines } = this.#rows[line.rank];
    // After its turn an address goes behind the others.
    if (lines.delete(line.key)) lines.set(line.key, line);
    return item;
  }

  /** Notes that a worker has examined a request. `isForged`: its claim was false. */
  settle(item: Partial<Item>, isForged: boolean, nowMs: number): void {
    const address = item.connection?.address;
    const paying = this.#underWay.get(item);
    this.#underWay.delete(item);
    if (!isForged || address === undefined) return;
    const rank = paying ?? this.#ranks.rankOf(address, nowMs);
    this.#rows[rank].forgeries.note(item.bytes?.byteLength ?? 0, nowMs);
    this.#ranks.noteForged(address, nowMs);
  }

  /** Milliseconds until the first request may leave; undefined if the row is empty or one may leave now. */
  heldMs(nowMs: number): number | undefined {
    const waitsMs = addressRanks
      .filter((rank) => this.#rows[rank].lines.size > 0)
      .map((rank) => this.#rows[rank].forgeries.waitMs(nowMs));
    const leastMs = Math.min(...waitsMs);
    return waitsMs.length > 0 && leastMs > 0 ? leastMs : undefined;
  }

  /**
   * Removes the newest request of the address with the most bytes of the worst rank, to make room for `item`.
   * @returns undefined if `item` is to give way: all waiting addresses have a better rank, or the same and no more than its own
   */
  crowdedOut(item: Item, nowMs: number): Item | undefined {
    const address = item.connection.address;
    const own = this.#lines.get(this.#ranks.keyOf(address));
    const ownRank = this.#ranks.rankOf(address, nowMs);
    for (const rank of addressRanks.toReversed()) {
      const fullest = this.#rows[rank].fullest.first;
      if (fullest !== undefined && fullest !== own) {
        const isWorse = rank !== ownRank;
        const ownBytes = (own?.bytes ?? 0) + item.bytes.byteLength;
        const hasMore = fullest.bytes > ownBytes || (own === undefined && fullest.items.length > 1);
        if (isWorse || hasMore) return this.#takeNewest(fullest);
      }
      if (rank === ownRank) return undefined;
    }
    return undefined;
  }

  /** Removes requests over `hugeRequestBytes`. */
  dropHuge(): readonly Item[] {
    if (this.#hugeCount === 0) return [];
    const dropped: Item[] = [];
    for (const line of this.#lines.values()) {
      for (const item of line.items.filter(isHuge)) {
        line.items.splice(line.items.indexOf(item), 1);
        this.#shrunk(line, item);
        dropped.push(item);
      }
    }
    return dropped;
  }

  #lineOf({ connection: { address } }: Item, nowMs: number): Line<Item> {
    const key = this.#ranks.keyOf(address);
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const line: Line<Item> = { key, items: [], rank: this.#ranks.rankOf(address, nowMs), bytes: 0, place: 0 };
    this.#lines.set(key, line);
    this.#rows[line.rank].add(line);
    return line;
  }

  #lineInTurn(nowMs: number): Line<Item> | undefined {
    for (const rank of addressRanks) this.#rankAnew(rank, nowMs);
    for (const rank of addressRanks) {
      const { lines, forgeries } = this.#rows[rank];
      const [first] = lines.values();
      if (first !== undefined && forgeries.waitMs(nowMs) === 0) return first;
    }
    return undefined;
  }

  /** Moves the lines at the head of a rank that meanwhile have another. */
  #rankAnew(rank: AddressRank, nowMs: number): void {
    for (const line of this.#rows[rank].lines.values()) {
      const [first] = line.items;
      const rankNow = first === undefined ? rank : this.#ranks.rankOf(first.connection.address, nowMs);
      if (rankNow === rank) return;
      this.#rows[rank].remove(line);
      line.rank = rankNow;
      this.#rows[rankNow].add(line);
    }
  }

  #takeNewest(line: Line<Item>): Item | undefined {
    const item = line.items.pop();
    if (item !== undefined) this.#shrunk(line, item);
    return item;
  }

  #shrunk(line: Line<Item>, item: Item): void {
    this.#grow(line, item, -1);
    const row = this.#rows[line.rank];
    if (line.items.length > 0) {
      row.fullest.resized(line);
      return;
    }
    row.remove(line);
    this.#lines.delete(line.key);
  }

  #grow(line: Line<Item>, item: Item, sign: 1 | -1): void {
    const { byteLength } = item.bytes;
    line.bytes += sign * byteLength;
    this.#bytes += sign * byteLength;
    this.#count += sign;
    if (isHuge(item)) this.#hugeCount += sign;
  }
}

function isHuge({ bytes }: Pick<LargeRequest, "bytes">): boolean {
  return bytes.byteLength > hugeRequestBytes;
}
