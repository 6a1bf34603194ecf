/**
 * Messages of returns between the members of a cluster. Pure.
 *
 * Message: u8 version, u8 kind, u16 bytes of the sender's name, name. Kind 0 then has returns: u32 count; per return u8 flags, u16 bytes of the job id,
 * u16 bytes of the minion id, u32 bytes of the body, job id, minion id, body. Kind 1 has a piece of a message that is too large: 16 bytes that name
 * the message, u32 index, u32 number of pieces, bytes. All numbers are big-endian. A body is a return's event data, as in the log of returns.
 */
import { createHash } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { otherVersion } from "../other-version.ts";

const version = 1;
const kinds = { returns: 0, piece: 1 } as const;
const headBytes = 4;
const countBytes = 4;
const returnHeadBytes = 9;
const pieceNameBytes = 16;
const pieceHeadBytes = pieceNameBytes + 8;
const flags = { stored: 1, failed: 2 } as const;
/** The two bits above `flags`, as an index here. */
const jobKinds = [undefined, "ofReturn", "isReturn", "below"] as const;
const jobShift = 2;

/**
 * `body`: the return as its event has it. `isStored`: the job's returns are kept. `isFailed`: the return code is not 0. `job`: the return makes its job,
 * if that is new: from its fields without the result (`ofReturn`), or as it is (`isReturn`). `below`: not a return, but the load of a lower
 * master's job.
 */
export type SharedReturn = {
  readonly jid: string;
  readonly minionId: string;
  readonly body: Uint8Array;
  readonly isStored: boolean;
  readonly isFailed: boolean;
  readonly job?: Exclude<(typeof jobKinds)[number], undefined> | undefined;
};

export type Piece = {
  readonly name: string;
  readonly index: number;
  readonly count: number;
  readonly bytes: Buffer;
};

/** Upper bound of the bytes that a return takes in a message. */
export function returnBytesMax({ jid, minionId, body }: Pick<SharedReturn, "jid" | "minionId" | "body">): number {
  // A UTF-16 unit takes up to three bytes.
  return returnHeadBytes + 3 * (jid.length + minionId.length) + body.byteLength;
}

/** One message, in memory of its own. */
export function encodeReturns(member: string, returns: readonly SharedReturn[]): Buffer {
  const start = headBytes + Buffer.byteLength(member) + countBytes;
  const bytes = Buffer.allocUnsafeSlow(returns.reduce((sum, one) => sum + returnBytesMax(one), start));
  let at = writeHead(bytes, kinds.returns, member);
  at = bytes.writeUInt32BE(returns.length, at);
  for (const { jid, minionId, body, isStored, isFailed, job } of returns) {
    const textStart = at + returnHeadBytes;
    const idStart = textStart + bytes.write(jid, textStart, "utf8");
    const bodyStart = idStart + bytes.write(minionId, idStart, "utf8");
    const known = (isStored ? flags.stored : 0) | (isFailed ? flags.failed : 0);
    bytes[at] = known | (jobKinds.indexOf(job) << jobShift);
    bytes.writeUInt16BE(idStart - textStart, at + 1);
    bytes.writeUInt16BE(bodyStart - idStart, at + 3);
    bytes.writeUInt32BE(body.byteLength, at + 5);
    bytes.set(body, bodyStart);
    at = bodyStart + body.byteLength;
  }
  return bytes.subarray(0, at);
}

/** The message itself, or its pieces if it has more than `bytesMax` bytes. */
export function piecesOf(member: string, message: Buffer, bytesMax: number): readonly Buffer[] {
  if (message.byteLength <= bytesMax) return [message];
  const name = createHash("sha256").update(message).digest().subarray(0, pieceNameBytes);
  const count = Math.ceil(message.byteLength / bytesMax);
  return Array.from({ length: count }, (_, index) => {
    const part = message.subarray(index * bytesMax, (index + 1) * bytesMax);
    const bytes = Buffer.allocUnsafeSlow(headBytes + Buffer.byteLength(member) + pieceHeadBytes + part.byteLength);
    let at = writeHead(bytes, kinds.piece, member);
    at += name.copy(bytes, at);
    at = bytes.writeUInt32BE(index, at);
    at = bytes.writeUInt32BE(count, at);
    part.copy(bytes, at);
    return bytes;
  });
}

/** @throws SaltworksError WIRE_MALFORMED; CLUSTER_REFUSED if a later release made the message */
export function senderIn(message: Buffer): string {
  const [itsVersion = 0] = message;
  if (itsVersion > version) throw otherVersion("a message of returns", itsVersion, version);
  if (message.byteLength < headBytes || itsVersion !== version) throw malformed("has no head");
  const end = headBytes + message.readUInt16BE(2);
  if (end > message.byteLength) throw malformed("is cut off");
  return message.toString("utf8", headBytes, end);
}

/** The piece in a message; undefined if it has returns. @throws SaltworksError WIRE_MALFORMED */
export function pieceIn(message: Buffer): Piece | undefined {
  if (message[1] !== kinds.piece) return undefined;
  const start = headBytes + message.readUInt16BE(2);
  if (start + pieceHeadBytes > message.byteLength) throw malformed("is cut off");
  return {
    name: message.toString("latin1", start, start + pieceNameBytes),
    index: message.readUInt32BE(start + pieceNameBytes),
    count: message.readUInt32BE(start + pieceNameBytes + 4),
    bytes: message.subarray(start + pieceHeadBytes),
  };
}

/** The returns of a message, whose bodies are views into it. @throws SaltworksError as `senderIn` */
export function decodeReturns(message: Buffer): SharedReturn[] {
  senderIn(message);
  if (message[1] !== kinds.returns) throw malformed("is of another kind");
  try {
    return readReturns(message);
  } catch (error) {
    if (error instanceof RangeError) throw malformed("is cut off");
    throw error;
  }
}

function readReturns(message: Buffer): SharedReturn[] {
  let at = headBytes + message.readUInt16BE(2);
  const count = message.readUInt32BE(at);
  at += countBytes;
  const found: SharedReturn[] = [];
  for (let index = 0; index < count; index += 1) {
    const known = message.readUInt8(at);
    const textStart = at + returnHeadBytes;
    const idStart = textStart + message.readUInt16BE(at + 1);
    const bodyStart = idStart + message.readUInt16BE(at + 3);
    const end = bodyStart + message.readUInt32BE(at + 5);
    if (end > message.byteLength) throw malformed("is cut off");
    found.push({
      jid: message.toString("utf8", textStart, idStart),
      minionId: message.toString("utf8", idStart, bodyStart),
      body: message.subarray(bodyStart, end),
      isStored: (known & flags.stored) !== 0,
      isFailed: (known & flags.failed) !== 0,
      job: jobKinds[(known >> jobShift) & 3],
    });
    at = end;
  }
  return found;
}

function writeHead(bytes: Buffer, kind: number, member: string): number {
  bytes[0] = version;
  bytes[1] = kind;
  bytes.writeUInt16BE(Buffer.byteLength(member), 2);
  return headBytes + bytes.write(member, headBytes, "utf8");
}

function malformed(what: string): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", `a message of returns ${what}`);
}
