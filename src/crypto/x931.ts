/**
 * X9.31 signatures with message recovery, as OpenSSL's padding 5 makes them: the request token and the AES key's signature.
 * OpenSSL 3 refuses the padding that Node.js offers, so this file builds the block and calls the raw RSA operation of Node.js.
 * Source: docs/protocol.md section 5.3.
 */
import { constants, createPublicKey, type KeyObject, privateEncrypt, publicDecrypt } from "node:crypto";
import { SaltworksError } from "../errors.ts";

/** Header without and with padding, the padding, its end, and the trailer of every block. */
const headerFull = 0x6a;
const headerPadded = 0x6b;
const padding = 0xbb;
const paddingEnd = 0xba;
const trailer = 0xcc;

const modulusOf = new WeakMap<KeyObject, Buffer>();

/** The modulus, big-endian; kept per key because half of all recoveries need it. */
function modulus(key: KeyObject): Buffer {
  const known = modulusOf.get(key);
  if (known !== undefined) return known;
  const { n } = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  if (typeof n !== "string") throw new SaltworksError("CRYPTO_BAD_KEY", "not an RSA key");
  const bytes = Buffer.from(n, "base64url");
  modulusOf.set(key, bytes);
  return bytes;
}

/** `n - value`, both big-endian of the same length; `value` is below `n`. */
function minus(n: Buffer, value: Buffer): Buffer {
  const hex = (BigInt(`0x${n.toString("hex")}`) - BigInt(`0x${value.toString("hex")}`)).toString(16);
  return Buffer.from(hex.padStart(n.length * 2, "0"), "hex");
}

function encodeBlock(message: Uint8Array, length: number): Buffer {
  const paddingBytes = length - message.length - 2;
  if (paddingBytes < 0)
    throw new SaltworksError("CRYPTO_BAD_KEY", "message too long for the key", { bytes: message.length });
  const block = Buffer.alloc(length, padding);
  block[0] = paddingBytes === 0 ? headerFull : headerPadded;
  if (paddingBytes > 0) block[length - message.length - 2] = paddingEnd;
  block.set(message, length - message.length - 1);
  block[length - 1] = trailer;
  return block;
}

function decodeBlock(block: Buffer): Buffer | undefined {
  if (block[block.length - 1] !== trailer) return undefined;
  if (block[0] === headerFull) return block.subarray(1, -1);
  if (block[0] !== headerPadded) return undefined;
  let index = 1;
  while (block[index] === padding) index += 1;
  return block[index] === paddingEnd ? block.subarray(index + 1, -1) : undefined;
}

/** Deterministic: the smaller of s and n - s. @throws SaltworksError CRYPTO_BAD_KEY if the message does not fit the key */
export function signX931(priv: KeyObject, message: Uint8Array): Buffer {
  const n = modulus(priv);
  const s = privateEncrypt({ key: priv, padding: constants.RSA_NO_PADDING }, encodeBlock(message, n.length));
  const t = minus(n, s);
  return s.compare(t) <= 0 ? s : t;
}

/** The message that was signed. @throws SaltworksError CRYPTO_BAD_SIGNATURE */
export function recoverX931(pub: KeyObject, signature: Uint8Array): Buffer {
  let value: Buffer;
  try {
    value = publicDecrypt({ key: pub, padding: constants.RSA_NO_PADDING }, signature);
  } catch (cause) {
    throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "not a signature of this key's size", {}, { cause });
  }
  if (((value[value.length - 1] ?? 0) & 0x0f) !== (trailer & 0x0f)) value = minus(modulus(pub), value);
  const message = decodeBlock(value);
  if (message === undefined) throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "not an X9.31 signature by this key");
  return message;
}
