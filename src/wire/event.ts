/**
 * Event bodies (tag, two line feeds, data) and their frames on the IPC bus.
 * Source: docs/protocol.md sections 10.1 and 10.2. Pure: no I/O, no clock, no randomness.
 */
import { isUtf8 } from "node:buffer";
import { SaltworksError } from "../errors.ts";
import { ipcFrameBytesMax, ipcHeadBytesMax } from "../limits.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { decode, encode } from "./msgpack.ts";
import type { Encodable, ValueMap } from "./values.ts";
import { bufferOf, keyOf, skipValue, stringStart } from "./walk.ts";

const separator = Buffer.from("\n\n");
/** Tag of the event by which one of our own programs learns that its bus dropped events for it; `count` in the data. The bus marks it as the master's. */
export const lostEventsTag = "saltworks/events/lost";

export function encodeEvent(tag: string, data: Encodable): Buffer {
  return encodeEventBytes(tag, encode(data, "bin"));
}

/** `dataBytes`: a map in the bin flavour. */
export function encodeEventBytes(tag: string, dataBytes: Uint8Array): Buffer {
  const tagBytes = Buffer.byteLength(tag);
  const body = Buffer.allocUnsafeSlow(tagBytes + separator.length + dataBytes.length);
  body.write(tag, 0, tagBytes, "utf8");
  separator.copy(body, tagBytes);
  body.set(dataBytes, tagBytes + separator.length);
  return body;
}

/** Tag and data of a body; `data` is a view. @throws SaltworksError WIRE_MALFORMED without a separator or with a tag that is not UTF-8 */
export function splitEvent(body: Uint8Array): { tag: string; data: Uint8Array } {
  const bytes = bufferOf(body);
  const tagEnd = bytes.indexOf(separator);
  if (tagEnd < 0 || !isUtf8(bytes.subarray(0, tagEnd))) {
    throw new SaltworksError("WIRE_MALFORMED", "an event without tag and separator");
  }
  return { tag: bytes.toString("utf8", 0, tagEnd), data: body.subarray(tagEnd + separator.length) };
}

/** @throws SaltworksError WIRE_MALFORMED for data that is not a map, and what `decode` throws */
export function decodeEvent(body: Uint8Array): { tag: string; data: ValueMap } {
  const { tag, data } = splitEvent(body);
  const value = decode(data);
  if (!(value instanceof Map)) throw new SaltworksError("WIRE_MALFORMED", "event data that is not a map");
  return { tag, data: value };
}

/** Offset of the value of `head` in a frame that this file writes. */
export const headValueAt = 6;
/**
 * `{master: true}`: the value of `head` that marks the master's own events for our programs. Minions send
 * bodies, never heads, so they cannot forge it.
 */
export const masterMark = Buffer.from("81a66d6173746572c3", "hex");
/** `{head: {}, body: ` in msgpack: what precedes the body in a frame of Salt's. */
const plainHead = Buffer.from("82a46865616480a4626f6479", "hex");
const masterHead = Buffer.concat([plainHead.subarray(0, headValueAt), masterMark, plainHead.subarray(headValueAt + 1)]);
const emptyMapByte = 0x80;

/** Whether the frame at `start`, one that this file wrote, bears the mark of the master's own events. */
export function isMastersAt(frames: Uint8Array, start: number): boolean {
  return frames[start + headValueAt] !== emptyMapByte;
}

/** Number of bytes before the body's length in the frame at `start`, one that this file wrote. */
export function headBytesAt(frames: Uint8Array, start: number): number {
  return isMastersAt(frames, start) ? masterHead.length : plainHead.length;
}

function frameHeadBytes(head: Buffer, bodyBytes: number): number {
  return head.length + (bodyBytes <= 0xff ? 2 : bodyBytes <= 0xffff ? 3 : 5);
}

/** Writes the body as bin: as text it crashes subscribers of Salt 3006 and older. @returns where the body starts */
function writeFrameHead(target: Buffer, start: number, head: Buffer, bodyBytes: number): number {
  head.copy(target, start);
  const at = start + head.length;
  if (bodyBytes <= 0xff) {
    target[at] = 0xc4;
    target[at + 1] = bodyBytes;
    return at + 2;
  }
  if (bodyBytes <= 0xffff) {
    target[at] = 0xc5;
    return target.writeUInt16BE(bodyBytes, at + 1);
  }
  target[at] = 0xc6;
  return target.writeUInt32BE(bodyBytes, at + 1);
}

/** The frame of an event that a minion, a local program or an operator fired. */
export function frameEvent(body: Uint8Array): Buffer {
  return frameWith(plainHead, body);
}

/** The frame of an event that the master vouches for. */
export function frameMasterEvent(body: Uint8Array): Buffer {
  return frameWith(masterHead, body);
}

function frameWith(head: Buffer, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafeSlow(frameHeadBytes(head, body.length) + body.length);
  frame.set(body, writeFrameHead(frame, 0, head, body.length));
  return frame;
}

/** Size of an event's body whose data has `dataBytes`. */
export function eventBodyBytes(tag: string, dataBytes: number): number {
  return Buffer.byteLength(tag) + separator.length + dataBytes;
}

/** Begins the frame of an event that the master vouches for. The caller writes `dataBytes` of data at the returned offset. */
export function beginEventFrame(writer: ByteWriter, tag: string, dataBytes: number): number {
  const bodyBytes = eventBodyBytes(tag, dataBytes);
  const tagBytes = bodyBytes - separator.length - dataBytes;
  const start = writer.reserve(frameHeadBytes(masterHead, bodyBytes) + bodyBytes);
  const tagStart = writeFrameHead(writer.bytes, start, masterHead, bodyBytes);
  writer.bytes.write(tag, tagStart, tagBytes, "utf8");
  separator.copy(writer.bytes, tagStart + tagBytes);
  return tagStart + tagBytes + separator.length;
}

/** Tag and start of the data of the frame at `start`, one that this file wrote. */
export function tagIn(bytes: Buffer, start: number): { readonly tag: string; readonly dataStart: number } {
  const codeAt = start + headBytesAt(bytes, start);
  const code = bytes[codeAt] ?? 0;
  const lengthBytes = code === 0xc4 ? 1 : code === 0xc5 ? 2 : 4;
  const tagStart = codeAt + 1 + lengthBytes;
  const tagEnd = bytes.indexOf(separator, tagStart);
  return { tag: bytes.toString("utf8", tagStart, tagEnd), dataStart: tagEnd + separator.length };
}

const pendingBytesMin = 4_096;

/** A received event. `isMasters`: its frame bears the mark of the master's own events. */
export type EventFrame = { readonly body: Uint8Array; readonly isMasters: boolean };
type ReadFrame = EventFrame & { readonly bytes: number };

/**
 * Cuts a byte stream into frames, each with or without its length before it (event-framing.ts). Takes the stream in pieces of any size. Close the
 * stream after an error, because the start of the next frame is then unknown.
 *
 * Bodies are views into the chunk that held them whole, or into memory of their own: they stay valid.
 */
export class FrameReader {
  readonly #frameBytesMax: number;
  #pending: Buffer = Buffer.alloc(0);
  #pendingEnd = 0;

  constructor(frameBytesMax: number = ipcFrameBytesMax) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** The bodies of the frames. @throws as `frames` */
  push(chunk: Uint8Array): Uint8Array[] {
    return this.frames(chunk).map(({ body }) => body);
  }

  /** @throws SaltworksError WIRE_TOO_LARGE as soon as a frame announces more than its maximum, WIRE_MALFORMED, WIRE_TOO_DEEP */
  frames(chunk: Uint8Array): EventFrame[] {
    const bytes = this.#pendingEnd === 0 ? chunk : this.#append(chunk);
    const frames: EventFrame[] = [];
    let position = 0;
    while (position < bytes.length) {
      const frame = readFrame(bytes.subarray(position), this.#frameBytesMax);
      if (frame === undefined) break;
      frames.push(frame);
      position += frame.bytes;
    }
    if (position > 0 || this.#pendingEnd === 0) this.#keep(bytes.subarray(position));
    return frames;
  }

  /** Grows the buffer with the bytes received, not with the announced size. */
  #append(chunk: Uint8Array): Uint8Array {
    const needed = this.#pendingEnd + chunk.length;
    if (needed > this.#pending.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#pending.length * 2, pendingBytesMin));
      this.#pending.copy(grown, 0, 0, this.#pendingEnd);
      this.#pending = grown;
    }
    this.#pending.set(chunk, this.#pendingEnd);
    this.#pendingEnd = needed;
    return this.#pending.subarray(0, needed);
  }

  /** Takes a new buffer each time: returned bodies may be views into the old one. */
  #keep(rest: Uint8Array): void {
    this.#pendingEnd = rest.length;
    this.#pending = Buffer.alloc(0);
    if (rest.length > 0) {
      this.#pending = Buffer.allocUnsafeSlow(Math.max(rest.length, pendingBytesMin));
      this.#pending.set(rest);
    }
  }
}

/** Largest first byte of a frame's length. Bytes between it and a small map cannot begin a frame. */
const lengthByteMax = 0x0f;
const lengthBytes = 4;

/** The frame at the start of `bytes`, with or without its length before it, or undefined while it is incomplete. */
function readFrame(bytes: Uint8Array, frameBytesMax: number): ReadFrame | undefined {
  if ((bytes[0] ?? 0) > lengthByteMax) return readMap(bytes, frameBytesMax);
  if (bytes.length < lengthBytes) return undefined;
  const length = bufferOf(bytes).readUInt32BE(0);
  if (length > frameBytesMax + ipcHeadBytesMax) {
    throw new SaltworksError("WIRE_TOO_LARGE", `event frame of ${length} bytes`, { size: length, max: frameBytesMax });
  }
  const end = lengthBytes + length;
  if (bytes.length < end) return undefined;
  const frame = length > 0 ? readMap(bytes.subarray(lengthBytes, end), frameBytesMax) : undefined;
  if (frame?.bytes !== length)
    throw new SaltworksError("WIRE_MALFORMED", "a frame that differs from its announced length");
  return { ...frame, bytes: end };
}

function readMap(bytes: Uint8Array, frameBytesMax: number): ReadFrame | undefined {
  const code = bytes[0] ?? 0;
  if (code < 0x80 || code > 0x8f)
    throw new SaltworksError("WIRE_MALFORMED", "a frame that is not a small map", { byte: code });
  let position = 1;
  let body: Uint8Array | undefined;
  let isMasters = false;
  for (let left = code & 0x0f; left > 0; left -= 1) {
    const keyEnd = skipValue(bytes, position);
    if (keyEnd < 0) return incomplete(bytes.length - (body?.length ?? 0));
    const key = keyOf(bytes, position, keyEnd);
    const isBody = key === "body";
    if (isBody) requireBodyWithin(bytes, keyEnd, frameBytesMax);
    const valueEnd = skipValue(bytes, keyEnd);
    if (valueEnd < 0) return incomplete(isBody ? keyEnd : bytes.length - (body?.length ?? 0));
    if (isBody) body = bytes.subarray(stringStart(bytes, keyEnd), valueEnd);
    if (key === "head") isMasters = masterMark.equals(bytes.subarray(keyEnd, valueEnd));
    position = valueEnd;
  }
  if (body === undefined) throw new SaltworksError("WIRE_MALFORMED", "a frame without body");
  return { body, isMasters, bytes: position };
}

function incomplete(headBytes: number): undefined {
  if (headBytes > ipcHeadBytesMax) {
    throw new SaltworksError("WIRE_TOO_LARGE", "a frame with too many bytes besides its body", {
      max: ipcHeadBytesMax,
    });
  }
  return undefined;
}

/** Checks the announced length of the body at `offset`, as soon as enough of its header is there. */
function requireBodyWithin(bytes: Uint8Array, offset: number, frameBytesMax: number): void {
  if (offset >= bytes.length) return;
  const start = stringStart(bytes, offset);
  if (start < 0) throw new SaltworksError("WIRE_MALFORMED", "a frame whose body is not a string");
  if (start > bytes.length) return;
  let length = (bytes[offset] ?? 0) & 0x1f;
  if (start > offset + 1) {
    length = 0;
    for (let index = offset + 1; index < start; index += 1) length = length * 256 + (bytes[index] ?? 0);
  }
  if (length > frameBytesMax) {
    throw new SaltworksError("WIRE_TOO_LARGE", `event frame of ${length} bytes`, { size: length, max: frameBytesMax });
  }
}
