/**
 * Values that tell whether they are what was stored under their key: a mark, 32 bits of a hash of key and bytes, then the bytes.
 * The hash is not secret: it guards against faults of disks and memory alone. docs/decisions/0024-damaged-stores.md. Pure.
 */

/** No bit of it makes it the first byte of what releases before stored without: maps, and lengths below 16 MiB. */
const mark = 0x53;
const hashAt = 1;
/** What stands before the bytes. */
export const checkBytes = 5;

const oddOne = 0x9e3779b1 | 0;
const oddTwo = 0x85ebca6b | 0;

/**
 * Every step is reversible, so that it sees every change within four bytes; it misses one other change in four billion.
 * In JavaScript: a call of zlib's CRC-32 costs 0.25 µs besides its bytes, as much as this for a whole return.
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

/** Hash of some bytes alone. */
export function checkOf(bytes: Uint8Array): number {
  return hashOf(viewOf(bytes), 0, bytes.byteLength, oddOne) >>> 0;
}

/**
 * Writes mark and hash at `valueStart`, where `checkBytes` are free; the bytes go up to `end`, and the key up to `keyEnd`.
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

/** The hash that a value carries. */
export function hashIn(value: Buffer): number {
  return value.readInt32BE(hashAt);
}

export function checkedValue(key: Uint8Array, bytes: Uint8Array): Buffer {
  const value = Buffer.allocUnsafe(checkBytes + bytes.byteLength);
  value[0] = mark;
  value.set(bytes, checkBytes);
  const seed = hashOf(viewOf(key), 0, key.byteLength, oddOne);
  value.writeInt32BE(hashOf(viewOf(value), checkBytes, value.byteLength, seed), hashAt);
  return value;
}

/** Whether a value carries a hash, or did before its mark was damaged. */
function isMarked(value: Uint8Array): boolean {
  const changed = (value[0] ?? 0) ^ mark;
  return (changed & (changed - 1)) === 0;
}

/** The bytes that were stored: a view. Those of a release before this form are taken as they are. Undefined if they are damaged. */
export function openValue(key: Uint8Array, value: Buffer): Buffer | undefined {
  if (!isMarked(value)) return value;
  if (value[0] !== mark || value.byteLength < checkBytes) return undefined;
  const seed = hashOf(viewOf(key), 0, key.byteLength, oddOne);
  const hash = hashOf(viewOf(value), checkBytes, value.byteLength, seed);
  return hash === value.readInt32BE(hashAt) ? value.subarray(checkBytes) : undefined;
}
