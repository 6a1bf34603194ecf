/**
 * Reads msgpack of either flavour into values; checks every announced size against the remaining bytes before it allocates.
 * A budget bounds what it builds; one may serve several decodings, such as all events of one request.
 * Source: docs/protocol.md section 2.6. Pure: no I/O, no clock, no randomness.
 */
import { isUtf8 } from "node:buffer";
import { SaltworksError } from "../errors.ts";
import {
  decodedValuesMax,
  nestingDepthMax,
  numericKeysMax,
  sentCollectionsMax,
  sentNumericKeysMax,
  sentValuesMax,
} from "../limits.ts";
import { cachedAsciiText, cachedKeyBytesMax } from "./key-text.ts";
import { Ext, floatItem, intItem, type Value, type ValueMap } from "./values.ts";

/** `text`: raw and str become strings where they are valid UTF-8. `bytes`: every string but map keys stays bytes. */
export type Strings = "text" | "bytes";

/** Up to this length a JavaScript loop finds non-ASCII sooner than a call into native code. */
const shortTextBytesMax = 24;

/** `collections`: lists and maps among the values. `numericKeys`: keys of maps that are numbers. */
export type DecodeBounds = { readonly values: number; readonly collections: number; readonly numericKeys: number };

/** For data that the master wrote or checked, and for answers that a thread decodes on which no minion waits. */
const generalBounds: DecodeBounds = {
  values: decodedValuesMax,
  collections: decodedValuesMax,
  numericKeys: numericKeysMax,
};

/** For what a minion or a restricted user sends. */
const sentBounds: DecodeBounds = {
  values: sentValuesMax,
  collections: sentCollectionsMax,
  numericKeys: sentNumericKeysMax,
};

/**
 * What is left of a decoding's bounds. Numeric keys are bounded by their number, not by their collisions: V8 hashes numbers without a secret, but
 * promises no hash function, so that a count of collisions would be wrong in some release of Node without a sign.
 */
export class DecodeBudget {
  readonly #bounds: DecodeBounds;
  #values: number;
  #collections: number;
  #numericKeys: number;

  constructor(bounds: DecodeBounds = generalBounds) {
    this.#bounds = bounds;
    this.#values = bounds.values;
    this.#collections = bounds.collections;
    this.#numericKeys = bounds.numericKeys;
  }

  /** The budget of one request of a minion or of a restricted user. */
  static ofRequest(): DecodeBudget {
    return new DecodeBudget(sentBounds);
  }

  /** Whether some bound was exceeded. Further decodings fail, too. */
  get isUsedUp(): boolean {
    return this.#values < 0 || this.#collections < 0 || this.#numericKeys < 0;
  }

  takeValue(): void {
    this.#values -= 1;
    if (this.#values < 0) throw tooMany("values", this.#bounds.values);
  }

  takeCollection(): void {
    this.#collections -= 1;
    if (this.#collections < 0) throw tooMany("lists and maps", this.#bounds.collections);
  }

  takeNumericKey(): void {
    this.#numericKeys -= 1;
    if (this.#numericKeys < 0) throw tooMany("keys that are numbers", this.#bounds.numericKeys);
  }
}

function tooMany(what: string, max: number): SaltworksError {
  return new SaltworksError("WIRE_TOO_LARGE", `too many ${what}: at most ${max}`, { max });
}

/** Reads from `position` on; byte strings in the results are views into the input. */
export class Decoder {
  position: number;
  readonly #bytes: Buffer;
  readonly #isText: boolean;
  readonly #budget: DecodeBudget;

  constructor(bytes: Uint8Array, position: number, strings: Strings, budget: DecodeBudget) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = position;
    this.#isText = strings === "text";
    this.#budget = budget;
  }

  read(depth: number, isKey: boolean): Value {
    this.#budget.takeValue();
    const code = this.#take(1);
    if (code <= 0x7f) return code;
    if (code <= 0x8f) return this.#readMap(code & 0x0f, depth);
    if (code <= 0x9f) return this.#readList(code & 0x0f, depth);
    if (code <= 0xbf) return this.#readText(code & 0x1f, isKey);
    if (code >= 0xe0) return code - 0x100;
    return this.#readWide(code, depth, isKey);
  }

  #readWide(code: number, depth: number, isKey: boolean): Value {
    switch (code) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#readBytes(this.#take(1 << (code - 0xc4)));
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#readExt(this.#take(1 << (code - 0xc7)));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#readExt(1 << (code - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#readText(this.#take(1 << (code - 0xd9)), isKey);
      case 0xdc:
      case 0xdd:
        return this.#readList(this.#take(2 << (code - 0xdc)), depth);
      case 0xde:
      case 0xdf:
        return this.#readMap(this.#take(2 << (code - 0xde)), depth);
      default:
        return this.#readNumber(code);
    }
  }

  #readNumber(code: number): Value {
    const start = this.position;
    switch (code) {
      case 0xca:
        this.#advance(4);
        return floatItem(this.#bytes.readFloatBE(start));
      case 0xcb:
        this.#advance(8);
        return floatItem(this.#bytes.readDoubleBE(start));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#take(1 << (code - 0xcc));
      case 0xcf:
        this.#advance(8);
        return intItem(this.#bytes.readBigUInt64BE(start));
      case 0xd0:
        return (this.#take(1) << 24) >> 24;
      case 0xd1:
        return (this.#take(2) << 16) >> 16;
      case 0xd2:
        return this.#take(4) | 0;
      case 0xd3:
        this.#advance(8);
        return intItem(this.#bytes.readBigInt64BE(start));
      default:
        throw new SaltworksError("WIRE_MALFORMED", "a byte that starts no value", { byte: code, position: start - 1 });
    }
  }

  /** An unsigned big-endian integer of 1, 2 or 4 bytes. */
  #take(width: number): number {
    const start = this.position;
    this.#advance(width);
    if (width === 1) return this.#bytes[start] ?? 0;
    return width === 2 ? this.#bytes.readUInt16BE(start) : this.#bytes.readUInt32BE(start);
  }

  #advance(count: number): void {
    if (count > this.#bytes.length - this.position) {
      throw new SaltworksError("WIRE_TRUNCATED", "bytes end inside a value", {
        needed: count,
        position: this.position,
      });
    }
    this.position += count;
  }

  #readBytes(length: number): Uint8Array {
    const start = this.position;
    this.#advance(length);
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, length);
  }

  #readText(length: number, isKey: boolean): string | Uint8Array {
    if (!this.#isText && !isKey) return this.#readBytes(length);
    const start = this.position;
    this.#advance(length);
    const cached =
      isKey && length <= cachedKeyBytesMax ? cachedAsciiText(this.#bytes, start, this.position) : undefined;
    return cached ?? textAt(this.#bytes, start, this.position) ?? this.#bytesAt(start, length);
  }

  #bytesAt(start: number, length: number): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + start, length);
  }

  #readExt(length: number): Ext {
    const type = (this.#take(1) << 24) >> 24;
    return new Ext(type, this.#readBytes(length));
  }

  #enter(count: number, depth: number): void {
    this.#budget.takeCollection();
    if (depth >= nestingDepthMax)
      throw new SaltworksError("WIRE_TOO_DEEP", "value nested too deep", { max: nestingDepthMax });
    // Each element takes at least one byte, so a larger count cannot be true.
    if (count > this.#bytes.length - this.position) {
      throw new SaltworksError("WIRE_TRUNCATED", "bytes end inside a collection", {
        needed: count,
        position: this.position,
      });
    }
  }

  #readList(count: number, depth: number): Value[] {
    this.#enter(count, depth);
    const list: Value[] = [];
    for (let index = 0; index < count; index += 1) list.push(this.read(depth + 1, false));
    return list;
  }

  #readMap(count: number, depth: number): ValueMap {
    this.#enter(count * 2, depth);
    const map: ValueMap = new Map();
    for (let index = 0; index < count; index += 1) {
      const key = this.read(depth + 1, true);
      if (typeof key === "number" || typeof key === "bigint") this.#budget.takeNumericKey();
      map.set(key, this.read(depth + 1, false));
    }
    return map;
  }
}

/** The text between two offsets, or undefined where it is not valid UTF-8. */
function textAt(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start <= shortTextBytesMax) {
    let index = start;
    while (index < end && (bytes[index] ?? 0) < 0x80) index += 1;
    if (index === end) return bytes.toString("latin1", start, end);
  }
  return isUtf8(bytes.subarray(start, end)) ? bytes.toString("utf8", start, end) : undefined;
}
