/**
 * Msgpack in Salt's two flavours: `raw` on the network, `bin` in events, IPC frames and files.
 * Source: docs/protocol.md section 2.6. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import { DecodeBudget, Decoder, type Strings } from "./decoder.ts";
import { Encoder, type Flavour } from "./encoder.ts";
import type { Encodable, Value } from "./values.ts";

export type { Flavour };

const rawEncoder = new Encoder("raw");
const binEncoder = new Encoder("bin");

/** @throws SaltworksError WIRE_TOO_DEEP for a value nested deeper than `nestingDepthMax`, also one that contains itself */
export function encode(value: Encodable, flavour: Flavour): Buffer {
  return flavour === "raw" ? rawEncoder.encode(value) : binEncoder.encode(value);
}

/**
 * The one value that fills `bytes`. Either flavour is read; byte strings in the result are views into `bytes`. `budget`: what it may build, shared by
 * all decodings that are given the same one.
 *
 * @throws SaltworksError WIRE_TRUNCATED, WIRE_MALFORMED (also for bytes after the value), WIRE_TOO_DEEP, WIRE_TOO_LARGE
 */
export function decode(bytes: Uint8Array, strings: Strings = "text", budget = new DecodeBudget()): Value {
  const { value, end } = decodeAt(bytes, 0, strings, budget);
  if (end !== bytes.length)
    throw new SaltworksError("WIRE_MALFORMED", "bytes after the value", { extra: bytes.length - end });
  return value;
}

/** The value that starts at `offset`, and the offset after it. Errors as `decode`. */
export function decodeAt(
  bytes: Uint8Array,
  offset: number,
  strings: Strings = "text",
  budget = new DecodeBudget(),
): { value: Value; end: number } {
  const decoder = new Decoder(bytes, offset, strings, budget);
  const value = decoder.read(0, false);
  return { value, end: decoder.position };
}
