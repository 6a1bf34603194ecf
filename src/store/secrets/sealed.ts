/**
 * Seals secrets at rest: XChaCha20-Poly1305 (libsodium) under a key derived from the master's private key with HKDF-SHA256 (RFC 5869).
 * The record's name is its associated data, so that no record passes for another. Layout: version byte, 24 bytes of nonce, ciphertext and tag.
 */
import { createPrivateKey, hkdfSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import sodium from "sodium-native";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably } from "../disk/durable-file.ts";

const version = 1;
const nonceBytes = sodium.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
const tagBytes = sodium.crypto_aead_xchacha20poly1305_ietf_ABYTES;
const keyBytes = sodium.crypto_aead_xchacha20poly1305_ietf_KEYBYTES;
const headerBytes = 1 + nonceBytes;
const saltBytes = 32;
const saltFileMode = 0o600;
/** HKDF's `info`: names the purpose of the derived key, so that another purpose gives another key. */
const purpose = "saltworks/secrets-at-rest/1";

export interface SecretBox {
  /** Seals bytes. Only `open` with the same name and master key reads them. */
  seal(name: string, plain: Uint8Array): Buffer;
  /** @throws SaltworksError STORE_SEAL_BROKEN for another name, another master key, or changed bytes */
  open(name: string, sealed: Uint8Array): Buffer;
}

/** The salt for HKDF, from its file beside the secrets. The first caller makes the file. */
function saltIn(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT"))
      throw new SaltworksError("STORE_FAILED", `${file} cannot be read`, { file }, { cause: error });
  }
  createDurably(file, randomBytes(saltBytes), saltFileMode);
  return readFileSync(file);
}

class SodiumBox implements SecretBox {
  /** In locked memory, because this key opens all sealed keys. */
  readonly #key: Buffer;

  constructor(key: Uint8Array) {
    this.#key = sodium.sodium_malloc(keyBytes);
    this.#key.set(key);
  }

  seal(name: string, plain: Uint8Array): Buffer {
    const sealed = Buffer.alloc(headerBytes + plain.byteLength + tagBytes);
    sealed[0] = version;
    const nonce = sealed.subarray(1, headerBytes);
    sodium.randombytes_buf(nonce);
    const body = sealed.subarray(headerBytes);
    const message = Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(body, message, Buffer.from(name, "utf8"), null, nonce, this.#key);
    return sealed;
  }

  open(name: string, sealed: Uint8Array): Buffer {
    if (sealed.byteLength < headerBytes + tagBytes || sealed[0] !== version) throw broken(name);
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    const plain = Buffer.alloc(bytes.length - headerBytes - tagBytes);
    const nonce = bytes.subarray(1, headerBytes);
    const body = bytes.subarray(headerBytes);
    try {
      sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plain, null, body, Buffer.from(name, "utf8"), nonce, this.#key);
    } catch (cause) {
      throw broken(name, cause);
    }
    return plain;
  }
}

function broken(name: string, cause?: unknown): SaltworksError {
  return new SaltworksError(
    "STORE_SEAL_BROKEN",
    "a sealed record does not open",
    { name },
    cause === undefined ? {} : { cause },
  );
}

/** A box with this key of 32 bytes, such as a cluster's. */
export function secretBoxWith(key: Uint8Array): SecretBox {
  return new SodiumBox(key);
}

/** Opens the box of one master key. Makes `saltFile` if it is missing. If that file is lost, no sealed record opens again. */
export function openSecretBox(masterPrivatePem: string, saltFile: string): SecretBox {
  // The key is derived from the DER form, because white space in the PEM file must not matter.
  const secret = createPrivateKey(masterPrivatePem).export({ type: "pkcs1", format: "der" });
  return secretBoxWith(new Uint8Array(hkdfSync("sha256", secret, saltIn(saltFile), purpose, keyBytes)));
}
