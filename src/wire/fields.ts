/**
 * Typed reading of a decoded map's members; a member of another type reads as absent.
 * Source: docs/protocol.md section 2.6 (a string may arrive as text or as bytes).
 */
import { isUtf8 } from "node:buffer";
import type { Value, ValueMap } from "./values.ts";

/** Text, also if it was decoded as bytes; undefined for bytes that are not UTF-8. */
export function textField(map: ValueMap, key: string): string | undefined {
  const value = map.get(key);
  if (typeof value === "string") return value;
  if (!(value instanceof Uint8Array) || !isUtf8(value)) return undefined;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("utf8");
}

/** Bytes, also if they were decoded as text (then its UTF-8, the bytes that were sent). */
export function bytesField(map: ValueMap, key: string): Uint8Array | undefined {
  const value = map.get(key);
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(value, "utf8") : undefined;
}

/** An int within 2^53. */
export function intField(map: ValueMap, key: string): number | undefined {
  const value = map.get(key);
  return typeof value === "number" && Number.isInteger(value) ? value : undefined;
}

export function boolField(map: ValueMap, key: string): boolean | undefined {
  const value = map.get(key);
  return typeof value === "boolean" ? value : undefined;
}

export function mapField(map: ValueMap, key: string): ValueMap | undefined {
  const value = map.get(key);
  return value instanceof Map ? value : undefined;
}

export function listField(map: ValueMap, key: string): Value[] | undefined {
  const value = map.get(key);
  return Array.isArray(value) ? value : undefined;
}
