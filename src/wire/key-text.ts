/**
 * Caches the text of short map keys, because loads repeat the same twenty names.
 * The table has a fixed size: hostile keys can evict all entries, but never make it grow.
 * Source: docs/protocol.md sections 2.1 and 9 (the names).
 */
const slotCount = 1_024;
/** Longer keys are rare (the longest of Salt's own has 17 bytes) and cost a comparison for each byte. */
export const cachedKeyBytesMax = 24;

type Slot = { readonly bytes: Uint8Array; readonly text: string };
const slots: (Slot | undefined)[] = new Array(slotCount).fill(undefined);

/** The ASCII text between two offsets; undefined where a byte is not ASCII. At most `cachedKeyBytesMax` long. */
export function cachedAsciiText(bytes: Uint8Array, start: number, end: number): string | undefined {
  let hash = end - start;
  for (let index = start; index < end; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte > 0x7f) return undefined;
    hash = (hash * 31 + byte) & 0xffffff;
  }
  const slot = hash & (slotCount - 1);
  const found = slots[slot];
  if (found !== undefined && isSame(found.bytes, bytes, start, end)) return found.text;
  // Not the method of a Buffer, which would give a view: what it shows may be written over, and the view would keep a whole request in memory.
  const own = Uint8Array.prototype.slice.call(bytes, start, end);
  const text = Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("latin1");
  slots[slot] = { bytes: own, text };
  return text;
}

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let index = 0; index < known.length; index += 1) if (known[index] !== bytes[start + index]) return false;
  return true;
}
