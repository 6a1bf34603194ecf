/**
 * Messages as bytes: MessagePack in pieces, each behind its `u32` big-endian length, whose highest bit says that the message goes on. A piece without
 * bytes is a beat. Pure: no sockets, no clock.
 */
import { Packr } from "msgpackr";
import { SaltworksError } from "../../src/errors.ts";

/** Large messages go in pieces, so that a reader refuses a false length before it allocates. */
export const pieceBytesMax = 1024 * 1024;
/** A schedule of 10,000,000 operations takes 80 MB. */
export const messageBytesMax = 128 * 1024 * 1024;
const headerBytes = 4;
const moreFollows = 0x8000_0000;

/** `moreTypes`: keeps schedules, which are Float64Arrays. */
const packr = new Packr({ useRecords: false, moreTypes: true });

export const beat: Buffer = Buffer.alloc(headerBytes);

/** @throws SaltworksError WIRE_TOO_LARGE over `messageBytesMax` */
export function framesOf(message: object): Buffer[] {
  const body = packr.pack(message);
  if (body.length > messageBytesMax) throw tooLarge("message", body.length, messageBytesMax);
  const frames: Buffer[] = [];
  for (let start = 0; start < body.length; start += pieceBytesMax) {
    const piece = body.subarray(start, start + pieceBytesMax);
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(piece.length + (start + piece.length < body.length ? moreFollows : 0));
    frames.push(header, piece);
  }
  return frames;
}

export class FrameReader {
  /** Of a whole message. Small until the other side has said who it is. */
  bytesMax: number;
  readonly #onMessage: (message: unknown) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  #pieces: Buffer[] = [];
  #messageBytes = 0;

  constructor(bytesMax: number, onMessage: (message: unknown) => void) {
    this.bytesMax = bytesMax;
    this.#onMessage = onMessage;
  }

  /** @throws SaltworksError WIRE_TOO_LARGE from a header alone, WIRE_MALFORMED for bytes that are not MessagePack */
  push(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    while (this.#length >= headerBytes) {
      const header = this.#peek(headerBytes).readUInt32BE();
      const isLast = header < moreFollows;
      const size = isLast ? header : header - moreFollows;
      if (size > pieceBytesMax) throw tooLarge("piece", size, pieceBytesMax);
      if (this.#messageBytes + size > this.bytesMax)
        throw tooLarge("message", this.#messageBytes + size, this.bytesMax);
      if (this.#length < headerBytes + size) return;
      this.#take(headerBytes);
      if (size > 0) this.#add(this.#take(size), isLast);
    }
  }

  #add(piece: Buffer, isLast: boolean): void {
    this.#pieces.push(piece);
    this.#messageBytes += piece.length;
    if (!isLast) return;
    const body = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#messageBytes = 0;
    this.#onMessage(decode(body));
  }

  #peek(size: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= size) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  #take(size: number): Buffer {
    const whole = this.#peek(size);
    this.#chunks[0] = whole.subarray(size);
    if (whole.length === size) this.#chunks.shift();
    this.#length -= size;
    return whole.subarray(0, size);
  }
}

function decode(body: Buffer): unknown {
  try {
    return packr.unpack(body);
  } catch {
    throw new SaltworksError("WIRE_MALFORMED", "a message that is not MessagePack");
  }
}

function tooLarge(what: string, size: number, max: number): SaltworksError {
  return new SaltworksError("WIRE_TOO_LARGE", `a ${what} of ${size} bytes, more than ${max}`, { size, max });
}
