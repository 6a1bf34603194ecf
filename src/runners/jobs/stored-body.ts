/** A stored return as its fields. A return that no decoder accepts does not hide the others. */
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";

/** Replaces a value beyond the decoder's limits; the stored bytes stay. */
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
