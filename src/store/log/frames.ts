/**
 * Frames of the job cache's log: one per batch of returns, each from a block of its own on, told apart from torn and older ones
 * by checksum, generation and serial. docs/decisions/0006-job-cache-writes.md, 0024-damaged-stores.md. Pure.
 *
 * Frame: u32 magic, u32 made of the hashes of head and values in their order, u32 bytes of the frame, u32 entries, u48 generation, u32 serial in it, u32 hash of
 * this head behind its first 8 bytes, 2 spare bytes; per entry u16 bytes of the key, u32 bytes of the value, key, value. Big-endian.
 * A value is a body with its own hash, as in the store. The form before, still read, has bodies without, no hash of the head, and a CRC-32 of all that follows it.
 */
import { crc32 } from "node:zlib";
import { checkBytes, checkedValue, checkOf, hashIn, openValue, writeCheck } from "../disk/checked-value.ts";

/** A disk writes blocks: a frame that shared one with its predecessor would rewrite bytes that were acknowledged. */
export const blockBytes = 4_096;
const formerMagic = 0x53_57_52_31;
const magic = 0x53_57_52_32;
const headerBytes = 32;
const checkedFrom = 8;
const generationBytes = 6;
const headHashAt = 26;
const entryHeaderBytes = 6;
/** UTF-8 of one UTF-16 unit, at most. */
const unitBytesMax = 3;
/** What a key adds to job id and minion id: a letter and a NUL. */
const keyMarkBytes = 2;

export type FrameName = { readonly generation: number; readonly serial: number };
export type LoggedReturn = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };
/** As the store takes them. Views into the log's bytes, mostly. */
export type LoggedEntry = { readonly key: Buffer; readonly value: Buffer };

/** The body of a whole entry. `decodeFrame` and `wholeEntriesIn` give only whole entries. */
export function bodyIn({ value }: LoggedEntry): Buffer {
  return value.subarray(checkBytes);
}

export function blocksFor(bytes: number): number {
  return Math.ceil(bytes / blockBytes) * blockBytes;
}

/** No frame of these returns is longer. */
export function frameBytesMax(records: readonly LoggedReturn[]): number {
  let bytes = headerBytes;
  for (const { jid, minionId, body } of records) {
    bytes += entryHeaderBytes + (jid.length + minionId.length) * unitBytesMax + keyMarkBytes;
    bytes += checkBytes + body.byteLength;
  }
  return blocksFor(bytes);
}

/**
 * Writes a frame into `image` at `start`, where `frameBytesMax` must have room. `keyPrefix` is what stands before the minion id.
 *
 * @returns where the frame ends; where each entry starts is appended to `entryStarts`
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

/** Of a new log. */
export const firstGeneration = 1;

/** The first block of a log in which nothing waits: a frame of no entries, so that zeros there are none. What stands behind is older. */
export function emptyMark(generation: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  encodeFrame(block, 0, [], { generation, serial: 0 }, String, []);
  return block;
}

/** Joins the hashes of a frame's values into the frame's own, so that a record of another frame does not pass in it. No body is hashed twice. */
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

/** Bytes of the frame whose first block is `block`; undefined if none starts there. */
export function frameBytesIn(block: Buffer): number | undefined {
  if (block.byteLength < headerBytes) return undefined;
  const found = block.readUInt32BE(0);
  if (found !== magic && found !== formerMagic) return undefined;
  const bytes = block.readUInt32BE(8);
  return bytes < headerBytes ? undefined : bytes;
}

/** A whole frame; undefined if it was torn, or changed while it was read. */
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

/** What a whole head says of its frame. The entries behind it may be damaged. */
export type FrameHead = { readonly name: FrameName; readonly bytes: number; readonly entryCount: number };

export function decodeHead(block: Buffer): FrameHead | undefined {
  const bytes = frameBytesIn(block);
  if (bytes === undefined || block.readUInt32BE(0) !== magic) return undefined;
  if (headHash(block) !== block.readUInt32BE(headHashAt) || block.readUInt16BE(headHashAt + 4) !== 0) return undefined;
  return { name: nameIn(block), bytes, entryCount: block.readUInt32BE(12) };
}

/** The whole entries of a damaged or torn frame. The walk ends where an entry's length no longer leads to the next. */
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
