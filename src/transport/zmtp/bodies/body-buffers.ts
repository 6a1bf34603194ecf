/**
 * Buffers for the bodies of messages that come in pieces. Small ones are reused: with fresh memory for each message the garbage collector would
 * stop the thread several times a second. Large ones grow in place, because copying megabytes takes milliseconds.
 */
import { lentBodyBytesMax, spareBodiesBytesMax } from "../../../limits.ts";

/** Least size of a small buffer; the others are this, doubled again and again. */
const leastBytes = 512;
/** First size of the buffer for a body whose announced size is larger than this. */
const firstBytes = 16 * 1024;

/** Node.js 20 has resizable buffers; the types that this project compiles against lack them. */
type Resizable = ArrayBuffer & { readonly maxByteLength: number; resize(bytes: number): void };
const ResizableBuffer = ArrayBuffer as unknown as new (bytes: number, options: { maxByteLength: number }) => Resizable;

export class BodyBuffers {
  /** Small buffers that no message uses, by size. */
  readonly #spare = new Map<number, Buffer[]>();
  #spareBytes = 0;

  /** Bytes of spare buffers for later messages. */
  get spareBytes(): number {
    return this.#spareBytes;
  }

  /**
   * @param body the buffer so far, with `filled` bytes; it must not be used afterwards
   * @param announcedBytes announced size of the whole body. Memory grows with the bytes received, not with this size.
   * @returns a buffer with the same bytes and room for `neededBytes`
   */
  grow(body: Buffer, filled: number, neededBytes: number, announcedBytes: number): Buffer {
    const wanted = Math.min(announcedBytes, Math.max(neededBytes, firstBytes, 2 * body.length));
    if (wanted > lentBodyBytesMax) return this.#growLarge(body, filled, wanted, announcedBytes);
    const grown = this.#take(wanted);
    body.copy(grown, 0, 0, filled);
    this.give(body);
    return grown;
  }

  /** Takes back a small buffer whose message is finished or discarded. A large one belongs to the part's reader or the garbage collector. */
  give(body: Buffer): void {
    const bytes = body.length;
    if (bytes === 0 || bytes > lentBodyBytesMax || this.#spareBytes + bytes > spareBodiesBytesMax) return;
    const spare = this.#spare.get(bytes);
    if (spare === undefined) this.#spare.set(bytes, [body]);
    else spare.push(body);
    this.#spareBytes += bytes;
  }

  #take(bytes: number): Buffer {
    let size = leastBytes;
    while (size < bytes) size *= 2;
    const spare = this.#spare.get(size)?.pop();
    if (spare === undefined) return Buffer.allocUnsafeSlow(size);
    this.#spareBytes -= size;
    return spare;
  }

  #growLarge(body: Buffer, filled: number, bytes: number, announcedBytes: number): Buffer {
    const before = body.buffer as Resizable;
    if (body.length > lentBodyBytesMax) {
      before.resize(bytes);
      return Buffer.from(before, 0, bytes);
    }
    const grown = Buffer.from(new ResizableBuffer(bytes, { maxByteLength: announcedBytes }), 0, bytes);
    body.copy(grown, 0, 0, filled);
    this.give(body);
    return grown;
  }
}

/** A part of a message that must outlive its callback. Copies a small or shared part, whose buffer is reused; a large part has memory of its own. */
export function kept(part: Buffer): Buffer {
  const isReused = part.length <= lentBodyBytesMax || part.buffer instanceof SharedArrayBuffer;
  return isReused ? Buffer.from(part) : part;
}
