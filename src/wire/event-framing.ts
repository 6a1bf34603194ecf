/**
 * The three ways in which event frames follow each other on a subscriber's stream. Pure.
 * Source: docs/protocol.md section 10.2. Salt's releases differ, a subscriber does not name its release, and with the wrong framing it gets no event
 * at all.
 */
import { headBytesAt, headValueAt, isMastersAt, masterMark } from "./event.ts";
import { bufferOf } from "./walk.ts";

/**
 * - `own`: as `frameEvent` and `frameMasterEvent` write them, for our own programs. All others are Salt's bytes, without the master's mark.
 * - `plain`: one frame straight after the other, as Salt did up to early 3006 and does in 3007 and 3008.
 * - `counted`: each frame after its length, `u32` big-endian, as late 3006 (3006.28) reads and writes.
 * - `either`: counted, and padded so that a reader of plain frames finds whole values only: late 3007 and 3008 (3007.15, 3008.3)
 *   take the length for four numbers and skip them, with one warning each in the log.
 */
export type Framing = "own" | "plain" | "counted" | "either";

/** Number of length bytes by a frame's bin code. */
const bodyLengthBytes: Readonly<Record<number, number>> = { 196: 1, 197: 2, 198: 4 };
const emptyMap = Uint8Array.of(0x80);
const lengthBytes = 4;
/** Bytes that the least padding adds: a map with an empty key and a bin of four length bytes replaces the empty map of `head`. */
const paddingBytesMin = 6;
const padding = Buffer.from("81a0c6", "hex");

/** `frames`: whole frames as `frameEvent` and `frameMasterEvent` write them, one or many. Copies them only if the framing asks for other bytes. */
export function reframe(frames: Uint8Array, framing: Framing): Uint8Array {
  if (framing === "own") return frames;
  const plain = withoutMarks(frames);
  if (framing === "plain") return plain;
  const parts: Uint8Array[] = [];
  for (let start = 0; start < plain.length; ) {
    const end = start + frameLength(plain, start);
    parts.push(...(framing === "counted" ? counted : padded)(plain.subarray(start, end)));
    start = end;
  }
  return Buffer.concat(parts);
}

/** Number of bytes of the frame at `start`, one that `frameEvent` or `frameMasterEvent` wrote. */
export function frameLength(frames: Uint8Array, start: number): number {
  const headBytes = headBytesAt(frames, start);
  const lengthAt = start + headBytes + 1;
  const width = bodyLengthBytes[frames[lengthAt - 1] ?? 0];
  if (width === undefined) throw new TypeError("not a frame that frameEvent wrote");
  return headBytes + 1 + width + bufferOf(frames).readUIntBE(lengthAt, width);
}

/** The frames without the master's mark; `frames` itself if none has it, as those of workers, which may hold megabytes. */
function withoutMarks(frames: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  let keptTo = 0;
  for (let start = 0; start < frames.length; start += frameLength(frames, start)) {
    if (!isMastersAt(frames, start)) continue;
    parts.push(frames.subarray(keptTo, start + headValueAt), emptyMap);
    keptTo = start + headValueAt + masterMark.length;
  }
  if (keptTo === 0) return frames;
  parts.push(frames.subarray(keptTo));
  return Buffer.concat(parts);
}

function counted(frame: Uint8Array): Uint8Array[] {
  const length = Buffer.allocUnsafe(lengthBytes);
  length.writeUInt32BE(frame.length);
  return [length, frame];
}

/** Lengthens the frame by filler in its `head`, which readers ignore, until each byte of its length is a whole msgpack value. */
function padded(frame: Uint8Array): Uint8Array[] {
  if (harmlessLength(frame.length) === frame.length) return counted(frame);
  const target = harmlessLength(frame.length + paddingBytesMin);
  const head = Buffer.alloc(target - frame.length + 1);
  padding.copy(head);
  head.writeUInt32BE(target - frame.length + 1 - padding.length - lengthBytes, padding.length);
  const length = Buffer.allocUnsafe(lengthBytes);
  length.writeUInt32BE(target);
  return [length, frame.subarray(0, headValueAt), head, frame.subarray(headValueAt + 1)];
}

/** The least number from `length` on whose four bytes are each a small int, nil or a boolean in msgpack. */
function harmlessLength(length: number): number {
  let result = 0;
  for (let shift = 24; shift >= 0; shift -= 8) {
    const wanted = Math.floor(length / 2 ** shift) % 256;
    const byte = harmlessByte(wanted);
    result += byte * 2 ** shift;
    // A larger byte makes the number exceed `length`, so that all later bytes may be zero.
    if (byte > wanted) return result;
  }
  return result;
}

function harmlessByte(byte: number): number {
  if (byte < 0x80 || byte >= 0xe0) return byte;
  if (byte <= 0xc0) return 0xc0;
  if (byte <= 0xc2) return 0xc2;
  return byte === 0xc3 ? byte : 0xe0;
}
