/**
 * In-memory form of msgpack values: keeps the keys' types and order, and tells int from float and text from bytes.
 * Source: docs/protocol.md section 2.6.
 */

/** A float whose value is integral (1.0), which JavaScript cannot tell from the int 1. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A float that is kept as one, such as 1.0, as its number; other values as they are. */
export function plainNumber(value: Value | undefined): Value | undefined {
  return value instanceof Float ? value.value : value;
}

/** An extension object: `type` is -128..127 (Salt uses 78 for times), `data` its bytes. */
export class Ext {
  readonly type: number;
  readonly data: Uint8Array;
  constructor(type: number, data: Uint8Array) {
    this.type = type;
    this.data = data;
  }
}

/** A value that is already msgpack, in one piece or several; encoders copy it. Its creator must give one whole value in the destination's flavour. */
export class Packed {
  readonly pieces: readonly Uint8Array[];
  constructor(...pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** Integers within 2^53 are numbers, beyond (u64, i64) bigints; a number that is not integral is a float. */
export type Value = null | boolean | number | bigint | string | Uint8Array | Float | Ext | Value[] | ValueMap;

/** Maps keep the type of each key (int, nil, text, bytes) and their order. */
export type ValueMap = Map<Value, Value>;

/** Input of encoders: values, and plain objects and read-only collections of them. An undefined member is omitted; in a list it is nil. */
export type Encodable =
  | Value
  | undefined
  | Packed
  | readonly Encodable[]
  | ReadonlyMap<Encodable, Encodable>
  | { readonly [key: string]: Encodable };

/** The value after encoding and decoding: plain objects become maps. */
export function asValue(encodable: Encodable): Value {
  if (encodable === undefined || encodable === null) return null;
  if (typeof encodable !== "object") return encodable;
  if (encodable instanceof Uint8Array || encodable instanceof Float || encodable instanceof Ext) return encodable;
  if (Array.isArray(encodable)) return encodable.map(asValue);
  if (encodable instanceof Map) {
    return new Map(Array.from(encodable, ([key, value]): [Value, Value] => [asValue(key), asValue(value)]));
  }
  const map: ValueMap = new Map();
  for (const [key, value] of Object.entries(encodable)) if (value !== undefined) map.set(key, asValue(value));
  return map;
}

/** Maps as objects, at any depth; all else stays as it is. */
export function objectsOf(value: Value): unknown {
  if (Array.isArray(value)) return value.map(objectsOf);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, member]) => [String(key), objectsOf(member)]));
}

/** A copy that shares no container with the original. */
export function copyOf<Kind extends Value>(value: Kind): Kind {
  return asValue(value) as Kind;
}

/** A float as a wire value: an integral one is wrapped in `Float`. */
export function floatItem(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value;
}

/** An int as a wire value: a number within 2^53, else a bigint. */
export function intItem(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
