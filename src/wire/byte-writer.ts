/** A growing buffer that is written from front to back, then reused: a batch's messages need no allocation each. */

const bytesMin = 64 * 1024;
/** A buffer above this size is released after use, so that one large batch does not stay resident. */
const bytesKept = 4 * 1024 * 1024;

export class ByteWriter {
  /** Becomes a new buffer when it grows. Earlier views keep their content until `reset`. */
  bytes: Buffer = Buffer.allocUnsafeSlow(bytesMin);
  length = 0;

  /** Makes room for `count` bytes, which the caller writes into `bytes`. @returns where they start */
  reserve(count: number): number {
    const start = this.length;
    const needed = start + count;
    if (needed > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, start);
      this.bytes = grown;
    }
    this.length = needed;
    return start;
  }

  add(bytes: Uint8Array): void {
    const start = this.reserve(bytes.length);
    this.bytes.set(bytes, start);
  }

  reset(): void {
    this.length = 0;
    if (this.bytes.length > bytesKept) this.bytes = Buffer.allocUnsafeSlow(bytesMin);
  }
}
