/**
 * Crypticle: AES-CBC then HMAC-SHA256, the seal of every encrypted Salt message.
 * Source: docs/protocol.md section 4. Cipher objects are reused: docs/decisions/0010-seals-without-objects.md.
 */
import {
  type Cipher,
  createCipheriv,
  createDecipheriv,
  createHmac,
  type Decipher,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from "node:crypto";
import { SaltworksError } from "../errors.ts";
import { hmacSha256, macBytes } from "./hmac.ts";

const ivBytes = 16;
const blockBytes = 16;
const hmacKeyBytes = 32;
/** On the wire the AES key always has 192 bits. The class takes the other sizes too, as Salt's does. */
const aesKeyBytes = 24;
/** First bytes of every plaintext. The name is historical: msgpack follows. */
const prefix = Buffer.from("pickle::", "latin1");
const nonceBytes = 32;
const keyPattern = /^[A-Za-z0-9+/]{64,88}={0,2}$/;
/** Result for a plaintext without the prefix, as in Salt: an empty map. */
const emptyMap = Uint8Array.of(0x80);

/** A key string is Base64 of these: 24 bytes for AES and 32 for the HMAC. */
export const keyStringBytes = aesKeyBytes + hmacKeyBytes;

/** A new key string, 76 characters. */
export function generateKeyString(): string {
  return randomBytes(keyStringBytes).toString("base64");
}

/** One step of a long seal, bytes: takes about half a millisecond. */
const stepBytes = 128 * 1024;

/** Random bytes are drawn for 256 seals at once, because a draw of 16 bytes costs a third of a seal. Each byte is used once. */
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

/** Plaintexts of up to this size are built in a reused buffer, because the ciphers copy their input. */
const plainBytesKept = 4_096;
const plainScratch = Buffer.alloc(plainBytesKept);

/** Seals that this thread has tried to open. The master's main thread must never open one. */
let sealsOpened = 0;

export function openedSealCount(): number {
  return sealsOpened;
}

/** Bytes of a seal over `packedBytes` of content and a nonce of `nonceLength`. */
export function sealedBytes(packedBytes: number, nonceLength: number): number {
  return ivBytes + paddedBytes(prefix.length + nonceLength + packedBytes) + macBytes;
}

/** Memory of its own: a small part of a shared buffer would keep 8 KiB as long as a session lasts. */
function ownBytes(keyString: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(keyString, "base64"));
  bytes.write(keyString, "base64");
  return bytes;
}

/** Padding is never empty. */
function paddedBytes(length: number): number {
  return length + blockBytes - (length % blockBytes);
}

export class Crypticle {
  readonly #key: Buffer;
  readonly #cipherName: "aes-128-cbc" | "aes-192-cbc" | "aes-256-cbc";
  #cipher: Cipher | undefined;
  #isUsed = false;
  #decipher: Decipher | undefined;

  /** @throws SaltworksError CRYPTO_BAD_KEY for text that is not Base64 of 48, 56 or 64 bytes */
  constructor(keyString: string) {
    const key = keyPattern.test(keyString) ? ownBytes(keyString) : Buffer.alloc(0);
    const aesBytes = key.length - hmacKeyBytes;
    if (aesBytes !== 16 && aesBytes !== 24 && aesBytes !== 32) {
      throw new SaltworksError("CRYPTO_BAD_KEY", "not a session key string");
    }
    this.#key = key;
    this.#cipherName = aesBytes === 16 ? "aes-128-cbc" : aesBytes === 24 ? "aes-192-cbc" : "aes-256-cbc";
  }

  /** `packed`: msgpack of the value. `nonce`: 32 characters, in replies to version 2 and 3 only. `iv` is random unless given. */
  seal(packed: Uint8Array, nonce = "", iv?: Uint8Array): Buffer {
    const token = Buffer.allocUnsafeSlow(sealedBytes(packed.length, nonce.length));
    this.sealTo(token, 0, packed, nonce, iv);
    return token;
  }

  /** As `seal`, into `target` from `at` on, which must have room for `sealedBytes`. @returns where the seal ends */
  sealTo(target: Buffer, at: number, packed: Uint8Array, nonce = "", iv?: Uint8Array): number {
    const plain = plaintext(packed, nonce);
    this.#isUsed = true;
    let macStart = at + ivBytes;
    if (iv === undefined) {
      // CBC chains across messages, because the cipher is used again. Each message starts with one random block; its ciphertext is that message's iv.
      plain.set(randomIv());
      this.#cipher ??= createCipheriv(this.#cipherName, this.#aesKey, randomIv()).setAutoPadding(false);
      macStart = at + copyTo(target, at, this.#cipher.update(plain));
    } else {
      target.set(iv, at);
      const once = createCipheriv(this.#cipherName, this.#aesKey, iv).setAutoPadding(false);
      macStart += copyTo(target, macStart, once.update(plain.subarray(ivBytes)));
    }
    target.set(hmacSha256(this.#hmacKey, target.subarray(at, macStart)), macStart);
    return macStart + macBytes;
  }

  /** As `seal`, in steps of under a millisecond. Between them `pause` gives the thread to other work. */
  async sealInSteps(packed: Uint8Array, nonce: string, pause: () => Promise<unknown>): Promise<Buffer> {
    const length = sealedBytes(packed.length, nonce.length);
    if (length <= stepBytes) return this.seal(packed, nonce);
    const token = Buffer.allocUnsafeSlow(length);
    const plain = plaintext(packed, nonce).subarray(ivBytes);
    const iv = Buffer.from(randomIv());
    const cipher = createCipheriv(this.#cipherName, this.#aesKey, iv).setAutoPadding(false);
    const mac = createHmac("sha256", this.#hmacKey).update(iv);
    let end = copyTo(token, 0, iv);
    for (let at = 0; at < plain.length; at += stepBytes) {
      await pause();
      const step = cipher.update(plain.subarray(at, at + stepBytes));
      mac.update(step);
      end += copyTo(token, end, step);
    }
    token.set(mac.digest(), end);
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

  /** Drops the ciphers if they were not used since the last call; the next use makes new ones. @returns whether there were any to drop */
  rest(): boolean {
    const isResting = !this.#isUsed && (this.#cipher !== undefined || this.#decipher !== undefined);
    this.#isUsed = false;
    if (!isResting) return false;
    this.#cipher = undefined;
    this.#decipher = undefined;
    return true;
  }

  get #aesKey(): Buffer {
    return this.#key.subarray(0, -hmacKeyBytes);
  }

  get #hmacKey(): Buffer {
    return this.#key.subarray(-hmacKeyBytes);
  }

  #decrypt(token: Uint8Array): Buffer {
    sealsOpened += 1;
    this.#isUsed = true;
    const macStart = token.length - macBytes;
    if (macStart < ivBytes)
      throw new SaltworksError("CRYPTO_BAD_MAC", "sealed message too short", { bytes: token.length });
    if (!timingSafeEqual(hmacSha256(this.#hmacKey, token.subarray(0, macStart)), token.subarray(macStart)))
      throw new SaltworksError("CRYPTO_BAD_MAC", "sealed message does not verify");
    if (macStart % blockBytes !== 0)
      throw new SaltworksError("WIRE_MALFORMED", "sealed message is not made of whole blocks");
    this.#decipher ??= createDecipheriv(this.#cipherName, this.#aesKey, randomIv()).setAutoPadding(false);
    // CBC chains across messages, because the decipher is used again. The iv goes first, as a block whose plaintext is dropped.
    const padded = this.#decipher.update(token.subarray(0, macStart));
    // The last byte is the number of padding bytes. As in Salt the others are not checked, because the MAC covers them.
    const padBytes = macStart === ivBytes ? 0 : (padded[padded.length - 1] ?? 0);
    return padBytes === 0 ? Buffer.alloc(0) : padded.subarray(ivBytes, Math.max(ivBytes, padded.length - padBytes));
  }
}

/** Room for an iv, then the padded plaintext. Padded here, so that one `update` gives the whole ciphertext without a `final`. */
function plaintext(packed: Uint8Array, nonce: string): Buffer {
  const length = ivBytes + prefix.length + nonce.length + packed.length;
  const total = paddedBytes(length);
  const plain = total <= plainBytesKept ? plainScratch.subarray(0, total) : Buffer.allocUnsafeSlow(total);
  prefix.copy(plain, ivBytes);
  if (nonce !== "") plain.write(nonce, ivBytes + prefix.length, "latin1");
  plain.set(packed, ivBytes + prefix.length + nonce.length);
  plain.fill(total - length, length);
  return plain;
}

function copyTo(target: Buffer, at: number, bytes: Buffer): number {
  target.set(bytes, at);
  return bytes.length;
}
