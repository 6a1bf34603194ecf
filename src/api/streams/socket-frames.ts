/** Frames of the WebSocket protocol (RFC 6455), as a server sends them: unmasked, whole, uncompressed. Pure. */

const finalText = 0x81;
const finalPing = 0x89;
/** Lengths that a frame's second byte can say by itself, and the largest in two bytes. */
const shortMax = 125;
const mediumMax = 0xffff;
const isIn16Bits = 126;
const isIn64Bits = 127;

/** What stands before a text of this length in bytes. */
export function textHead(length: number): Buffer {
  if (length <= shortMax) return Buffer.from([finalText, length]);
  if (length <= mediumMax) {
    const head = Buffer.from([finalText, isIn16Bits, 0, 0]);
    head.writeUInt16BE(length, 2);
    return head;
  }
  const head = Buffer.alloc(10);
  head.set([finalText, isIn64Bits]);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

export const pingFrame: Buffer = Buffer.from([finalPing, 0]);
