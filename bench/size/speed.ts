/** A quick measure of one core: RSA-2048 and SHA-256, by which a calibration of another machine is scaled. */
import { createHash } from "node:crypto";
import { measureRsaFloor } from "../peers/rsa-floor.ts";

/** CPU microseconds of one private operation, and of hashing one mebibyte. */
export type Speed = { readonly rsaUs: number; readonly hashUs: number };

const rsaIterations = 100;
const hashRounds = 40;
const mebibyte = 1024 * 1024;

/** Takes about a fifth of a second. */
export function measureSpeed(): Speed {
  const { perPrivateUs } = measureRsaFloor(rsaIterations);
  const block = Buffer.alloc(mebibyte, 1);
  let hashUs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < hashRounds; round += 1) {
    const before = process.cpuUsage();
    createHash("sha256").update(block).digest();
    const { user, system } = process.cpuUsage(before);
    hashUs = Math.min(hashUs, user + system);
  }
  return { rsaUs: perPrivateUs, hashUs };
}

/** How many times the CPU time of `there` an operation takes here: the geometric mean of both. */
export function slowdown(here: Speed, there: Speed): number {
  return Math.sqrt((here.rsaUs / there.rsaUs) * (here.hashUs / there.hashUs));
}
