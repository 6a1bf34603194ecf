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
const oaepHashes = new Map([
  ["OAEP-SHA1", "sha1"],
  ["OAEP-SHA224", "sha224"],
] as const);
const signHashes = new Map([
  ["PKCS1v15-SHA1", "sha1"],
  ["PKCS1v15-SHA224", "sha224"],
] as const);

export type EncAlgorithm = "OAEP-SHA1" | "OAEP-SHA224";
export type SigAlgorithm = "PKCS1v15-SHA1" | "PKCS1v15-SHA224";

export function isEncAlgorithm(name: unknown): name is EncAlgorithm {
  return oaepHashes.has(name as EncAlgorithm);
}

export function isSigAlgorithm(name: unknown): name is SigAlgorithm {
  return signHashes.has(name as SigAlgorithm);
}

/** Minions choose the names, so the hashes are Maps, which have no inherited keys. @throws SaltworksError CRYPTO_BAD_ALGORITHM */
function hashOf<Name extends string>(hashes: ReadonlyMap<Name, string>, name: Name): string {
  const hash = hashes.get(name);
  if (hash === undefined)
    throw new SaltworksError("CRYPTO_BAD_ALGORITHM", "unknown algorithm", { name: name.slice(0, 64) });
  return hash;
}

/** At most 214 bytes with SHA1, 198 with SHA224, for a key of 2,048 bits. @throws SaltworksError CRYPTO_BAD_KEY if the key is too small for `data` */
export function encryptOaep(pub: KeyObject, data: Uint8Array, algorithm: EncAlgorithm): Buffer {
  const key = { key: pub, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hashOf(oaepHashes, algorithm) };
  try {
    return publicEncrypt(key, data);
  } catch (cause) {
    throw new SaltworksError("CRYPTO_BAD_KEY", "the key cannot encrypt these bytes", { bytes: data.length }, { cause });
  }
}

/** @throws SaltworksError CRYPTO_DECRYPT_FAILED */
export function decryptOaep(priv: KeyObject, data: Uint8Array, algorithm: EncAlgorithm): Buffer {
  const key = { key: priv, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hashOf(oaepHashes, algorithm) };
  try {
    return privateDecrypt(key, data);
  } catch (cause) {
    throw new SaltworksError("CRYPTO_DECRYPT_FAILED", "the key does not decrypt the ciphertext", {}, { cause });
  }
}

export function sign(priv: KeyObject, data: Uint8Array, algorithm: SigAlgorithm): Buffer {
  return cryptoSign(hashOf(signHashes, algorithm), data, priv);
}

/** False also for a signature of the wrong length. */
export function verify(pub: KeyObject, data: Uint8Array, signature: Uint8Array, algorithm: SigAlgorithm): boolean {
  return cryptoVerify(hashOf(signHashes, algorithm), data, pub, signature);
}
