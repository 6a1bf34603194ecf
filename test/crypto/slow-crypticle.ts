/** The slow, literal Crypticle of docs/protocol.md section 4, to compare the fast one with. */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

function keysOf(keyString: string): { aes: Buffer; hmac: Buffer; cipher: string } {
  const raw = Buffer.from(keyString, "base64");
  const aes = raw.subarray(0, raw.length - 32);
  return { aes, hmac: raw.subarray(raw.length - 32), cipher: `aes-${aes.length * 8}-cbc` };
}

export function slowSeal(keyString: string, packed: Uint8Array, nonce: string, iv: Uint8Array): Buffer {
  const { aes, hmac, cipher } = keysOf(keyString);
  const plain = Buffer.concat([Buffer.from("pickle::"), Buffer.from(nonce), packed]);
  const padBytes = 16 - (plain.length % 16);
  const padded = Buffer.concat([plain, Buffer.alloc(padBytes, padBytes)]);
  const aesCbc = createCipheriv(cipher, aes, iv);
  aesCbc.setAutoPadding(false);
  const body = Buffer.concat([iv, aesCbc.update(padded), aesCbc.final()]);
  return Buffer.concat([body, createHmac("sha256", hmac).update(body).digest()]);
}

/** The whole plaintext, prefix and nonce included. */
export function slowOpen(keyString: string, token: Uint8Array): Buffer {
  const { aes, hmac, cipher } = keysOf(keyString);
  const body = token.subarray(0, -32);
  const mac = createHmac("sha256", hmac).update(body).digest();
  if (!mac.equals(token.subarray(-32))) throw new Error("bad mac");
  const aesCbc = createDecipheriv(cipher, aes, body.subarray(0, 16));
  aesCbc.setAutoPadding(false);
  const padded = Buffer.concat([aesCbc.update(body.subarray(16)), aesCbc.final()]);
  return padded.subarray(0, padded.length - (padded.at(-1) ?? 0));
}
