/**
 * The JSON of a stored job or return, written from its msgpack in one walk, because decoding and writing it twice takes most of a row's time.
 * The text is that of `dumpJson` for the decoded value.
 */
import { isUtf8 } from "node:buffer";
import { SaltworksError } from "../../errors.ts";
import { nestingDepthMax } from "../../limits.ts";
import { dumpJson } from "../../python/json.ts";
import type { Item } from "../../python/values.ts";
import { cachedAsciiText, cachedKeyBytesMax } from "../../wire/key-text.ts";
import { decodeAt } from "../../wire/msgpack.ts";
import { Ext, Float, type Value } from "../../wire/values.ts";

const json = { sortsKeys: false, isAscii: false, indent: undefined } as const;

/** The JSON that Salt's returners write. */
export function jsonText(value: Value): string {
  return dumpJson(textual(value), json);
}

/** The value with text in place of bytes, which JSON cannot hold. Salt's returners drop such a return. */
function textual(value: Value): Item {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
  if (value instanceof Ext) return Buffer.from(value.data).toString("utf8");
  if (value instanceof Float) return value;
  if (Array.isArray(value)) return value.map(textual);
  if (value instanceof Map)
    return new Map([...value].map(([key, member]): [Item, Item] => [keyOf(key), textual(member)]));
  return value;
}

/** Keys that JSON cannot hold are written as text. */
function keyOf(key: Value): Item {
  const item = textual(key);
  return Array.isArray(item) || item instanceof Map ? dumpJson(item, json) : item;
}

/** The JSON of a map, with the places of its entries' values in the msgpack and the JSON of one of them. */
export type MapText = {
  readonly whole: string;
  /** JSON of the value of the entry that was asked for. */
  readonly part: string | undefined;
  /** The value of a text key as it is decoded; undefined if there is none. */
  readonly get: (key: string) => Value | undefined;
};

/** @throws SaltworksError WIRE_MALFORMED, also for what is not a map; WIRE_TRUNCATED, WIRE_TOO_DEEP */
export function mapText(record: Uint8Array, partKey: string): MapText {
  return writer.write(record, partKey);
}

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const space = 0x20;
const zero = 0x30;
const letterU = 0x75;

/** By ASCII character: 0 if it stands for itself in a JSON text, the letter after a backslash, or `u` for a number. */
const escapeOf = new Uint8Array(128).fill(letterU, 0, space);
for (const [character, letter] of ['""', "\\\\", "\bb", "\ff", "\nn", "\rr", "\tt"].map((pair) =>
  [...pair].map((text) => text.charCodeAt(0)),
))
  escapeOf[character ?? 0] = letter ?? 0;
const escapeBytesMax = 6;

/** Four bytes at once. Each test leaves a top bit for a byte that it looks for, and at times for a byte after such a one. */
const wordBytes = 4;
const ones = 0x01010101;
const topBits = 0x80808080 | 0;
const spaces = 0x20202020;
const quotes = 0x22222222;
const backslashes = 0x5c5c5c5c;

/** 0 if none of the four is a control character, a quote or a backslash. */
function escapedIn(word: number): number {
  const [byQuote, byBackslash] = [word ^ quotes, word ^ backslashes];
  return (((word - spaces) & ~word) | ((byQuote - ones) & ~byQuote) | ((byBackslash - ones) & ~byBackslash)) & topBits;
}
const hexDigits = Buffer.from("0123456789abcdef");

const bufferBytes = 64 * 1024;
/** A larger buffer is not kept for the next record. */
const bufferBytesKept = 4 * 1024 * 1024;

class PackedJsonWriter {
  #input: Buffer = Buffer.alloc(0);
  #inputView = viewOf(this.#input);
  #position = 0;
  #out: Buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #outView = viewOf(this.#out);
  #at = 0;
  #isAscii = true;

  write(record: Uint8Array, partKey: string): MapText {
    this.#input = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
    this.#inputView = viewOf(this.#input);
    this.#position = 0;
    this.#at = 0;
    this.#isAscii = true;
    try {
      return this.#writeTop(partKey);
    } finally {
      if (this.#out.length > bufferBytesKept) this.#useOut(Buffer.allocUnsafeSlow(bufferBytes));
    }
  }

  #writeTop(partKey: string): MapText {
    const input = this.#input;
    const places = new Map<string, number>();
    let [partStart, partEnd] = [0, 0];
    const code = this.#byte();
    const count = this.#mapCount(code);
    this.#enter(2 * count, 0);
    this.#put(openBrace);
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.#putPair(comma, space);
      const keyStart = this.#position;
      this.#key(1);
      const key = textKeyAt(input, keyStart, this.#position);
      this.#putPair(colon, space);
      if (key !== undefined) places.set(key, this.#position);
      const start = this.#at;
      this.#value(1);
      if (key === partKey) [partStart, partEnd] = [start, this.#at];
    }
    this.#put(closeBrace);
    if (this.#position !== input.length) throw malformed("bytes after the value", this.#position);
    const whole = this.#out.toString(this.#isAscii ? "latin1" : "utf8", 0, this.#at);
    const part =
      partEnd === 0
        ? undefined
        : this.#isAscii
          ? whole.slice(partStart, partEnd)
          : this.#out.toString("utf8", partStart, partEnd);
    const get = (key: string) => {
      const place = places.get(key);
      return place === undefined ? undefined : decodeAt(input, place).value;
    };
    return { whole, part, get };
  }

  #value(depth: number): void {
    const code = this.#byte();
    if (code >= 0xa0 && code <= 0xbf) this.#text(code & 0x1f);
    else if (code <= 0x7f || code >= 0xe0) this.#other();
    else if (code <= 0x8f) this.#map(code & 0x0f, depth);
    else if (code <= 0x9f) this.#list(code & 0x0f, depth);
    else if ((code >= 0xc4 && code <= 0xc6) || (code >= 0xd9 && code <= 0xdb)) this.#text(this.#length(code));
    else if (code === 0xdc || code === 0xdd) this.#list(this.#wide(2 << (code - 0xdc)), depth);
    else if (code === 0xde || code === 0xdf) this.#map(this.#wide(2 << (code - 0xde)), depth);
    else this.#other();
  }

  #mapCount(code: number): number {
    if (code >= 0x80 && code <= 0x8f) return code & 0x0f;
    if (code === 0xde || code === 0xdf) return this.#wide(2 << (code - 0xde));
    throw malformed("the record is not a map", 0);
  }

  #map(count: number, depth: number): void {
    this.#enter(2 * count, depth);
    this.#put(openBrace);
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.#putPair(comma, space);
      this.#key(depth + 1);
      this.#putPair(colon, space);
      this.#value(depth + 1);
    }
    this.#put(closeBrace);
  }

  #list(count: number, depth: number): void {
    this.#enter(count, depth);
    this.#put(openBracket);
    for (let index = 0; index < count; index += 1) {
      if (index > 0) this.#putPair(comma, space);
      this.#value(depth + 1);
    }
    this.#put(closeBracket);
  }

  #key(depth: number): void {
    const start = this.#position;
    const code = this.#byte();
    if (code >= 0xa0 && code <= 0xbf) this.#text(code & 0x1f);
    else if ((code >= 0xc4 && code <= 0xc6) || (code >= 0xd9 && code <= 0xdb)) this.#text(this.#length(code));
    else {
      if (depth >= nestingDepthMax) throw tooDeep();
      const { value, end } = decodeAt(this.#input, start);
      this.#position = end;
      const item = keyOf(value);
      // A number, a boolean and nothing are keys as text.
      this.#append(dumpJson(typeof item === "string" ? item : dumpJson(item, json), json));
    }
  }

  /** Numbers, null, booleans and extensions. */
  #other(): void {
    const start = this.#position - 1;
    const code = this.#input[start] ?? 0;
    if (code < 10) {
      this.#put(zero + code);
      return;
    }
    const { value, end } = decodeAt(this.#input, start);
    this.#position = end;
    this.#append(jsonText(value));
  }

  #text(length: number): void {
    const start = this.#position;
    const end = start + length;
    if (end > this.#input.length) throw truncated(start);
    this.#position = end;
    const firstAt = this.#at;
    if (this.#quoted(this.#input, this.#inputView, start, end)) return;
    // As text, bytes that are not UTF-8 become replacement characters.
    this.#at = firstAt;
    const text = Buffer.from(this.#input.toString("utf8", start, end));
    this.#quoted(text, viewOf(text), 0, text.length);
  }

  /** @param words the view of `input`. @returns false if the bytes are not UTF-8 */
  #quoted(input: Buffer, words: DataView, start: number, end: number): boolean {
    this.#room(end - start + 2);
    let out = this.#out;
    let at = this.#at;
    let isChecked = false;
    let outWords = this.#outView;
    out[at] = quote;
    at += 1;
    for (let index = start; index < end; index += 1) {
      // Most texts are long runs of characters that stand for themselves.
      for (; index + wordBytes <= end; index += wordBytes, at += wordBytes) {
        const word = words.getInt32(index);
        if (escapedIn(word) !== 0 || (!isChecked && (word & topBits) !== 0)) break;
        outWords.setInt32(at, word);
      }
      if (index === end) break;
      const byte = input[index] as number;
      if (byte >= 0x80) {
        if (!isChecked && !isUtf8(input.subarray(start, end))) return false;
        isChecked = true;
      } else if (escapeOf[byte] !== 0) {
        this.#at = at;
        this.#room(escapeBytesMax + end - index + 1);
        out = this.#out;
        outWords = this.#outView;
        at = escaped(out, at, byte);
        continue;
      }
      out[at] = byte;
      at += 1;
    }
    out[at] = quote;
    this.#at = at + 1;
    if (isChecked) this.#isAscii = false;
    return true;
  }

  #append(text: string): void {
    const length = Buffer.byteLength(text);
    this.#room(length);
    this.#out.write(text, this.#at);
    this.#at += length;
    if (length !== text.length) this.#isAscii = false;
  }

  #put(byte: number): void {
    this.#room(1);
    this.#out[this.#at] = byte;
    this.#at += 1;
  }

  #putPair(one: number, two: number): void {
    this.#room(2);
    this.#out[this.#at] = one;
    this.#out[this.#at + 1] = two;
    this.#at += 2;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#out.length, this.#at + bytes));
    this.#out.copy(larger, 0, 0, this.#at);
    this.#useOut(larger);
  }

  #useOut(out: Buffer): void {
    this.#out = out;
    this.#outView = viewOf(out);
  }

  #byte(): number {
    const byte = this.#input[this.#position];
    if (byte === undefined) throw truncated(this.#position);
    this.#position += 1;
    return byte;
  }

  /** The length of a text or of bytes, after its first byte. */
  #length(code: number): number {
    return this.#wide(1 << (code - (code <= 0xc6 ? 0xc4 : 0xd9)));
  }

  /** An unsigned big-endian integer of 1, 2 or 4 bytes. */
  #wide(width: number): number {
    const start = this.#position;
    this.#position += width;
    if (this.#position > this.#input.length) throw truncated(start);
    return this.#input.readUIntBE(start, width);
  }

  /** Each element takes at least one byte, so a larger count cannot be true. */
  #enter(elements: number, depth: number): void {
    if (depth >= nestingDepthMax) throw tooDeep();
    if (elements > this.#input.length - this.#position) throw truncated(this.#position);
  }
}

const writer = new PackedJsonWriter();

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Writes an escaped character. @returns the offset after it */
function escaped(out: Buffer, at: number, byte: number): number {
  const letter = escapeOf[byte] as number;
  out[at] = backslash;
  out[at + 1] = letter;
  if (letter !== letterU) return at + 2;
  out[at + 2] = zero;
  out[at + 3] = zero;
  out[at + 4] = hexDigits[byte >> 4] as number;
  out[at + 5] = hexDigits[byte & 0x0f] as number;
  return at + escapeBytesMax;
}

/** The text of a key that begins with its head at `start`; undefined for other keys. */
function textKeyAt(input: Buffer, start: number, end: number): string | undefined {
  const code = input[start] ?? 0;
  const isShort = code >= 0xa0 && code <= 0xbf;
  if (isShort && end - start <= cachedKeyBytesMax) {
    const cached = cachedAsciiText(input, start + 1, end);
    if (cached !== undefined) return cached;
  }
  const key = decodeAt(input, start).value;
  return typeof key === "string" ? key : undefined;
}

function truncated(position: number): SaltworksError {
  return new SaltworksError("WIRE_TRUNCATED", "bytes end inside a value", { position });
}

function malformed(why: string, position: number): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", why, { position });
}

function tooDeep(): SaltworksError {
  return new SaltworksError("WIRE_TOO_DEEP", "value nested too deep", { max: nestingDepthMax });
}
