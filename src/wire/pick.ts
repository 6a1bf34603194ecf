/**
 * Decodes only the wanted entries of a map and skips the others: a target wants one or two of a minion's hundred grains.
 * Source: docs/protocol.md section 2.6. Pure.
 */
import { DecodeBudget } from "./decoder.ts";
import { decode, decodeAt } from "./msgpack.ts";
import { Packed, type Value, type ValueMap } from "./values.ts";
import { headOf, keyOf, mapEntries, mapHead, skipWhole } from "./walk.ts";

/**
 * The map at the start of `bytes`, with the wanted entries only. Of the other entries only the lengths are checked. `budget`: for all values together.
 *
 * @throws SaltworksError WIRE_TRUNCATED, WIRE_MALFORMED (also if it is not a map), WIRE_TOO_DEEP, WIRE_TOO_LARGE
 */
export function pickEntries(bytes: Uint8Array, wanted: ReadonlySet<Value>, budget = new DecodeBudget()): ValueMap {
  const { count, start } = mapHead(bytes, 0);
  const picked: ValueMap = new Map();
  let position = start;
  for (let index = 0; index < count; index += 1) {
    const keyEnd = skipShort(bytes, position);
    const key = keyOf(bytes, position, keyEnd) ?? otherKey(bytes, position, keyEnd);
    if (wanted.has(key)) {
      const { value, end } = decodeAt(bytes, keyEnd, "text", budget);
      picked.set(key, value);
      position = end;
    } else {
      position = skipShort(bytes, keyEnd);
    }
  }
  return picked;
}

/** A key that is not text; null for a list or a map, which no reader looks for. */
function otherKey(bytes: Uint8Array, start: number, end: number): Value {
  const { kind } = headOf(bytes, start);
  if (kind === "list" || kind === "map") return null;
  return decode(bytes.subarray(start, end));
}

/** As `skipWhole`, faster for short texts and small numbers, which most entries are. */
function skipShort(bytes: Uint8Array, offset: number): number {
  const code = bytes[offset] ?? 0xc1;
  const end = code <= 0x7f ? offset + 1 : (code & 0xe0) === 0xa0 ? offset + 1 + (code & 0x1f) : 0;
  return end > 0 && end <= bytes.length ? end : skipWhole(bytes, offset);
}

/**
 * The members of the map that fills `bytes`, as views into it, for data that is kept as it came. Members whose keys are not text are left out; of equal keys the last counts.
 *
 * @throws SaltworksError as `mapEntries`
 */
export function packedMembers(bytes: Uint8Array, countMax?: number): Map<string, Packed> {
  const members = new Map<string, Packed>();
  for (const { key, valueStart, valueEnd } of mapEntries(bytes, countMax))
    if (key !== undefined) members.set(key, new Packed(bytes.subarray(valueStart, valueEnd)));
  return members;
}

/**
 * As `packedMembers`, with keys of every type: a key that is not text stays packed, too.
 *
 * @throws SaltworksError as `mapEntries`
 */
export function packedEntries(bytes: Uint8Array): Map<string | Packed, Packed> {
  const entries = new Map<string | Packed, Packed>();
  for (const { key, keyStart, keyEnd, valueStart, valueEnd } of mapEntries(bytes))
    entries.set(key ?? new Packed(bytes.subarray(keyStart, keyEnd)), new Packed(bytes.subarray(valueStart, valueEnd)));
  return entries;
}
