/** Reading single fields of an opened load without decoding the rest of it. */
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { Entry } from "../../wire/walk.ts";

/** The encoded value of `key`; undefined if the load has none. */
export function fieldBytes(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const entry = entries.find((candidate) => candidate.key === key);
  return entry && load.subarray(entry.valueStart, entry.valueEnd);
}

/** The decoded value of `key`; undefined if the load has none. */
export function field(load: Uint8Array, entries: readonly Entry[], key: string): Value | undefined {
  const bytes = fieldBytes(load, entries, key);
  return bytes && decode(bytes);
}

export function textOf(load: Uint8Array, entries: readonly Entry[], key: string): string | undefined {
  const value = field(load, entries, key);
  return typeof value === "string" ? value : undefined;
}

/** Signatures, tokens and other byte strings, untouched. */
export function bytesOf(load: Uint8Array, entries: readonly Entry[], key: string): Uint8Array | undefined {
  const bytes = fieldBytes(load, entries, key);
  if (bytes === undefined) return undefined;
  const value = decode(bytes, "bytes");
  return value instanceof Uint8Array ? value : undefined;
}
