/**
 * HMAC-SHA256 for many short messages under many keys: two one-shot hashes over reused memory instead of an object per message.
 * Source: RFC 2104. docs/decisions/0010-seals-without-objects.md has the measurements.
 */
import { createHmac, hash } from "node:crypto";
import sodium from "sodium-native";

export const macBytes = 32;
const blockBytes = 64;
const innerPad = 0x36;
const outerPad = 0x5c;
/** Messages over this size are not copied: OpenSSL reads them in place. */
const copiedBytesMax = 16 * 1024;
/** Up to this size libsodium is faster than OpenSSL, which first has to look up its optimised code. */
const shortBytesMax = 192;

const inner = Buffer.alloc(blockBytes + copiedBytesMax, innerPad);
const outer = Buffer.alloc(blockBytes + macBytes, outerPad);
const innerMac = outer.subarray(blockBytes);
const result = Buffer.alloc(macBytes);

/** `key`: at most 64 bytes. The result is a buffer of this file, valid until the next call. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Buffer {
  if (message.length > copiedBytesMax) return createHmac("sha256", key).update(message).digest();
  for (let index = 0; index < key.length; index += 1) {
    const byte = key[index] ?? 0;
    inner[index] = byte ^ innerPad;
    outer[index] = byte ^ outerPad;
  }
  inner.fill(innerPad, key.length, blockBytes);
  outer.fill(outerPad, key.length, blockBytes);
  inner.set(message, blockBytes);
  const input = inner.subarray(0, blockBytes + message.length);
  if (input.length <= shortBytesMax) sodium.crypto_hash_sha256(innerMac, input);
  else innerMac.set(hash("sha256", input, "buffer"));
  sodium.crypto_hash_sha256(result, outer);
  return result;
}
