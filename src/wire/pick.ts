/**
 * Decodes only the wanted entries of a map and steps over the others: a target wants one or two of a minion's hundred grains.
 * Source: docs/protocol.md section 2.6. Pure.
 */
import { decode, decodeAt } from "./msgpack.ts";
import type { Value, ValueMap } from "./values.ts";
import { keyOf, mapHead, skipWhole } from "./walk.ts";

/**
 * The map at the start of `bytes`, with the wanted entries only. Of the other entries only the lengths are checked.
 *
 * @throws SaltworksError WIRE_TRUNCATED, WIRE_MALFORMED (also if it is not a map), WIRE_TOO_DEEP, WIRE_TOO_LARGE
 */
export function pickEntries(bytes: Uint8Array, wanted: ReadonlySet<Value>): ValueMap {
  const { count, start } = mapHead(bytes, 0);
  const picked: ValueMap = new Map();
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const keyEnd = skipShort(bytes, position);
    const key = keyOf(bytes, position, keyEnd) ?? otherKey(bytes, position, keyEnd);
    if (wanted.has(key)) {
      const { value, end } = decodeAt(bytes, keyEnd);
      picked.set(key, value);
      position = end;
    } else {
      position = skipShort(bytes, keyEnd);
    }
  }
  return picked;
}

function otherKey(bytes: Uint8Array, start: number, end: number): Value {
  return decode(bytes.subarray(start, end));
}

/** As `skipWhole`, faster for short texts and small numbers, which most entries are. */
function skipShort(bytes: Uint8Array, offset: number): number {
  const code = bytes[offset] ?? 0xc1;
  const end = code <= 0x7f ? offset + 1 : (code & 0xe0) === 0xa0 ? offset + 1 + (code & 0x1f) : 0;
  return end > 0 && end <= bytes.length ? end : skipWhole(bytes, offset);
}
