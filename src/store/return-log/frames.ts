/**
 * Frames of the job cache's log: one per batch of returns. Each starts at a block. Hash, generation and serial tell it from torn and older frames.
 * docs/decisions/0006-job-cache-writes.md, 0024-damaged-stores.md. Pure.
 *
 * Frame: u32 magic, u32 joined from the hashes of the values and the head, u32 bytes of the frame, u32 number of entries, u48 generation, u32 serial
 * in the generation, u32 hash of the head's bytes 8 to 25, 2 zero bytes; per entry u16 bytes of the key, u32 bytes of the value, key, value. All are
 * big-endian. A value is a body with its own hash, as in the store. Frames of the former format are still read: their bodies and head have no hash,
 * and the second u32 is a CRC-32 of all bytes behind it.
 */
import { crc32 } from "node:zlib";
import { checkBytes, checkedValue, checkOf, hashIn, openValue, writeCheck } from "../disk/checked-value.ts";

/** Frames share no block: a disk writes whole blocks, so a frame would rewrite acknowledged bytes of its predecessor. */
export const blockBytes = 4_096;
const formerMagic = 0x53_57_52_31;
const magic = 0x53_57_52_32;
const headerBytes = 32;
const checkedFrom = 8;
const generationBytes = 6;
const headHashAt = 26;
const entryHeaderBytes = 6;
/** Most bytes that one UTF-16 unit takes in UTF-8. */
const unitBytesMax = 3;
/** Bytes that a key adds to job id and minion id: a letter and a NUL. */
const keyMarkBytes = 2;

export type FrameName = { readonly generation: number; readonly serial: number };
export type LoggedReturn = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };
/** Key and value in the form of the store, mostly as views into the log's bytes. */
export type LoggedEntry = { readonly key: Buffer; readonly value: Buffer };

/** The body of a whole entry. `decodeFrame` and `wholeEntriesIn` give only whole entries. */
export function bodyIn({ value }: LoggedEntry): Buffer {
  return value.subarray(checkBytes);
}

export function blocksFor(bytes: number): number {
  return Math.ceil(bytes / blockBytes) * blockBytes;
}

/** Upper bound of the bytes of a frame of these returns. */
export function frameBytesMax(records: readonly LoggedReturn[]): number {
  let bytes = headerBytes;
  for (const { jid, minionId, body } of records) {
    bytes += entryHeaderBytes + (jid.length + minionId.length) * unitBytesMax + keyMarkBytes;
    bytes += checkBytes + body.byteLength;
  }
  return blocksFor(bytes);
}

/**
 * Writes a frame into `image` at `start`, which must have room for `frameBytesMax`. `keyPrefix` gives the part of a key before the minion id.
 * Appends the start of each entry to `entryStarts`.
 *
 * @returns the end of the frame
 */
export function encodeFrame(
  image: Buffer,
  start: number,
  records: readonly LoggedReturn[],
  { generation, serial }: FrameName,
  keyPrefix: (jid: string) => string,
  entryStarts: number[],
): number {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  image.writeUInt32BE(magic, start);
  image.writeUInt32BE(records.length, start + 12);
  image.writeUIntBE(generation, start + 16, generationBytes);
  image.writeUInt32BE(serial, start + 22);
  let hash = 0;
  let at = start + headerBytes;
  for (const { jid, minionId, body } of records) {
    entryStarts.push(at);
    const keyStart = at + entryHeaderBytes;
    const keyEnd = keyStart + image.write(keyPrefix(jid) + minionId, keyStart, "utf8");
    view.setUint16(at, keyEnd - keyStart);
    view.setUint32(at + 2, checkBytes + body.byteLength);
    image.set(body, keyEnd + checkBytes);
    at = keyEnd + checkBytes + body.byteLength;
    hash = joined(hash, writeCheck(view, keyStart, keyEnd, keyEnd, at));
  }
  image.writeUInt32BE(at - start, start + 8);
  const ofHead = headHash(image.subarray(start, start + headerBytes));
  image.writeUInt32BE(ofHead, start + headHashAt);
  image.writeUInt16BE(0, start + headHashAt + 4);
  view.setInt32(start + 4, joined(hash, ofHead));
  return at;
}

/** The generation of a new log. */
export const firstGeneration = 1;

/** The first block of an empty log: a frame without entries. Frames behind it are of older generations. A first block of zeros is damage. */
export function emptyMark(generation: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  encodeFrame(block, 0, [], { generation, serial: 0 }, String, []);
  return block;
}

/** Joins a value's hash into the frame's hash, which then detects an entry of another frame. No body is hashed twice. */
function joined(hash: number, next: number): number {
  return (Math.imul((hash << 9) | (hash >>> 23), 0x01000193) ^ next) | 0;
}

function headHash(head: Buffer): number {
  return checkOf(head.subarray(checkedFrom, headHashAt));
}

export function entryAt(image: Buffer, start: number): LoggedEntry {
  const keyStart = start + entryHeaderBytes;
  const valueStart = keyStart + image.readUInt16BE(start);
  return {
    key: image.subarray(keyStart, valueStart),
    value: image.subarray(valueStart, valueStart + image.readUInt32BE(start + 2)),
  };
}

/** Bytes of the frame whose first block is `block`; undefined if no frame starts there. */
export function frameBytesIn(block: Buffer): number | undefined {
  if (block.byteLength < headerBytes) return undefined;
  const found = block.readUInt32BE(0);
  if (found !== magic && found !== formerMagic) return undefined;
  const bytes = block.readUInt32BE(8);
  return bytes < headerBytes ? undefined : bytes;
}

/** Decodes a whole frame. Undefined if it is torn or damaged, or changed while it was read. */
export function decodeFrame(frame: Buffer): { readonly name: FrameName; readonly entries: LoggedEntry[] } | undefined {
  if (frameBytesIn(frame) !== frame.byteLength) return undefined;
  if (frame.readUInt32BE(0) === formerMagic) return decodeFormer(frame);
  const head = decodeHead(frame);
  if (head === undefined) return undefined;
  const entries = wholeEntriesIn(frame, head.entryCount);
  if (entries.length !== head.entryCount) return undefined;
  let hash = 0;
  for (const { value } of entries) hash = joined(hash, hashIn(value));
  return joined(hash, headHash(frame)) === frame.readInt32BE(4) ? { name: head.name, entries } : undefined;
}

function decodeFormer(frame: Buffer): { readonly name: FrameName; readonly entries: LoggedEntry[] } | undefined {
  if (crc32(frame.subarray(checkedFrom)) !== frame.readUInt32BE(4)) return undefined;
  const entries: LoggedEntry[] = [];
  let at = headerBytes;
  for (let count = frame.readUInt32BE(12); count > 0; count -= 1) {
    const { key, value } = entryAt(frame, at);
    entries.push({ key, value: checkedValue(key, value) });
    at += entryHeaderBytes + key.byteLength + value.byteLength;
  }
  return { name: nameIn(frame), entries };
}

function nameIn(head: Buffer): FrameName {
  return { generation: head.readUIntBE(16, generationBytes), serial: head.readUInt32BE(22) };
}

/** The fields of a frame's whole head. The entries behind it may be damaged. */
export type FrameHead = { readonly name: FrameName; readonly bytes: number; readonly entryCount: number };

export function decodeHead(block: Buffer): FrameHead | undefined {
  const bytes = frameBytesIn(block);
  if (bytes === undefined || block.readUInt32BE(0) !== magic) return undefined;
  if (headHash(block) !== block.readUInt32BE(headHashAt) || block.readUInt16BE(headHashAt + 4) !== 0) return undefined;
  return { name: nameIn(block), bytes, entryCount: block.readUInt32BE(12) };
}

/** The whole entries of a damaged or torn frame. A damaged length ends the search, because it no longer leads to the next entry. */
export function wholeEntriesIn(frame: Buffer, entryCount: number): LoggedEntry[] {
  const found: LoggedEntry[] = [];
  let at = headerBytes;
  for (let count = 0; count < entryCount && at + entryHeaderBytes <= frame.byteLength; count += 1) {
    const { key, value } = entryAt(frame, at);
    at += entryHeaderBytes + frame.readUInt16BE(at) + frame.readUInt32BE(at + 2);
    if (at <= frame.byteLength && value.byteLength >= checkBytes && openValue(key, value) !== undefined) {
      found.push({ key, value });
    }
  }
  return found;
}
