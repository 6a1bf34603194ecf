/**
 * Memory of large requests, which the main thread and a worker share and later requests use again. A large request is copied into it once, and a
 * worker reads it there. Memory that is new for each request costs page faults, and the garbage collector runs for it.
 */
import { sharedFrameBytesMax, sharedFrameBytesMin, sharedFramesBytesMax } from "../../limits.ts";

/** Sizes of buffers: powers of two, and the middle between two of them. */
function sizeFor(bytes: number): number {
  let size = sharedFrameBytesMin;
  while (size < bytes) size *= 2;
  return bytes <= (size / 4) * 3 ? (size / 4) * 3 : size;
}

export class SharedMemory {
  /** `unshared`: requests that got memory of their own, because all shared memory was in use. */
  readonly counters = { unshared: 0 };
  /** Buffers that no request uses, by size. */
  readonly #spare = new Map<number, SharedArrayBuffer[]>();
  /** Buffers that a request uses. */
  readonly #used = new Set<ArrayBufferLike>();
  /** Bytes of all buffers, spare and used. The garbage collector does not see shared memory, so none is made beyond the bound. */
  #bytes = 0;

  /** Bytes of all buffers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A copy of the request in shared memory; undefined if the request is too small or too large for it, or all of it is in use. */
  copyOf(frame: Buffer): Buffer | undefined {
    if (frame.length < sharedFrameBytesMin || frame.length > sharedFrameBytesMax) return undefined;
    const memory = this.#take(sizeFor(frame.length));
    if (memory === undefined) return undefined;
    this.#used.add(memory);
    const copy = Buffer.from(memory, 0, frame.length);
    // Three times as fast as `copy`, which moves words one by one into memory that other threads see.
    copy.fill(frame);
    return copy;
  }

  /** The request is done, and no thread reads it any more. Ignores bytes of other memory. */
  giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer) || !this.#used.delete(buffer)) return;
    const spare = this.#spare.get(buffer.byteLength);
    if (spare === undefined) this.#spare.set(buffer.byteLength, [buffer]);
    else spare.push(buffer);
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

  #take(size: number): SharedArrayBuffer | undefined {
    const spare = this.#spare.get(size)?.pop();
    if (spare !== undefined) return spare;
    if (this.#bytes + size > sharedFramesBytesMax) return this.#takeLarger(size);
    this.#bytes += size;
    return new SharedArrayBuffer(size);
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
