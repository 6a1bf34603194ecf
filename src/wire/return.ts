/**
 * Turns an opened load into event data without decoding it: omits `tok` and `nonce`, sets `_stamp`, changes the strings' flavour, trims large values.
 * Source: docs/protocol.md sections 9, 10.1 and 10.4. Pure: the time is an argument.
 */

import { isAscii } from "node:buffer";
import { hasCode } from "../errors.ts";
import { DecodeBudget } from "./decoder.ts";
import { copyEdited, type Edit, growthOf, nothing } from "./edit.ts";
import { decodeAt, encode } from "./msgpack.ts";
import { pickEntries } from "./pick.ts";
import type { Value } from "./values.ts";
import { type Entry, editsToBin, headOf, mapHead, skipWhole, textOf } from "./walk.ts";

/**
 * `data`: the event's data and the stored body, yet to be written. `retcode`: 0 if it is absent, or a map because the job has several functions.
 * `hasTarget`: the load names `tgt`, as `salt-call` does.
 */
export type ReturnHead = {
  readonly jid: string;
  readonly retcode: number;
  readonly hasTarget: boolean;
  readonly data: EventData;
};

/** A load as event data of `bytes` in the bin flavour, to be written by `writeEventData`. */
export type EventData = {
  readonly bytes: number;
  readonly load: Uint8Array;
  readonly contentStart: number;
  readonly entryCount: number;
  readonly edits: readonly Edit[];
  /** The appended `_stamp`. A replaced one is among the edits. */
  readonly stamp: Uint8Array | undefined;
};

const stampKey = encode("_stamp", "bin");

/**
 * A `_return` load's head and event data. `entries` are those of `load`, from `mapEntries`.
 *
 * @returns undefined for a load without a textual jid or without a return
 */
export function readReturn(load: Uint8Array, entries: readonly Entry[], stamp: string): ReturnHead | undefined {
  let jid: string | undefined;
  let retcode = 0;
  let hasTarget = false;
  let hasReturn = false;
  for (const entry of entries) {
    switch (entry.key) {
      case "jid":
        jid = textOf(load, entry.valueStart, entry.valueEnd);
        break;
      case "retcode":
        retcode = intAt(load, entry.valueStart) ?? 0;
        break;
      case "tgt":
        hasTarget = true;
        break;
      case "return":
        hasReturn = true;
        break;
    }
  }
  if (jid === undefined || !hasReturn) return undefined;
  return { jid, retcode, hasTarget, data: planEventData(load, entries, stamp) };
}

/** A small int is one byte; other values are rare, and are decoded, but for lists and maps. */
function intAt(load: Uint8Array, offset: number): number | undefined {
  const code = load[offset] ?? 0xc0;
  if (code <= 0x7f) return code;
  if (headOf(load, offset).kind !== "other") return undefined;
  const { value } = decodeAt(load, offset);
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

/** Any load as event data. As in Salt the master's time replaces an existing `_stamp`, and is appended otherwise. */
export function loadAsEventData(load: Uint8Array, entries: readonly Entry[], stamp: string): Buffer {
  return eventDataBytes(planEventData(load, entries, stamp));
}

/** The data in newly allocated memory. */
export function eventDataBytes(data: EventData): Buffer {
  const bytes = Buffer.allocUnsafeSlow(data.bytes);
  writeEventData(data, bytes, 0);
  return bytes;
}

function planEventData(load: Uint8Array, entries: readonly Entry[], stamp: string): EventData {
  const stampBytes = packedStamp(stamp);
  const cuts: Edit[] = [];
  let count = entries.length;
  let hasStamp = false;
  for (const entry of entries) {
    // Token and nonce belong to the request, not to the event.
    if (entry.key === "tok" || entry.key === "nonce") {
      cuts.push({ start: entry.keyStart, end: entry.valueEnd, insert: nothing });
      count -= 1;
    } else if (entry.key === "_stamp") {
      cuts.push({ start: entry.valueStart, end: entry.valueEnd, insert: stampBytes });
      hasStamp = true;
    }
  }
  const edits = merge(cuts, editsToBin(load));
  const { start } = mapHead(load, 0);
  const tailBytes = hasStamp ? 0 : stampKey.length + stampBytes.length;
  const entryCount = hasStamp ? count : count + 1;
  const bytes = mapHeadBytes(entryCount) + load.length - start + growthOf(edits) + tailBytes;
  return { bytes, load, contentStart: start, entryCount, edits, stamp: hasStamp ? undefined : stampBytes };
}

/** The highest of a return's codes: a job of several functions has one for each. Returns 0 for a value that is not a code. */
export function highestRetcode(retcode: Value | undefined): number {
  if (!(retcode instanceof Map)) return typeof retcode === "number" ? retcode : 0;
  let highest = 0;
  for (const code of retcode.values()) highest = Math.max(highest, highestRetcode(code));
  return highest;
}

const retcodeOnly: ReadonlySet<string> = new Set(["retcode"]);

/** The highest code of a stored return; 1 for codes that exceed the bounds of a minion's request. */
export function retcodeIn(body: Uint8Array): number {
  try {
    return highestRetcode(pickEntries(body, retcodeOnly, DecodeBudget.ofRequest()).get("retcode"));
  } catch (error) {
    if (!hasCode(error, "WIRE_TOO_LARGE")) throw error;
    return 1;
  }
}

/** Writes `data.bytes` into `target` from `start` on. */
export function writeEventData(data: EventData, target: Buffer, start: number): void {
  let at = writeMapHead(target, start, data.entryCount);
  at = copyEdited(data.load, data.contentStart, data.edits, target, at);
  if (data.stamp === undefined) return;
  at += stampKey.copy(target, at);
  target.set(data.stamp, at);
}

let lastStamp = "";
let lastStampBytes = Buffer.alloc(0);

/** Caches the last stamp: all returns of a batch carry the same time. */
function packedStamp(stamp: string): Buffer {
  if (stamp !== lastStamp || lastStampBytes.length === 0) {
    lastStamp = stamp;
    lastStampBytes = Buffer.from(encode(stamp, "bin"));
  }
  return lastStampBytes;
}

/** All cuts (trimmed values), and the edits outside of them, ascending. */
function merge(cuts: readonly Edit[], edits: readonly Edit[]): Edit[] {
  const merged: Edit[] = [];
  let next = 0;
  for (const cut of cuts) {
    for (let edit = edits[next]; edit !== undefined && edit.start < cut.end; edit = edits[next]) {
      if (edit.start < cut.start) merged.push(edit);
      next += 1;
    }
    merged.push(cut);
  }
  for (; next < edits.length; next += 1) merged.push(edits[next] as Edit);
  return merged;
}

function mapHeadBytes(count: number): number {
  return count <= 15 ? 1 : count <= 0xffff ? 3 : 5;
}

function writeMapHead(target: Buffer, at: number, count: number): number {
  if (count <= 15) return target.writeUInt8(0x80 | count, at);
  target[at] = count <= 0xffff ? 0xde : 0xdf;
  return count <= 0xffff ? target.writeUInt16BE(count, at + 1) : target.writeUInt32BE(count, at + 1);
}

/** Replaces a value that is too large for an event. */
export const trimmedText = "VALUE_TRIMMED";
const trimmedValue = encode(trimmedText, "bin");
/** Salt trims values over half of the maximum first, then over 40 %, and so on down to a tenth. */
const trimShares = [0.5, 0.4, 0.3, 0.2, 0.1];
/** Overhead of a Python bytes object: Salt measures packed data as such an object. */
const bytesObjectBytes = 33;

/** The edit that trims a value that is not a map. `size`: bytes of the value in Python; `laterSize`: after Python has packed it once. */
type Leaf = Edit & { readonly size: number; readonly laterSize: number };

/**
 * Replaces the largest values of an event's data, a packed map over `maxBytes`, as Salt does: values of maps at any depth, never parts of a list.
 * Data that is large in another way stays as it is. Returns the same data if nothing needs trimming.
 */
export function trimData<Data extends Uint8Array>(data: Data, maxBytes: number): Data | Buffer {
  if (data.length + bytesObjectBytes <= maxBytes) return data;
  // This walk throws for data nested too deep, before the recursion below.
  skipWhole(data, 0);
  const leaves: Leaf[] = [];
  collectLeaves(data, 0, maxBytes * Math.min(...trimShares), leaves);
  for (const share of trimShares) {
    const isFirst = share === trimShares[0];
    const edits = leaves.filter((leaf) => (isFirst ? leaf.size : leaf.laterSize) > maxBytes * share);
    const length = data.length + growthOf(edits);
    if (share !== trimShares.at(-1) && length + bytesObjectBytes >= maxBytes) continue;
    const trimmed = Buffer.allocUnsafeSlow(length);
    copyEdited(data, 0, edits, trimmed, 0);
    return trimmed;
  }
  return data;
}

/** Collects the leaves over `sizeMin` of the map at `offset`, in order. @returns where the map ends */
function collectLeaves(data: Uint8Array, offset: number, sizeMin: number, leaves: Leaf[]): number {
  const { count, start } = mapHead(data, offset);
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const valueStart = skipWhole(data, position);
    const head = headOf(data, valueStart);
    if (head.kind === "map") {
      position = collectLeaves(data, valueStart, sizeMin, leaves);
      continue;
    }
    position = skipWhole(data, valueStart);
    const { size, laterSize } = pythonSize(data, valueStart, position);
    if (laterSize > sizeMin) leaves.push({ start: valueStart, end: position, insert: trimmedValue, size, laterSize });
  }
  return position;
}

/** The result of CPython 3.11's getsizeof: for a list only its slots, for text by its widest character. */
function pythonSize(data: Uint8Array, start: number, end: number): { size: number; laterSize: number } {
  const head = headOf(data, start);
  if (head.kind === "text") return textSize(data, head.start, end);
  const size = head.kind === "list" ? 56 + 8 * head.count : head.kind === "bytes" ? bytesObjectBytes + head.count : 28;
  return { size, laterSize: size };
}

/** Once Python has packed a non-ASCII text, the object also holds its UTF-8 and a NUL. They count from the second pass on. */
function textSize(data: Uint8Array, start: number, end: number): { size: number; laterSize: number } {
  // A megabyte takes 0.02 ms so, and a millisecond and more in the loop.
  if (isAscii(data.subarray(start, end))) return { size: 49 + end - start, laterSize: 49 + end - start };
  let widest = 0;
  let characters = 0;
  for (let index = start; index < end; index += 1) {
    const byte = data[index] ?? 0;
    if ((byte & 0xc0) !== 0x80) characters += 1;
    if (byte > widest) widest = byte;
  }
  const size = widest < 0xc4 ? 73 + characters : widest < 0xf0 ? 74 + 2 * characters : 76 + 4 * characters;
  return { size, laterSize: size + end - start + 1 };
}
