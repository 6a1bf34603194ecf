/**
 * The outer map of a publish on port 4505: ciphertext and its signature.
 * Source: docs/protocol.md section 2.4. Pure: no I/O, no clock, no randomness.
 */
import { SaltworksError } from "../errors.ts";
import { bytesField, textField } from "./fields.ts";
import { decode, encode } from "./msgpack.ts";

/** `load`: the publish load sealed under the master's AES key. `sig`: PKCS1v15 over exactly these bytes. */
export type Publish = { load: Uint8Array; sigAlgorithm?: string; sig?: Uint8Array };

export function encodePublish(publish: Publish): Buffer {
  const { load, sigAlgorithm, sig } = publish;
  return encode({ enc: "aes", load, sig_algo: sigAlgorithm, sig }, "raw");
}

/** @throws SaltworksError WIRE_MALFORMED for anything but an encrypted publish; errors of `decode` */
export function decodePublish(frame: Uint8Array): Publish {
  const outer = decode(frame, "bytes");
  if (!(outer instanceof Map) || textField(outer, "enc") !== "aes") {
    throw new SaltworksError("WIRE_MALFORMED", "not an encrypted publish");
  }
  const load = bytesField(outer, "load");
  if (load === undefined) throw new SaltworksError("WIRE_MALFORMED", "a publish without load");
  const sigAlgorithm = textField(outer, "sig_algo");
  const sig = bytesField(outer, "sig");
  return { load, ...(sigAlgorithm === undefined ? {} : { sigAlgorithm }), ...(sig === undefined ? {} : { sig }) };
}
