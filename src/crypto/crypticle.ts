/**
 * Crypticle: AES-CBC then HMAC-SHA256, the seal of every encrypted Salt message.
 * Source: docs/protocol.md section 4.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from "node:crypto";
import { SaltworksError } from "../errors.ts";

const ivBytes = 16;
const blockBytes = 16;
const macBytes = 32;
const hmacKeyBytes = 32;
/** On the wire the AES key is always 192 bits; the class, as Salt's, takes the others too. */
const aesKeyBytes = 24;
/** First bytes of every plaintext. The word is historical: what follows is msgpack. */
const prefix = Buffer.from("pickle::", "latin1");
const nonceBytes = 32;
const keyPattern = /^[A-Za-z0-9+/]{64,88}={0,2}$/;
/** What Salt's receiver gives for a plaintext without the prefix: an empty map. */
const emptyMap = Uint8Array.of(0x80);

/** A new key string: Base64 of 24 bytes for AES and 32 for the HMAC, 76 characters. */
export function generateKeyString(): string {
  return randomBytes(aesKeyBytes + hmacKeyBytes).toString("base64");
}

/** Random bytes are drawn for 256 seals at once: one draw of 16 bytes costs a third of a seal. Each is used once. */
const ivPool = Buffer.allocUnsafeSlow(256 * ivBytes);
let ivPoolUsed = ivPool.length;

function randomIv(): Uint8Array {
  if (ivPoolUsed === ivPool.length) {
    randomFillSync(ivPool);
    ivPoolUsed = 0;
  }
  ivPoolUsed += ivBytes;
  return ivPool.subarray(ivPoolUsed - ivBytes, ivPoolUsed);
}

/** Seals that this thread has tried to open: the master's main thread must never. */
let sealsOpened = 0;

export function openedSealCount(): number {
  return sealsOpened;
}

export class Crypticle {
  readonly #aesKey: KeyObject;
  readonly #hmacKey: KeyObject;
  readonly #cipher: "aes-128-cbc" | "aes-192-cbc" | "aes-256-cbc";

  /** @throws SaltworksError CRYPTO_BAD_KEY for text that is not Base64 of 48, 56 or 64 bytes */
  constructor(keyString: string) {
    const raw = keyPattern.test(keyString) ? Buffer.from(keyString, "base64") : Buffer.alloc(0);
    const aesBytes = raw.length - hmacKeyBytes;
    if (aesBytes !== 16 && aesBytes !== 24 && aesBytes !== 32) {
      throw new SaltworksError("CRYPTO_BAD_KEY", "not a session key string");
    }
    this.#cipher = aesBytes === 16 ? "aes-128-cbc" : aesBytes === 24 ? "aes-192-cbc" : "aes-256-cbc";
    this.#aesKey = createSecretKey(raw.subarray(0, aesBytes));
    this.#hmacKey = createSecretKey(raw.subarray(aesBytes));
    raw.fill(0);
  }

  /** `packed`: msgpack of the value. `nonce`: 32 characters, in replies to version 2 and 3 only. `iv` is random unless given. */
  seal(packed: Uint8Array, nonce = "", iv: Uint8Array = randomIv()): Buffer {
    const length = prefix.length + nonce.length + packed.length;
    const padBytes = blockBytes - (length % blockBytes);
    const plain = Buffer.allocUnsafe(length + padBytes);
    prefix.copy(plain);
    if (nonce !== "") plain.write(nonce, prefix.length, "latin1");
    plain.set(packed, prefix.length + nonce.length);
    plain.fill(padBytes, length);
    // Padded by hand, so that one update gives all of the ciphertext and no final call is needed.
    const cipher = createCipheriv(this.#cipher, this.#aesKey, iv).setAutoPadding(false);
    const ciphertext = cipher.update(plain);
    const token = Buffer.allocUnsafeSlow(ivBytes + ciphertext.length + macBytes);
    token.set(iv);
    ciphertext.copy(token, ivBytes);
    const macStart = ivBytes + ciphertext.length;
    createHmac("sha256", this.#hmacKey).update(token.subarray(0, macStart)).digest().copy(token, macStart);
    return token;
  }

  /**
   * The packed value after prefix and nonce. The plaintext of a token without the prefix reads as an empty map, as in Salt.
   *
   * @throws SaltworksError CRYPTO_BAD_MAC, CRYPTO_BAD_NONCE, WIRE_MALFORMED (authentic, but no whole blocks)
   */
  open(token: Uint8Array, nonce?: string): Uint8Array {
    const plain = this.#decrypt(token);
    if (plain.length < prefix.length || prefix.compare(plain, 0, prefix.length) !== 0) return emptyMap.slice();
    if (nonce === undefined) return plain.subarray(prefix.length);
    const end = prefix.length + nonceBytes;
    if (plain.length < end || plain.toString("latin1", prefix.length, end) !== nonce) {
      throw new SaltworksError("CRYPTO_BAD_NONCE", "a reply to another request");
    }
    return plain.subarray(end);
  }

  #decrypt(token: Uint8Array): Buffer {
    sealsOpened += 1;
    const macStart = token.length - macBytes;
    if (macStart < ivBytes)
      throw new SaltworksError("CRYPTO_BAD_MAC", "sealed message too short", { bytes: token.length });
    const mac = createHmac("sha256", this.#hmacKey).update(token.subarray(0, macStart)).digest();
    if (!timingSafeEqual(mac, token.subarray(macStart)))
      throw new SaltworksError("CRYPTO_BAD_MAC", "sealed message does not verify");
    if (macStart % blockBytes !== 0) throw new SaltworksError("WIRE_MALFORMED", "sealed message is no whole blocks");
    const decipher = createDecipheriv(this.#cipher, this.#aesKey, token.subarray(0, ivBytes)).setAutoPadding(false);
    const padded = decipher.update(token.subarray(ivBytes, macStart));
    // The last byte says how many to drop and, as in Salt, nothing else is checked: the MAC already vouches for it.
    const padBytes = padded[padded.length - 1] ?? 0;
    return padBytes === 0 ? Buffer.alloc(0) : padded.subarray(0, Math.max(0, padded.length - padBytes));
  }
}
