/**
 * RSA encryption (OAEP) and signatures (PKCS#1 v1.5) in the algorithms that Salt names.
 * Source: docs/protocol.md sections 5.1 and 5.2.
 */
import {
  constants,
  sign as cryptoSign,
  verify as cryptoVerify,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
} from "node:crypto";
import { SaltworksError } from "../errors.ts";

/** The hash serves OAEP and its mask generation alike; the label is empty. */
const oaepHashes = { "OAEP-SHA1": "sha1", "OAEP-SHA224": "sha224" } as const;
const signHashes = { "PKCS1v15-SHA1": "sha1", "PKCS1v15-SHA224": "sha224" } as const;

export type EncAlgorithm = keyof typeof oaepHashes;
export type SigAlgorithm = keyof typeof signHashes;

export function isEncAlgorithm(name: unknown): name is EncAlgorithm {
  return typeof name === "string" && Object.hasOwn(oaepHashes, name);
}

export function isSigAlgorithm(name: unknown): name is SigAlgorithm {
  return typeof name === "string" && Object.hasOwn(signHashes, name);
}

/** At most 214 bytes with SHA1, 198 with SHA224, for a key of 2,048 bits. @throws SaltworksError CRYPTO_BAD_KEY if the key is too small for `data` */
export function encryptOaep(pub: KeyObject, data: Uint8Array, algorithm: EncAlgorithm): Buffer {
  const key = { key: pub, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: oaepHashes[algorithm] };
  try {
    return publicEncrypt(key, data);
  } catch (cause) {
    throw new SaltworksError("CRYPTO_BAD_KEY", "the key cannot encrypt these bytes", { bytes: data.length }, { cause });
  }
}

/** @throws SaltworksError CRYPTO_DECRYPT_FAILED */
export function decryptOaep(priv: KeyObject, data: Uint8Array, algorithm: EncAlgorithm): Buffer {
  const key = { key: priv, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: oaepHashes[algorithm] };
  try {
    return privateDecrypt(key, data);
  } catch (cause) {
    throw new SaltworksError("CRYPTO_DECRYPT_FAILED", "ciphertext does not open under this key", {}, { cause });
  }
}

export function sign(priv: KeyObject, data: Uint8Array, algorithm: SigAlgorithm): Buffer {
  return cryptoSign(signHashes[algorithm], data, priv);
}

/** False also for a signature of the wrong length. */
export function verify(pub: KeyObject, data: Uint8Array, signature: Uint8Array, algorithm: SigAlgorithm): boolean {
  return cryptoVerify(signHashes[algorithm], data, pub, signature);
}
