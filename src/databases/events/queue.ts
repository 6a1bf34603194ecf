/** Events that wait for one returner, oldest first, within two bounds: a number and bytes. */

/** `data`: in msgpack. `atMs`: when the lane got it, by `performance.now()`. */
export type HeldEvent = {
  readonly tag: string;
  readonly data: Uint8Array;
  readonly serial: number;
  readonly atMs: number;
};

/** Bytes that an event takes beside its tag and data. */
const restBytes = 200;
/** Removed events at the head before the list is made shorter. */
const headMax = 4_096;

export type QueueBounds = { readonly eventsMax: number; readonly bytesMax: number };

export class EventQueue {
  readonly #bounds: QueueBounds;
  #events: HeldEvent[] = [];
  #head = 0;
  #bytes = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get oldest(): HeldEvent | undefined {
    return this.#events[this.#head];
  }

  /** @returns false, and keeps what waits, if the event does not fit */
  add(event: HeldEvent): boolean {
    const bytes = bytesOf(event);
    const isFull = this.length >= this.#bounds.eventsMax || this.#bytes + bytes > this.#bounds.bytesMax;
    // One event may be larger than the bound.
    if (isFull && this.length > 0) return false;
    this.#events.push(event);
    this.#bytes += bytes;
    return true;
  }

  /** The oldest events within both bounds, but at least one. */
  first(eventsMax: number, bytesMax: number): readonly HeldEvent[] {
    const found = this.#events.slice(this.#head, this.#head + eventsMax);
    let bytes = 0;
    const over = found.findIndex((event, index) => {
      bytes += bytesOf(event);
      return index > 0 && bytes > bytesMax;
    });
    return over < 0 ? found : found.slice(0, over);
  }

  removeFirst(count: number): void {
    for (const event of this.#events.slice(this.#head, this.#head + count)) this.#bytes -= bytesOf(event);
    this.#head += count;
    if (this.#head < headMax && this.length > 0) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }
}

function bytesOf({ tag, data }: HeldEvent): number {
  return tag.length + data.byteLength + restBytes;
}
