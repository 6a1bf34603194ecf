/**
 * The user that a member is to its NATS server: an nkey, which is an Ed25519 key in NATS's own encoding.
 * Source: github.com/nats-io/nkeys 0.4.16, whose output a test compares.
 */
import { nkeys } from "@nats-io/nats-core";

/** `publicKey`: `U...`, for the server's configuration. `seed`: the bytes of `SU...`, as `nkeyAuthenticator` takes them. */
export type NkeyUser = { readonly publicKey: string; readonly seed: Uint8Array };

/** The prefix bytes of a user's seed, which make its text begin with `SU`. */
const userSeedPrefix = Buffer.of(0x90 | (0xa0 >> 5), (0xa0 & 0x1f) << 3);
const base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * The package for nkeys makes keys from randomness of its own only, so the seed's text is written here. The package then reads it, which checks
 * its form.
 *
 * @param clientSeed - 32 bytes
 */
export function nkeyUser(clientSeed: Buffer): NkeyUser {
  const body = Buffer.concat([userSeedPrefix, clientSeed]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(body));
  const seed = Buffer.from(base32(Buffer.concat([body, checksum])));
  return { publicKey: nkeys.fromSeed(seed).getPublicKey(), seed };
}

/** CRC-16/XMODEM. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ ((crc & 0x8000) === 0 ? 0 : 0x1021)) & 0xffff;
  }
  return crc;
}

/** RFC 4648 section 6 without padding, for 36 bytes that do not begin with five zero bits: 288 bits and two more make 58 digits. */
function base32(bytes: Buffer): string {
  const digits = (BigInt(`0x${bytes.toString("hex")}`) << 2n).toString(32);
  return [...digits].map((digit) => base32Alphabet[Number.parseInt(digit, 32)]).join("");
}
