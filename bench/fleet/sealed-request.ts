/**
 * Sealed requests of a minion in versions 0, 2 and 3, and their replies.
 * Source: docs/protocol.md sections 2.1 and 2.3.
 */
import { Crypticle } from "../../src/crypto/crypticle.ts";
import { decryptOaep, verify } from "../../src/crypto/rsa.ts";
import { SaltworksError } from "../../src/errors.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { decodePrivateData, decodePrivateReply, decodePrivateSigned, decodeRawReply } from "../../src/wire/reply.ts";
import { encodeSealedRequest } from "../../src/wire/request.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { encAlgorithm, type Keys, type Master, newNonce, sigAlgorithm } from "./handshake.ts";
import type { MinionKey } from "./keys.ts";
import type { RequestVersion } from "./minion-options.ts";

export type Sender = {
  readonly id: string;
  readonly key: MinionKey;
  readonly token: Uint8Array;
  readonly version: RequestVersion;
};

export type Sealed = { readonly frame: Buffer; readonly nonce: string };

/** `load` without the members that its version adds. */
export function sealRequest(load: { readonly [key: string]: Encodable }, sender: Sender, keys: Keys): Sealed {
  const { id, version, token } = sender;
  const nonce = newNonce();
  const crypticle = keys.requestKey.crypticle;
  if (version < 3) {
    const packed = encode({ ...load, nonce: version >= 2 ? nonce : undefined }, "raw");
    return { frame: encodeSealedRequest(crypticle.seal(packed), { version }), nonce };
  }
  const packed = encode({ ...load, nonce, ts: Math.floor(Date.now() / 1_000), tok: token }, "raw");
  return { frame: encodeSealedRequest(crypticle.seal(packed), { version, id, encAlgorithm, sigAlgorithm }), nonce };
}

/** @throws SaltworksError if it does not open as the reply to `nonce` */
export function openReply(frame: Uint8Array, nonce: string, sender: Sender, keys: Keys): Value {
  const ciphertext = decodeRawReply(frame);
  return decode(keys.requestKey.crypticle.open(ciphertext, sender.version >= 2 ? nonce : undefined));
}

/** The value of a reply sealed for this minion alone (`_pillar`). @throws SaltworksError if it does not open or verify */
export function openPrivateReply(frame: Uint8Array, nonce: string, sender: Sender, master: Master): Value {
  const { key, pillar } = decodePrivateReply(frame);
  const crypticle = new Crypticle(decryptOaep(sender.key.privateKey, key, encAlgorithm).toString("latin1"));
  const packed = crypticle.open(pillar);
  if (sender.version < 2) return decode(packed);
  const { data, sig } = decodePrivateSigned(packed);
  if (!verify(master.publicKey, data, sig, sigAlgorithm)) {
    throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the pillar's signature does not verify");
  }
  const content = decodePrivateData(data);
  if (content.nonce !== nonce) throw new SaltworksError("CRYPTO_BAD_NONCE", "a pillar for another request");
  return content.pillar;
}
