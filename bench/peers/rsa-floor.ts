/**
 * The CPU time of RSA alone for one `_auth` of an accepted minion, on an idle core: the operations that no master can leave out, in a loop, without
 * Salt's protocol. A core that shares its execution units with a busy one takes up to twice as long, so the reference waits for a quiet machine.
 * Source: docs/protocol.md section 3.2. The X9.31 signature of the AES key is not among them: it is the same until the key changes.
 */
import { constants, generateKeyPairSync, privateDecrypt, publicEncrypt, sign } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type MachineTimes, machineTimes, otherShareBetween } from "../machine-load.ts";

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
/** Parts of one operation's repetitions. Nothing disturbed the fastest of them. */
const partsOfOperation = 20;
const undisturbedShare = 0.25;
/** Other programs may use this share of the machine while the reference is measured. */
const idleShareMax = 0.05;
const idleLookMs = 250;

/** Waits for an idle machine, at most `waitMaxMs`. `otherShare`: of the machine's CPU time that other programs took during the measurement. */
export async function measureIdleRsaFloor(
  iterations: number,
  waitMaxMs: number,
): Promise<RsaFloor & { readonly otherShare: number }> {
  let before = machineTimes();
  for (let look = 0; look < waitMaxMs / idleLookMs; look += 1) {
    await wait(idleLookMs);
    const now = machineTimes();
    const share = otherShareBetween(before, now);
    before = now;
    if (share <= idleShareMax) break;
  }
  const start: MachineTimes = machineTimes();
  const floor = measureRsaFloor(iterations);
  return { ...floor, otherShare: otherShareBetween(start, machineTimes()) };
}

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

/** Mean of the fastest quarter of the parts. */
function perCallUs(count: number, call: () => unknown): number {
  for (let index = 0; index < count * warmUpShare; index += 1) call();
  const perPart = Math.max(1, Math.round(count / partsOfOperation));
  const parts = Array.from({ length: partsOfOperation }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < perPart; index += 1) call();
    const used = process.cpuUsage(before);
    return (used.user + used.system) / perPart;
  });
  const fastest = parts.sort((a, b) => a - b).slice(0, Math.ceil(partsOfOperation * undisturbedShare));
  return fastest.reduce((sum, us) => sum + us, 0) / fastest.length;
}
