/**
 * Frames of ZMTP: the head before each part or command, in the form of 1.0 and in that of 2.0 and later.
 * Source: https://rfc.zeromq.org/spec/13/ (1.0), spec/15/ (2.0), spec/23/ (3.0), spec/37/ (3.1). Pure: no I/O, no clock.
 */

/** `old`: length before flags, which the length includes (1.0). `new`: flags before length (2.0 and later). */
export type Framing = "old" | "new";

export type FrameHead = {
  readonly isMore: boolean;
  readonly isCommand: boolean;
  /** Bytes of the body. */
  readonly bodyBytes: number;
  /** Bytes of the head itself. */
  readonly headBytes: number;
};

/** `wait`: the head is incomplete. `malformed`: no head begins with these bytes. */
export type HeadReading = FrameHead | "wait" | "malformed";

/** The longest head, that of a long frame of 1.0: a mark, eight bytes of length and the flags. */
export const frameHeadBytesMax = 10;

const flagMore = 0x01;
const flagLong = 0x02;
const flagCommand = 0x04;
const knownFlags = flagMore | flagLong | flagCommand;
/** In 1.0: eight bytes of length follow. */
const longMark = 0xff;

/** Reads the head at `at`. A length beyond 2^53 reads as `Infinity`, which is over any bound. */
export function readHead(bytes: Buffer, at: number, framing: Framing): HeadReading {
  return framing === "new" ? readNewHead(bytes, at) : readOldHead(bytes, at);
}

function readNewHead(bytes: Buffer, at: number): HeadReading {
  const flags = bytes[at];
  if (flags === undefined) return "wait";
  const isCommand = (flags & flagCommand) !== 0;
  const isMore = (flags & flagMore) !== 0;
  if ((flags & ~knownFlags) !== 0 || (isCommand && isMore)) return "malformed";
  if ((flags & flagLong) === 0) {
    const bodyBytes = bytes[at + 1];
    return bodyBytes === undefined ? "wait" : { isMore, isCommand, bodyBytes, headBytes: 2 };
  }
  if (bytes.length < at + 9) return "wait";
  return { isMore, isCommand, bodyBytes: readLength(bytes, at + 1), headBytes: 9 };
}

function readOldHead(bytes: Buffer, at: number): HeadReading {
  const first = bytes[at];
  if (first === undefined) return "wait";
  const isLong = first === longMark;
  const headBytes = isLong ? 10 : 2;
  if (bytes.length < at + headBytes) return "wait";
  const length = isLong ? readLength(bytes, at + 1) : first;
  // The length includes the byte of flags.
  if (length === 0) return "malformed";
  const flags = bytes[at + headBytes - 1] ?? 0;
  return { isMore: (flags & flagMore) !== 0, isCommand: false, bodyBytes: length - 1, headBytes };
}

function readLength(bytes: Buffer, at: number): number {
  const high = bytes.readUInt32BE(at);
  return high > 0x1f_ffff ? Number.POSITIVE_INFINITY : high * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

/** The heads before a reply of `bodyBytes`: that of the empty part, and that of the payload. */
export function replyHeads(bodyBytes: number, framing: Framing): Buffer {
  const heads = Buffer.allocUnsafe(2 + headBytesOf(bodyBytes, framing));
  writeReplyHeads(heads, bodyBytes, framing);
  return heads;
}

/** Heads and payload as one buffer. */
export function replyFrame(payload: Uint8Array, framing: Framing): Buffer {
  const frame = Buffer.allocUnsafe(2 + headBytesOf(payload.length, framing) + payload.length);
  frame.set(payload, writeReplyHeads(frame, payload.length, framing));
  return frame;
}

/** One part with its head. The buffer has memory of its own, so it may be kept for long. */
export function partFrame(body: Uint8Array, isMore: boolean, framing: Framing): Buffer {
  const frame = Buffer.allocUnsafeSlow(headBytesOf(body.length, framing) + body.length);
  frame.set(body, writeHead(frame, 0, body.length, isMore, framing));
  return frame;
}

function headBytesOf(bodyBytes: number, framing: Framing): number {
  if (!isLongBody(bodyBytes, framing)) return 2;
  return framing === "new" ? 9 : 10;
}

function isLongBody(bodyBytes: number, framing: Framing): boolean {
  return bodyBytes > (framing === "new" ? 0xff : 0xfd);
}

/** @returns where the payload begins */
function writeReplyHeads(bytes: Buffer, bodyBytes: number, framing: Framing): number {
  // The empty part: in 1.0 its length is 1, the byte of flags.
  bytes[0] = flagMore;
  bytes[1] = framing === "new" ? 0 : flagMore;
  return writeHead(bytes, 2, bodyBytes, false, framing);
}

/** @returns where the body begins */
function writeHead(bytes: Buffer, at: number, bodyBytes: number, isMore: boolean, framing: Framing): number {
  const isLong = isLongBody(bodyBytes, framing);
  const more = isMore ? flagMore : 0;
  if (framing === "new") {
    bytes[at] = more | (isLong ? flagLong : 0);
    if (isLong) writeLength(bytes, at + 1, bodyBytes);
    else bytes[at + 1] = bodyBytes;
  } else {
    bytes[at] = isLong ? longMark : bodyBytes + 1;
    if (isLong) writeLength(bytes, at + 1, bodyBytes + 1);
    bytes[at + (isLong ? 9 : 1)] = more;
  }
  return at + headBytesOf(bodyBytes, framing);
}

function writeLength(bytes: Buffer, at: number, length: number): void {
  bytes.writeUInt32BE(Math.floor(length / 0x1_0000_0000), at);
  bytes.writeUInt32BE(length % 0x1_0000_0000, at + 4);
}

/** A command of 3.x: its name, then `body`. */
export function commandFrame(name: string, body: Uint8Array): Buffer {
  const bodyBytes = 1 + name.length + body.length;
  const head = bodyBytes > 0xff ? Buffer.alloc(9) : Buffer.of(flagCommand, bodyBytes);
  if (bodyBytes > 0xff) {
    head[0] = flagCommand | flagLong;
    writeLength(head, 1, bodyBytes);
  }
  return Buffer.concat([head, Buffer.of(name.length), Buffer.from(name, "latin1"), body]);
}

/** @returns undefined if the name does not fit into the bytes */
export function readCommand(bytes: Buffer): { readonly name: string; readonly body: Buffer } | undefined {
  const nameBytes = bytes[0];
  if (nameBytes === undefined || bytes.length < 1 + nameBytes) return undefined;
  return { name: bytes.toString("latin1", 1, 1 + nameBytes), body: bytes.subarray(1 + nameBytes) };
}
