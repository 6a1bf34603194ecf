/**
 * Walks msgpack by its lengths: finds where values end, a map's entries, and the bytes to rewrite for the other flavour. Builds no values.
 * Source: docs/protocol.md section 2.6. Pure: no I/O, no clock, no randomness.
 */
import { isUtf8 } from "node:buffer";
import { SaltworksError } from "../errors.ts";
import { mapEntriesMax, nestingDepthMax } from "../limits.ts";
import { copyEdited, type Edit, growthOf } from "./edit.ts";
import { cachedAsciiText, cachedKeyBytesMax } from "./key-text.ts";

/** One entry of a map, as offsets. `key`: its text; undefined if the key is not UTF-8 text. */
export type Entry = {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  readonly key: string | undefined;
};

/** Up to this length a JavaScript loop finds non-ASCII sooner than a call into native code. */
const shortTextBytesMax = 48;

// Classes of value by first byte. The low classes have no children.
const isComplete = 0; // nothing follows but `fixedBytes`
const isText = 1;
const isBytes = 2;
const isExt = 3;
const isList = 4;
const isMap = 5;
const isInvalid = 6;
const kindNames = ["other", "text", "bytes", "other", "list", "map", "other"] as const;

/** By first byte: the class, the number of length bytes, and without length bytes the length itself. */
const classOf = new Uint8Array(256);
const lengthWidthOf = new Uint8Array(256);
const fixedLengthOf = new Uint8Array(256);

function define(first: number, last: number, kind: number, width: number, fixed: (code: number) => number): void {
  for (let code = first; code <= last; code += 1) {
    classOf[code] = kind;
    lengthWidthOf[code] = width;
    fixedLengthOf[code] = fixed(code);
  }
}
const none = () => 0;
define(0x00, 0x7f, isComplete, 0, none);
define(0x80, 0x8f, isMap, 0, (code) => code & 0x0f);
define(0x90, 0x9f, isList, 0, (code) => code & 0x0f);
define(0xa0, 0xbf, isText, 0, (code) => code & 0x1f);
define(0xc0, 0xc3, isComplete, 0, none);
define(0xc1, 0xc1, isInvalid, 0, none);
for (const [index, width] of [1, 2, 4].entries()) {
  define(0xc4 + index, 0xc4 + index, isBytes, width, none);
  define(0xc7 + index, 0xc7 + index, isExt, width, none);
  define(0xd9 + index, 0xd9 + index, isText, width, none);
}
define(0xca, 0xca, isComplete, 0, () => 4);
define(0xcb, 0xcb, isComplete, 0, () => 8);
define(0xcc, 0xcf, isComplete, 0, (code) => 1 << (code - 0xcc));
define(0xd0, 0xd3, isComplete, 0, (code) => 1 << (code - 0xd0));
define(0xd4, 0xd8, isComplete, 0, (code) => 1 + (1 << (code - 0xd4)));
define(0xdc, 0xdc, isList, 2, none);
define(0xdd, 0xdd, isList, 4, none);
define(0xde, 0xde, isMap, 2, none);
define(0xdf, 0xdf, isMap, 4, none);
define(0xe0, 0xff, isComplete, 0, none);

/** Remaining elements at each level of nesting. All walks share it, because a walk never yields. */
const pendingAt: number[] = new Array(nestingDepthMax + 1).fill(0);

function malformed(offset: number): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", "a byte that starts no value", { position: offset });
}

function truncated(): SaltworksError {
  return new SaltworksError("WIRE_TRUNCATED", "bytes end inside a value");
}

function lengthAt(bytes: Uint8Array, offset: number, width: number): number {
  const first = bytes[offset] ?? 0;
  if (width === 1) return first;
  const second = first * 256 + (bytes[offset + 1] ?? 0);
  if (width === 2) return second;
  return second * 65_536 + (bytes[offset + 2] ?? 0) * 256 + (bytes[offset + 3] ?? 0);
}

/**
 * The offset after the value at `offset`, or -1 while the bytes end inside it.
 *
 * @throws SaltworksError WIRE_TOO_DEEP, WIRE_MALFORMED
 */
export function skipValue(bytes: Uint8Array, offset: number): number {
  return walk(bytes, offset, undefined, anyNumber);
}

/**
 * As `skipWhole`, for bytes of an unverified sender: gives up after `valuesMax` values of any size.
 *
 * @returns -1 if the value holds more
 * @throws SaltworksError WIRE_TRUNCATED, WIRE_TOO_DEEP, WIRE_MALFORMED
 */
export function skipWithin(bytes: Uint8Array, offset: number, valuesMax: number): number {
  const flatEnd = endOfFlat(bytes, offset);
  if (flatEnd > 0) return flatEnd;
  const end = walk(bytes, offset, undefined, valuesMax);
  if (end === cutShort) throw truncated();
  return end === overBudget ? -1 : end;
}

/** No bound: a request has fewer bytes (2,000 MiB at most). Fits a small integer, in which V8 counts cheaply. */
const anyNumber = 0x7fff_ffff;
/** Results of `walk` other than an end: the bytes end inside the value, or it holds too many values. */
const cutShort = -1;
const overBudget = -2;

function walk(bytes: Uint8Array, offset: number, edits: Edit[] | undefined, valuesMax: number): number {
  let left = valuesMax;
  let depth = 0;
  let position = offset;
  pendingAt[0] = 1;
  for (;;) {
    let pending = pendingAt[depth] ?? 0;
    while (pending === 0) {
      if (depth === 0) return position;
      depth -= 1;
      pending = pendingAt[depth] ?? 0;
    }
    pendingAt[depth] = pending - 1;
    if (position >= bytes.length) return cutShort;
    left -= 1;
    if (left < 0) return overBudget;
    const start = position;
    const code = bytes[position] ?? 0;
    const kind = classOf[code] ?? isInvalid;
    const width = lengthWidthOf[code] ?? 0;
    position += 1 + width;
    if (position > bytes.length) return cutShort;
    const length = width === 0 ? (fixedLengthOf[code] ?? 0) : lengthAt(bytes, start + 1, width);
    if (kind < isList) {
      const end = position + length + (kind === isExt ? 1 : 0);
      if (end > bytes.length) return cutShort;
      if (edits !== undefined && kind === isText && !isTextAt(bytes, position, end)) {
        edits.push({ start, end: position, insert: binHead(length) });
      }
      position = end;
    } else if (kind === isInvalid) {
      throw malformed(start);
    } else {
      if (depth >= nestingDepthMax) {
        throw new SaltworksError("WIRE_TOO_DEEP", "value nested too deep", { max: nestingDepthMax });
      }
      depth += 1;
      pendingAt[depth] = kind === isMap ? length * 2 : length;
    }
  }
}

/** Whether the bytes between two offsets are valid UTF-8. */
function isTextAt(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start <= shortTextBytesMax) {
    let index = start;
    while (index < end && (bytes[index] ?? 0) < 0x80) index += 1;
    if (index === end) return true;
  }
  return isUtf8(bytes.subarray(start, end));
}

/** A value's kind. For text, bytes, lists and maps also the length in the header (`count`), and where the content starts. */
export type Head = {
  readonly kind: "map" | "list" | "text" | "bytes" | "other";
  readonly count: number;
  readonly start: number;
};

/** @throws SaltworksError WIRE_TRUNCATED while the header is incomplete */
export function headOf(bytes: Uint8Array, offset: number): Head {
  const code = bytes[offset] ?? 0xc1;
  const width = lengthWidthOf[code] ?? 0;
  const start = offset + 1 + width;
  if (start > bytes.length) throw truncated();
  const count = width === 0 ? (fixedLengthOf[code] ?? 0) : lengthAt(bytes, offset + 1, width);
  return { kind: kindNames[classOf[code] ?? isInvalid] ?? "other", count, start };
}

/** The count of entries of the map at `offset`, and where its first key starts. */
export function mapHead(bytes: Uint8Array, offset: number): { count: number; start: number } {
  const head = headOf(bytes, offset);
  if (head.kind !== "map") throw new SaltworksError("WIRE_MALFORMED", "not a map", { position: offset });
  if (head.count * 2 > bytes.length - head.start) throw truncated();
  return head;
}

/** Where the bytes of the string (raw, str or bin) at `offset` start, or -1 if the value there is not a string. It must be whole. */
export function stringStart(bytes: Uint8Array, offset: number): number {
  const code = bytes[offset] ?? 0;
  const kind = classOf[code];
  return kind === isText || kind === isBytes ? offset + 1 + (lengthWidthOf[code] ?? 0) : -1;
}

/**
 * The entries of the map that fills `bytes` to the end. A map of more than `countMax` is refused from its
 * header, because each entry becomes an object.
 *
 * @throws SaltworksError WIRE_MALFORMED if it is not a map or bytes follow it, WIRE_TRUNCATED, WIRE_TOO_DEEP, WIRE_TOO_LARGE
 */
export function mapEntries(bytes: Uint8Array, countMax = mapEntriesMax): Entry[] {
  const { count, start } = mapHead(bytes, 0);
  if (count > countMax)
    throw new SaltworksError("WIRE_TOO_LARGE", "map with too many entries", { count, max: countMax });
  const entries: Entry[] = [];
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const keyStart = position;
    const keyEnd = skipWhole(bytes, keyStart);
    const valueEnd = skipWhole(bytes, keyEnd);
    entries.push({ keyStart, keyEnd, valueStart: keyEnd, valueEnd, key: keyOf(bytes, keyStart, keyEnd) });
    position = valueEnd;
  }
  if (position !== bytes.length) throw afterValue(bytes.length - position);
  return entries;
}

/** As `skipValue`, for bytes that must be whole: @throws WIRE_TRUNCATED */
export function skipWhole(bytes: Uint8Array, offset: number): number {
  const flatEnd = endOfFlat(bytes, offset);
  if (flatEnd > 0) return flatEnd;
  const end = walk(bytes, offset, undefined, anyNumber);
  if (end < 0) throw truncated();
  return end;
}

/** Where a whole value without children ends. Returns 0 for all others, which are left to `walk`. */
function endOfFlat(bytes: Uint8Array, offset: number): number {
  const code = bytes[offset] ?? 0xc1;
  const kind = classOf[code] ?? isInvalid;
  if (kind > isBytes) return 0;
  const width = lengthWidthOf[code] ?? 0;
  const start = offset + 1 + width;
  if (start > bytes.length) return 0;
  const end = start + (width === 0 ? (fixedLengthOf[code] ?? 0) : lengthAt(bytes, offset + 1, width));
  return end <= bytes.length ? end : 0;
}

export function afterValue(extra: number): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", "bytes after the value", { extra });
}

/** The text of the string value between two offsets; undefined if it is not a string or not UTF-8. */
export function textOf(bytes: Uint8Array, start: number, end: number): string | undefined {
  const bodyStart = stringStart(bytes, start);
  if (bodyStart < 0 || !isTextAt(bytes, bodyStart, end)) return undefined;
  return bufferOf(bytes).toString("utf8", bodyStart, end);
}

/** As `textOf`, for a map's key: a bin is a key of another type, even if its bytes spell the same text. */
export function keyOf(bytes: Uint8Array, start: number, end: number): string | undefined {
  const code = bytes[start] ?? 0;
  if (classOf[code] !== isText) return undefined;
  const bodyStart = start + 1 + (lengthWidthOf[code] ?? 0);
  const cached = end - bodyStart <= cachedKeyBytesMax ? cachedAsciiText(bytes, bodyStart, end) : undefined;
  return cached ?? textOf(bytes, start, end);
}

/** The same memory as a Buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Converts one raw-flavour value to the flavour of events and the store: UTF-8 strings are the same in both, other strings become bin.
 * Returns the same bytes, uncopied, if all strings are UTF-8.
 */
export function rawToBin(bytes: Uint8Array): Buffer {
  const edits = editsToBin(bytes);
  if (edits.length === 0) return bufferOf(bytes);
  const result = Buffer.allocUnsafeSlow(bytes.length + growthOf(edits));
  copyEdited(bytes, 0, edits, result, 0);
  return result;
}

/** Edits of that conversion: the header of each string that is not UTF-8 becomes one of bin. */
export function editsToBin(bytes: Uint8Array): Edit[] {
  const edits: Edit[] = [];
  const end = walk(bytes, 0, edits, anyNumber);
  if (end < 0) throw truncated();
  if (end !== bytes.length) throw afterValue(bytes.length - end);
  return edits;
}

function binHead(length: number): Uint8Array {
  if (length <= 0xff) return Uint8Array.of(0xc4, length);
  if (length <= 0xffff) return Uint8Array.of(0xc5, length >>> 8, length & 0xff);
  return Uint8Array.of(0xc6, length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff);
}
