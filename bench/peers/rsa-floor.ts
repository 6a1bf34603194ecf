/**
 * The CPU time of RSA alone for one `_auth` of an accepted minion: the operations that no master can leave out, in a loop, without Salt's protocol.
 * Source: docs/protocol.md section 3.2. The X9.31 signature of the AES key is not among them: it is the same until the key changes.
 */
import { constants, generateKeyPairSync, privateDecrypt, publicEncrypt, sign } from "node:crypto";

/** Microseconds of CPU. `perPrivate`, `perPublic`: one operation of RSA-2048. */
export type RsaFloor = {
  readonly perPrivateUs: number;
  readonly perPublicUs: number;
  /** Without a token: the reply is signed, and AES key and session key are encrypted for the minion. */
  readonly withoutTokenUs: number;
  /** With a token: the token is decrypted and encrypted again, too. */
  readonly withTokenUs: number;
};

const keyBits = 2_048;
/** Bytes of a signed reply without token: two ciphertexts and a signature of 256 bytes each, the master's key as PEM, names. */
const signedBytes = 1_400;
/** A key string. */
const keyStringBytes = 76;
const warmUpShare = 0.1;
const publicPerPrivate = 4;

/** Takes about `iterations` times 0.7 ms, in this thread. */
export function measureRsaFloor(iterations: number): RsaFloor {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: keyBits });
  const content = Buffer.alloc(signedBytes, 1);
  const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" };
  const forMinion = { ...oaep, key: publicKey };
  const forMaster = { ...oaep, key: privateKey };
  const keyString = Buffer.alloc(keyStringBytes, 65);
  const token = publicEncrypt(forMinion, keyString);
  const signUs = perCallUs(iterations, () => sign("sha1", content, privateKey));
  const decryptUs = perCallUs(iterations, () => privateDecrypt(forMaster, token));
  const encryptUs = perCallUs(iterations * publicPerPrivate, () => publicEncrypt(forMinion, keyString));
  return {
    perPrivateUs: (signUs + decryptUs) / 2,
    perPublicUs: encryptUs,
    withoutTokenUs: signUs + 2 * encryptUs,
    withTokenUs: signUs + decryptUs + 3 * encryptUs,
  };
}

function perCallUs(count: number, call: () => unknown): number {
  for (let index = 0; index < count * warmUpShare; index += 1) call();
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) call();
  const used = process.cpuUsage(before);
  return (used.user + used.system) / count;
}
