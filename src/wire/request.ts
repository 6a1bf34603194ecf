/**
 * Request envelopes: what a client puts around its load on the request port.
 * Source: docs/protocol.md section 2.1. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import { encode } from "./msgpack.ts";
import type { Encodable } from "./values.ts";
import { afterValue, keyOf, mapHead, skipWhole, stringStart, textOf } from "./walk.ts";

/** `load` is a view: of an `aes` request the ciphertext, of a `clear` one the msgpack bytes of the load. A request without version is version 0. */
export type Envelope = {
  enc: "clear" | "aes";
  version: number;
  id: string | undefined;
  encAlgorithm: string | undefined;
  sigAlgorithm: string | undefined;
  load: Uint8Array;
};

/**
 * Reads an envelope by walking it: the load is not decoded.
 *
 * @throws SaltworksError WIRE_MALFORMED, WIRE_TRUNCATED, WIRE_TOO_DEEP
 */
export function readEnvelope(frame: Uint8Array): Envelope {
  const { count, start } = mapHead(frame, 0);
  let position = start;
  let enc: string | undefined;
  let loadStart = -1;
  let loadEnd = -1;
  const envelope: Envelope = {
    enc: "clear",
    version: 0,
    id: undefined,
    encAlgorithm: undefined,
    sigAlgorithm: undefined,
    load: frame,
  };
  for (let index = 0; index < count; index += 1) {
    const keyEnd = skipWhole(frame, position);
    const valueEnd = skipWhole(frame, keyEnd);
    switch (keyOf(frame, position, keyEnd)) {
      case "enc":
        enc = textOf(frame, keyEnd, valueEnd);
        break;
      case "load":
        loadStart = keyEnd;
        loadEnd = valueEnd;
        break;
      case "version":
        envelope.version = versionAt(frame, keyEnd);
        break;
      case "id":
        envelope.id = requiredText(frame, keyEnd, valueEnd, "id");
        break;
      case "enc_algo":
        envelope.encAlgorithm = requiredText(frame, keyEnd, valueEnd, "enc_algo");
        break;
      case "sig_algo":
        envelope.sigAlgorithm = requiredText(frame, keyEnd, valueEnd, "sig_algo");
        break;
    }
    position = valueEnd;
  }
  if (position !== frame.length) throw afterValue(frame.length - position);
  if ((enc !== "clear" && enc !== "aes") || loadStart < 0) throw malformed("enc or load");
  envelope.enc = enc;
  const bodyStart = enc === "aes" ? stringStart(frame, loadStart) : loadStart;
  if (bodyStart < 0) throw malformed("load");
  envelope.load = frame.subarray(bodyStart, loadEnd);
  return envelope;
}

function malformed(field: string): SaltworksError {
  return new SaltworksError("WIRE_MALFORMED", `envelope without a usable ${field}`, { field });
}

function requiredText(frame: Uint8Array, start: number, end: number, field: string): string {
  const text = textOf(frame, start, end);
  if (text === undefined) throw malformed(field);
  return text;
}

/** Salt's versions are 0 to 3, so that only single-byte integers can be meant. */
function versionAt(frame: Uint8Array, offset: number): number {
  const code = frame[offset] ?? 0xff;
  if (code > 0x7f) throw malformed("version");
  return code;
}

/**
 * The command and the id of a clear load, undefined where they are absent or no text, and the encoded value of `pub`.
 *
 * @throws SaltworksError WIRE_MALFORMED if the load is not a map, WIRE_TRUNCATED, WIRE_TOO_DEEP
 */
export function clearLoadHead(load: Uint8Array): {
  cmd: string | undefined;
  id: string | undefined;
  pub: Uint8Array | undefined;
} {
  const { count, start } = mapHead(load, 0);
  let position = start;
  let cmd: string | undefined;
  let id: string | undefined;
  let pub: Uint8Array | undefined;
  for (let index = 0; index < count; index += 1) {
    const keyEnd = skipWhole(load, position);
    const valueEnd = skipWhole(load, keyEnd);
    const key = keyOf(load, position, keyEnd);
    if (key === "cmd") cmd = textOf(load, keyEnd, valueEnd);
    else if (key === "id") id = textOf(load, keyEnd, valueEnd);
    else if (key === "pub") pub = load.subarray(keyEnd, valueEnd);
    position = valueEnd;
  }
  return { cmd, id, pub };
}

/** `version` 0 is sent as no version at all. */
export function encodeClearRequest(load: Encodable, version: number): Buffer {
  return encode({ enc: "clear", load, version: version === 0 ? undefined : version }, "raw");
}

/** Members in the order that Salt sends them; those not given are left out. */
export function encodeSealedRequest(
  sealed: Uint8Array,
  r: { version: number; id?: string; encAlgorithm?: string; sigAlgorithm?: string },
): Buffer {
  return encode(
    {
      enc: "aes",
      load: sealed,
      version: r.version === 0 ? undefined : r.version,
      id: r.id,
      enc_algo: r.encAlgorithm,
      sig_algo: r.sigAlgorithm,
    },
    "raw",
  );
}
