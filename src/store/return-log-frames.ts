/**
 * Frames of the job cache's log: one per batch of returns, each from a block of its own on, told apart from torn and older ones
 * by checksum, generation and serial. docs/decisions/0006-job-cache-writes.md. Pure.
 *
 * Frame: u32 magic, u32 CRC-32 of all that follows, u32 bytes of the frame, u32 entries, u48 generation, u32 serial in it, 6 spare bytes;
 * per entry u16 bytes of the key, u32 bytes of the body, key, body. Big-endian.
 */
import { crc32 } from "node:zlib";

/** A disk writes blocks: a frame that shared one with its predecessor would rewrite bytes that were acknowledged. */
export const blockBytes = 4_096;
const magic = 0x53_57_52_31;
const headerBytes = 32;
const checkedFrom = 8;
const generationBytes = 6;
const entryHeaderBytes = 6;
/** UTF-8 of one UTF-16 unit, at most. */
const unitBytesMax = 3;
/** What a key adds to job id and minion id: a letter and a NUL. */
const keyMarkBytes = 2;

export type FrameName = { readonly generation: number; readonly serial: number };
export type LoggedReturn = { readonly jid: string; readonly minionId: string; readonly body: Uint8Array };
/** Views into the log's bytes. */
export type LoggedEntry = { readonly key: Buffer; readonly body: Buffer };

export function blocksFor(bytes: number): number {
  return Math.ceil(bytes / blockBytes) * blockBytes;
}

/** No frame of these returns is longer. */
export function frameBytesMax(records: readonly LoggedReturn[]): number {
  let bytes = headerBytes;
  for (const { jid, minionId, body } of records) {
    bytes += entryHeaderBytes + (jid.length + minionId.length) * unitBytesMax + keyMarkBytes + body.byteLength;
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
  let at = start + headerBytes;
  for (const { jid, minionId, body } of records) {
    entryStarts.push(at);
    const keyBytes = image.write(keyPrefix(jid) + minionId, at + entryHeaderBytes, "utf8");
    image.writeUInt16BE(keyBytes, at);
    image.writeUInt32BE(body.byteLength, at + 2);
    at += entryHeaderBytes + keyBytes;
    image.set(body, at);
    at += body.byteLength;
  }
  image.writeUInt32BE(magic, start);
  image.writeUInt32BE(at - start, start + 8);
  image.writeUInt32BE(records.length, start + 12);
  image.writeUIntBE(generation, start + 16, generationBytes);
  image.writeUInt32BE(serial, start + 22);
  image.writeUInt32BE(crc32(image.subarray(start + checkedFrom, at)), start + 4);
  return at;
}

export function entryAt(image: Buffer, start: number): LoggedEntry {
  const keyStart = start + entryHeaderBytes;
  const bodyStart = keyStart + image.readUInt16BE(start);
  return {
    key: image.subarray(keyStart, bodyStart),
    body: image.subarray(bodyStart, bodyStart + image.readUInt32BE(start + 2)),
  };
}

/** Bytes of the frame whose first block is `block`; undefined if none starts there. */
export function frameBytesIn(block: Buffer): number | undefined {
  if (block.byteLength < headerBytes || block.readUInt32BE(0) !== magic) return undefined;
  const bytes = block.readUInt32BE(8);
  return bytes < headerBytes ? undefined : bytes;
}

/** A whole frame; undefined if it was torn, or changed while it was read. */
export function decodeFrame(frame: Buffer): { readonly name: FrameName; readonly entries: LoggedEntry[] } | undefined {
  if (frameBytesIn(frame) !== frame.byteLength) return undefined;
  if (crc32(frame.subarray(checkedFrom)) !== frame.readUInt32BE(4)) return undefined;
  const entries: LoggedEntry[] = [];
  let at = headerBytes;
  for (let count = frame.readUInt32BE(12); count > 0; count -= 1) {
    const entry = entryAt(frame, at);
    entries.push(entry);
    at += entryHeaderBytes + entry.key.byteLength + entry.body.byteLength;
  }
  return { name: { generation: frame.readUIntBE(16, generationBytes), serial: frame.readUInt32BE(22) }, entries };
}
