/**
 * Values with a check of their integrity: a mark, a hash of 32 bits over key and bytes, then the bytes.
 * The hash has no secret: it detects faults of disks and memory, not attacks. docs/decisions/0024-damaged-stores.md. Pure.
 */

/** No change of one bit turns this mark into the first byte of an earlier release's value, which has no hash: a map's head, or 0 of a length. */
const mark = 0x53;
const hashAt = 1;
/** Bytes of mark and hash, before the value's bytes. */
export const checkBytes = 5;

const oddOne = 0x9e3779b1 | 0;
const oddTwo = 0x85ebca6b | 0;

/**
 * The hash. Every step is reversible, so it detects every change within four bytes; of other changes it misses one in four billion.
 * It is in JavaScript, because a call of zlib's CRC-32 costs 0.25 µs beside its bytes, as much as this hash of a whole return.
 */
function hashOf(view: DataView, start: number, end: number, seed: number): number {
  let one = seed ^ (end - start);
  let two = ~seed;
  let at = start;
  for (; at + 8 <= end; at += 8) {
    one = Math.imul(one ^ view.getInt32(at, true), oddOne);
    one = (one << 13) | (one >>> 19);
    two = Math.imul(two ^ view.getInt32(at + 4, true), oddTwo);
    two = (two << 17) | (two >>> 15);
  }
  for (; at < end; at += 1) {
    one = Math.imul(one ^ view.getUint8(at), oddOne);
    one = (one << 13) | (one >>> 19);
  }
  return Math.imul(one ^ ((two << 7) | (two >>> 25)), oddTwo);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The hash of bytes without a key. */
export function checkOf(bytes: Uint8Array): number {
  return hashOf(viewOf(bytes), 0, bytes.byteLength, oddOne) >>> 0;
}

/**
 * Writes mark and hash at `valueStart`, into `checkBytes` free bytes. The value's bytes follow up to `end`. The key is from `keyStart` to `keyEnd`.
 *
 * @returns the hash
 */
export function writeCheck(view: DataView, keyStart: number, keyEnd: number, valueStart: number, end: number): number {
  view.setUint8(valueStart, mark);
  const seed = hashOf(view, keyStart, keyEnd, oddOne);
  const hash = hashOf(view, valueStart + checkBytes, end, seed);
  view.setInt32(valueStart + hashAt, hash);
  return hash;
}

/** The hash in a value. */
export function hashIn(value: Buffer): number {
  return value.readInt32BE(hashAt);
}

export function checkedValue(key: Uint8Array, bytes: Uint8Array): Buffer {
  return writeChecked(Buffer.allocUnsafe(checkBytes + bytes.byteLength), key, bytes);
}

/** As `checkedValue`, in `value`, which has exactly the room. */
export function writeChecked(value: Buffer, key: Uint8Array, bytes: Uint8Array): Buffer {
  value[0] = mark;
  value.set(bytes, checkBytes);
  const seed = hashOf(viewOf(key), 0, key.byteLength, oddOne);
  value.writeInt32BE(hashOf(viewOf(value), checkBytes, value.byteLength, seed), hashAt);
  return value;
}

/** Whether a value has a mark, even if one bit of the mark is damaged. */
function isMarked(value: Uint8Array): boolean {
  const changed = (value[0] ?? 0) ^ mark;
  return (changed & (changed - 1)) === 0;
}

/** The stored bytes, as a view; undefined if they are damaged. Values of earlier releases, without a hash, are returned unchecked. */
export function openValue(key: Uint8Array, value: Buffer): Buffer | undefined {
  if (!isMarked(value)) return value;
  if (value[0] !== mark || value.byteLength < checkBytes) return undefined;
  const seed = hashOf(viewOf(key), 0, key.byteLength, oddOne);
  const hash = hashOf(viewOf(value), checkBytes, value.byteLength, seed);
  return hash === value.readInt32BE(hashAt) ? value.subarray(checkBytes) : undefined;
}
