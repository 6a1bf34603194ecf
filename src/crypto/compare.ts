/**
 * Comparison of secrets in constant time, safe for different lengths.
 * Source: libsodium's sodium_memcmp.
 */
import sodium from "sodium-native";

/** Whether both are the same bytes (text counts as its UTF-8). Only the lengths can be learned from the time it takes. */
export function equalSecrets(a: Uint8Array | string, b: Uint8Array | string): boolean {
  const left = typeof a === "string" ? Buffer.from(a, "utf8") : bufferOf(a);
  const right = typeof b === "string" ? Buffer.from(b, "utf8") : bufferOf(b);
  return left.length === right.length && sodium.sodium_memcmp(left, right);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
