/** Decodes a stored return to its fields. A return that cannot be decoded does not hide the others. */
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";

/** Shown instead of a value beyond the decoder's limits; the stored bytes stay. */
const unreadable = "VALUE_UNREADABLE";

export function fieldsOf(body: Uint8Array): ValueMap {
  try {
    const value = decode(body);
    return value instanceof Map ? value : new Map();
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return new Map([["return", unreadable]]);
  }
}
