/**
 * Writes values as msgpack in either flavour, into one growing buffer.
 * Source: docs/protocol.md section 2.6. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import { nestingDepthMax } from "../limits.ts";
import { type Encodable, Ext, Float, Packed } from "./values.ts";

/** `raw`: the network's (one kind of string for text and bytes). `bin`: events, IPC and files (str8 and bin exist). */
export type Flavour = "raw" | "bin";

const scratchBytesMin = 16 * 1024;
/**
 * A scratch buffer larger than this becomes the result or is released. V8 collects the whole heap after each 64 MB or so of new buffers,
 * so that encoding a list of 100,000 ids must not allocate four times its size.
 */
const scratchBytesKept = 1024 * 1024;
/** A result that fills a smaller share of its buffer is copied, so that its owner does not hold much empty memory. */
const fullShareMin = 0.75;
const u64Max = 2n ** 64n - 1n;
const i64Min = -(2n ** 63n);

export class Encoder {
  readonly #isBin: boolean;
  #bytes: Buffer = Buffer.allocUnsafeSlow(scratchBytesMin);
  #end = 0;

  constructor(flavour: Flavour) {
    this.#isBin = flavour === "bin";
  }

  /** The result owns its memory: nothing else shares its ArrayBuffer. */
  encode(value: Encodable): Buffer {
    this.#end = 0;
    try {
      this.#write(value, 0);
      const isHandedOut = this.#bytes.length > scratchBytesKept && this.#end > this.#bytes.length * fullShareMin;
      if (isHandedOut) return this.#bytes.subarray(0, this.#end);
      const result = Buffer.allocUnsafeSlow(this.#end);
      this.#bytes.copy(result, 0, 0, this.#end);
      return result;
    } finally {
      if (this.#bytes.length > scratchBytesKept) this.#bytes = Buffer.allocUnsafeSlow(scratchBytesMin);
    }
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#bytes.length) return;
    // Leaves room for some fields after a long list, not for a second such list.
    const room = Math.max(needed + Math.floor(needed / 16), this.#bytes.length * 2);
    const grown = Buffer.allocUnsafeSlow(room);
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }

  #write(value: Encodable, depth: number): void {
    switch (typeof value) {
      case "string":
        this.#writeText(value);
        break;
      case "number":
        this.#writeNumber(value);
        break;
      case "boolean":
        this.#writeByte(value ? 0xc3 : 0xc2);
        break;
      case "undefined":
        this.#writeByte(0xc0);
        break;
      case "bigint":
        this.#writeBig(value);
        break;
      default:
        if (value === null) this.#writeByte(0xc0);
        else this.#writeObject(value, depth);
    }
  }

  #writeObject(value: object, depth: number): void {
    if (Array.isArray(value)) {
      enter(depth);
      this.#writeHead(value.length, 0x90, 15, 0xdc);
      for (const item of value) this.#write(item, depth + 1);
    } else if (value instanceof Map) {
      this.#writeMap(value, depth);
    } else if (value instanceof Uint8Array) {
      this.#writeBytes(value);
    } else if (value instanceof Float) {
      this.#writeFloat(value.value);
    } else if (value instanceof Ext) {
      this.#writeExt(value);
    } else if (value instanceof Packed) {
      this.#writePacked(value);
    } else {
      this.#writeRecord(value as { readonly [key: string]: Encodable }, depth);
    }
  }

  #writePacked({ pieces }: Packed): void {
    let length = 0;
    for (const piece of pieces) length += piece.length;
    this.#reserve(length);
    for (const piece of pieces) {
      this.#bytes.set(piece, this.#end);
      this.#end += piece.length;
    }
  }

  #writeMap(map: ReadonlyMap<Encodable, Encodable>, depth: number): void {
    enter(depth);
    let count = 0;
    for (const item of map.values()) if (item !== undefined) count += 1;
    this.#writeHead(count, 0x80, 15, 0xde);
    for (const [key, item] of map) {
      if (item === undefined) continue;
      this.#write(key, depth + 1);
      this.#write(item, depth + 1);
    }
  }

  #writeRecord(record: { readonly [key: string]: Encodable }, depth: number): void {
    enter(depth);
    const keys = Object.keys(record);
    let count = 0;
    for (const key of keys) if (record[key] !== undefined) count += 1;
    this.#writeHead(count, 0x80, 15, 0xde);
    for (const key of keys) {
      const item = record[key];
      if (item === undefined) continue;
      this.#writeText(key);
      this.#write(item, depth + 1);
    }
  }

  #writeByte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#end++] = byte;
  }

  /** Fixed form up to `fixMax`, else the 16-bit form `code16`, else the 32-bit form that follows it. */
  #writeHead(count: number, fixCode: number, fixMax: number, code16: number): void {
    this.#reserve(5);
    const bytes = this.#bytes;
    if (count <= fixMax) {
      bytes[this.#end++] = fixCode | count;
    } else if (count <= 0xffff) {
      bytes[this.#end++] = code16;
      this.#end = bytes.writeUInt16BE(count, this.#end);
    } else {
      bytes[this.#end++] = code16 + 1;
      this.#end = bytes.writeUInt32BE(count, this.#end);
    }
  }

  #writeTextHead(length: number): void {
    if (this.#isBin && length > 31 && length <= 0xff) {
      this.#reserve(2);
      this.#bytes[this.#end++] = 0xd9;
      this.#bytes[this.#end++] = length;
    } else {
      this.#writeHead(length, 0xa0, 31, 0xda);
    }
  }

  #writeText(text: string): void {
    if (text.length <= 31 && this.#writeShortAscii(text)) return;
    const length = Buffer.byteLength(text);
    this.#writeTextHead(length);
    this.#reserve(length);
    this.#end += this.#bytes.write(text, this.#end, length, "utf8");
  }

  /** Most strings are short ASCII names: written byte by byte, without a call into native code. */
  #writeShortAscii(text: string): boolean {
    const length = text.length;
    this.#reserve(length + 1);
    const start = this.#end + 1;
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      this.#bytes[start + index] = code;
    }
    this.#bytes[this.#end] = 0xa0 | length;
    this.#end = start + length;
    return true;
  }

  #writeBytes(value: Uint8Array): void {
    const length = value.length;
    if (!this.#isBin) {
      this.#writeTextHead(length);
    } else if (length <= 0xff) {
      this.#reserve(2);
      this.#bytes[this.#end++] = 0xc4;
      this.#bytes[this.#end++] = length;
    } else {
      this.#writeHead(length, 0, -1, 0xc5);
    }
    this.#reserve(length);
    this.#bytes.set(value, this.#end);
    this.#end += length;
  }

  #writeNumber(value: number): void {
    this.#reserve(9);
    if (!Number.isSafeInteger(value)) this.#writeBeyondSafe(value);
    else if (value >= 0) this.#writeUnsigned(value);
    else this.#writeNegative(value);
  }

  /** Writes fractions as floats. Writes integral numbers beyond 2^53 as ints while they fit 64 bits, else as floats. */
  #writeBeyondSafe(value: number): void {
    const isWide = Number.isInteger(value) && value < 2 ** 64 && value >= -(2 ** 63);
    if (isWide) this.#writeWide(BigInt(value));
    else this.#writeFloat(value);
  }

  #writeUnsigned(value: number): void {
    const bytes = this.#bytes;
    if (value <= 0x7f) {
      bytes[this.#end++] = value;
    } else if (value <= 0xff) {
      bytes[this.#end++] = 0xcc;
      bytes[this.#end++] = value;
    } else if (value <= 0xffff) {
      bytes[this.#end++] = 0xcd;
      this.#end = bytes.writeUInt16BE(value, this.#end);
    } else if (value <= 0xffffffff) {
      bytes[this.#end++] = 0xce;
      this.#end = bytes.writeUInt32BE(value, this.#end);
    } else {
      bytes[this.#end++] = 0xcf;
      this.#end = bytes.writeBigUInt64BE(BigInt(value), this.#end);
    }
  }

  #writeNegative(value: number): void {
    const bytes = this.#bytes;
    if (value >= -0x20) {
      bytes[this.#end++] = value & 0xff;
    } else if (value >= -0x80) {
      bytes[this.#end++] = 0xd0;
      this.#end = bytes.writeInt8(value, this.#end);
    } else if (value >= -0x8000) {
      bytes[this.#end++] = 0xd1;
      this.#end = bytes.writeInt16BE(value, this.#end);
    } else if (value >= -0x80000000) {
      bytes[this.#end++] = 0xd2;
      this.#end = bytes.writeInt32BE(value, this.#end);
    } else {
      bytes[this.#end++] = 0xd3;
      this.#end = bytes.writeBigInt64BE(BigInt(value), this.#end);
    }
  }

  /** As in Salt, an int beyond 64 bits becomes its decimal text. */
  #writeBig(value: bigint): void {
    const number = Number(value);
    if (value > u64Max || value < i64Min) this.#writeText(value.toString());
    else if (Number.isSafeInteger(number)) this.#writeNumber(number);
    else this.#writeWide(value);
  }

  #writeWide(value: bigint): void {
    this.#reserve(9);
    if (value >= 0n) {
      this.#bytes[this.#end++] = 0xcf;
      this.#end = this.#bytes.writeBigUInt64BE(value, this.#end);
    } else {
      this.#bytes[this.#end++] = 0xd3;
      this.#end = this.#bytes.writeBigInt64BE(value, this.#end);
    }
  }

  #writeFloat(value: number): void {
    this.#reserve(9);
    this.#bytes[this.#end++] = 0xcb;
    this.#end = this.#bytes.writeDoubleBE(value, this.#end);
  }

  #writeExt(ext: Ext): void {
    const length = ext.data.length;
    const fixed = [1, 2, 4, 8, 16].indexOf(length);
    this.#reserve(length + 6);
    if (fixed >= 0) {
      this.#bytes[this.#end++] = 0xd4 + fixed;
    } else if (length <= 0xff) {
      this.#bytes[this.#end++] = 0xc7;
      this.#bytes[this.#end++] = length;
    } else {
      this.#writeHead(length, 0, -1, 0xc8);
    }
    this.#bytes[this.#end++] = ext.type & 0xff;
    this.#bytes.set(ext.data, this.#end);
    this.#end += length;
  }
}

/** Collections nest at most `nestingDepthMax` deep, as for the reader. This also ends a value that contains itself. */
function enter(depth: number): void {
  if (depth < nestingDepthMax) return;
  throw new SaltworksError("WIRE_TOO_DEEP", "value nested too deep", { max: nestingDepthMax });
}
