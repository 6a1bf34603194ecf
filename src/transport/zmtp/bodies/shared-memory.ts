/**
 * Memory of large requests, which the main thread and a worker share and later requests use again. The kernel writes a large request of a proven
 * connection into it, another is copied into it once, and a worker reads it there. Memory that is new for each request costs page faults, and the
 * garbage collector runs for it. docs/decisions/0036-large-requests.md.
 */
import {
  largeBodiesBytesMax,
  sharedFrameBytesMax,
  sharedFrameBytesMin,
  sharedFramesBytesMax,
  spareForLargerMs,
} from "../../../limits.ts";

/** Sizes of buffers: powers of two, and three sizes between two of them. */
function sizeFor(bytes: number): number {
  let size = sharedFrameBytesMin;
  while (size < bytes) size *= 2;
  const step = size / 8;
  return Math.ceil(bytes / step) * step;
}

export class SharedMemory {
  /** `unshared`: requests that got memory of their own, because all shared memory was in use. */
  readonly counters = { unshared: 0 };
  /** Buffers that no request uses, by size. */
  readonly #spare = new Map<number, SharedArrayBuffer[]>();
  /** Buffers into which a connection's request is read. */
  readonly #lent = new Set<ArrayBufferLike>();
  /** Buffers that a request uses. */
  readonly #used = new Set<ArrayBufferLike>();
  /** Bytes of all buffers, spare and used. The garbage collector does not see shared memory, so none is made beyond the bound. */
  #bytes = 0;
  /** Bytes of the buffers in `#lent`. */
  #lentBytes = 0;
  readonly #nowMs: () => number;
  /** When smaller spare buffers were last given up for a larger one. */
  #gaveUpMs = Number.NEGATIVE_INFINITY;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Memory into which a request of `bytes` is read; undefined if it is too small or too large for it, or all of it is in use. Unfinished requests get a
   * part of the memory, so that connections that stop half-way leave the rest to whole requests. End it by `settle`.
   */
  lend(bytes: number): Buffer | undefined {
    if (this.#lentBytes + bytes > largeBodiesBytesMax.proven) return undefined;
    const memory = this.#takeFor(bytes);
    if (memory === undefined) return undefined;
    this.#lent.add(memory);
    this.#lentBytes += memory.byteLength;
    return Buffer.from(memory, 0, bytes);
  }

  /** A request that was read into `body` is over, or was discarded. The memory is spare again unless `keep` has kept the request. */
  settle({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && this.#unlend(buffer)) this.#addSpare(buffer);
  }

  /**
   * The request in shared memory: where it was read, or a copy; undefined if the request is too small or too large for it, or all of it is in use.
   * End it by `giveBack` or `abandon`.
   */
  keep(frame: Buffer): Buffer | undefined {
    if (this.#unlend(frame.buffer)) {
      this.#used.add(frame.buffer);
      return frame;
    }
    const memory = this.#takeFor(frame.length);
    if (memory === undefined) return undefined;
    this.#used.add(memory);
    const copy = Buffer.from(memory, 0, frame.length);
    // Three times as fast as `copy`, which moves words one by one into memory that other threads see.
    copy.fill(frame);
    return copy;
  }

  /** The request is done, and no thread reads it any more. Ignores bytes of other memory. */
  giveBack({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && this.#used.delete(buffer)) this.#addSpare(buffer);
  }

  /** The request is done, but a thread may still read it, so that its memory is left to the garbage collector. */
  abandon({ buffer }: Uint8Array): void {
    if (this.#used.delete(buffer)) this.#bytes -= buffer.byteLength;
  }

  /** Leaves all spare buffers to the garbage collector. Call it right before a collection. */
  dropSpare(): void {
    for (const [size, spare] of this.#spare) this.#bytes -= size * spare.length;
    this.#spare.clear();
  }

  #unlend(buffer: ArrayBufferLike): boolean {
    const wasLent = this.#lent.delete(buffer);
    if (wasLent) this.#lentBytes -= buffer.byteLength;
    return wasLent;
  }

  #addSpare(buffer: SharedArrayBuffer): void {
    const spare = this.#spare.get(buffer.byteLength);
    if (spare === undefined) this.#spare.set(buffer.byteLength, [buffer]);
    else spare.push(buffer);
  }

  #takeFor(bytes: number): SharedArrayBuffer | undefined {
    return bytes < sharedFrameBytesMin || bytes > sharedFrameBytesMax ? undefined : this.#take(sizeFor(bytes));
  }

  #take(size: number): SharedArrayBuffer | undefined {
    const spare = this.#spare.get(size)?.pop();
    if (spare !== undefined) return spare;
    if (this.#bytes + size > sharedFramesBytesMax && !this.#giveUpSmaller(size)) return this.#takeLarger(size);
    this.#bytes += size;
    return new SharedArrayBuffer(size);
  }

  /**
   * Leaves smaller spare buffers to the garbage collector, so that a larger one may be made: else buffers of yesterday's sizes would fill the bound for
   * as long as the master is busy. Seldom, because the collector frees the old ones later.
   *
   * @returns whether there is room now
   */
  #giveUpSmaller(size: number): boolean {
    const smaller = [...this.#spare].filter(([other, { length }]) => other < size && length > 0);
    const missing = this.#bytes + size - sharedFramesBytesMax;
    const nowMs = this.#nowMs();
    const hasLarger = [...this.#spare].some(([other, { length }]) => other > size && length > 0);
    if (hasLarger || nowMs - this.#gaveUpMs < spareForLargerMs) return false;
    if (smaller.reduce((sum, [other, { length }]) => sum + other * length, 0) < missing) return false;
    this.#gaveUpMs = nowMs;
    for (const [other, spare] of smaller.sort(([a], [b]) => b - a)) {
      while (spare.length > 0 && this.#bytes + size > sharedFramesBytesMax) {
        spare.pop();
        this.#bytes -= other;
      }
    }
    return true;
  }

  /** A spare buffer of a larger size, when no more may be made. */
  #takeLarger(size: number): SharedArrayBuffer | undefined {
    const larger = [...this.#spare.keys()].filter((other) => other > size).sort((a, b) => a - b);
    for (const other of larger) {
      const spare = this.#spare.get(other)?.pop();
      if (spare !== undefined) return spare;
    }
    this.counters.unshared += 1;
    return undefined;
  }
}
