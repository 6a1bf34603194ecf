/**
 * RSA keys for simulated minions, cheap enough that a fleet starts in seconds.
 * Finding primes is nearly the whole cost of a key (OpenSSL: 160 ms a pair on a CI machine). So a small pool of primes is found once, and
 * each minion gets its own pair of them. Such a modulus is as large and as costly to use as any other. The keys are for load only, because
 * two moduli may share a prime, which their greatest common divisor shows.
 */
import { createPrivateKey, createPublicKey, generatePrime, type KeyObject } from "node:crypto";
import { constants, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SaltworksError } from "../../src/errors.ts";

const primeBits = 1_024;
const publicExponent = 65_537n;
/** Primes searched at once: the number of threads of libuv's pool. */
const searchesAtOnce = 4;

export type MinionKey = { readonly privateKey: KeyObject; readonly publicPem: string };

/** The default directory of primes between runs; only its owner can read its files. */
export function defaultKeyDirectory(): string {
  return join(tmpdir(), `saltworks-fleet-keys-${process.getuid?.() ?? 0}`);
}

/** The number of keys that `primeCount` primes give: one for each pair. */
function pairCount(primeCount: number): number {
  return (primeCount * (primeCount - 1)) / 2;
}

export type Progress = (done: number, total: number) => void;

/**
 * The primes for `keyCount` keys, as hex: read from `directory`; missing ones are found and written there.
 * Two processes may do this at once: each writes a whole file, and the last one stays.
 */
export async function loadPrimes(
  directory: string,
  keyCount: number,
  onProgress: Progress = () => {},
): Promise<string[]> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  demandOwn(directory);
  const file = primesFile(directory);
  const primes = readPrimes(file);
  const missing: Promise<void>[] = [];
  let wanted = 2;
  while (pairCount(wanted) < keyCount) wanted += 1;
  const found = primes.length;
  const search = async (): Promise<void> => {
    while (primes.length < wanted) {
      const prime = await findPrime();
      if (primes.length < wanted && !primes.includes(prime)) primes.push(prime);
      onProgress(primes.length - found, wanted - found);
    }
  };
  if (found >= wanted) return primes.slice(0, wanted);
  for (let index = 0; index < searchesAtOnce; index += 1) missing.push(search());
  await Promise.all(missing);
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, JSON.stringify(primes), { mode: 0o600 });
  renameSync(partial, file);
  return primes;
}

/** Others who can write there would know the private keys of minions that a master accepts. */
function demandOwn(directory: string): void {
  const { mode, uid } = lstatSync(directory);
  const isOwn = (mode & constants.S_IFMT) === constants.S_IFDIR && uid === process.getuid?.() && (mode & 0o022) === 0;
  if (isOwn) return;
  throw new SaltworksError(
    "USAGE",
    `${directory}, the directory of minions' keys, must be a directory that only its owner, this user, can write to`,
  );
}

/**
 * Refuses a directory that has keys for fewer minions.
 *
 * @throws SaltworksError USAGE
 */
export function demandKeys(directory: string, keyCount: number): void {
  const count = pairCount(readPrimes(primesFile(directory)).length);
  if (count >= keyCount) return;
  throw new SaltworksError(
    "USAGE",
    `--keys ${directory} has keys for ${count} minions, not for ${keyCount}: saltworks bench keys DIR --minions ${keyCount}`,
  );
}

function primesFile(directory: string): string {
  return join(directory, `primes-${primeBits}.json`);
}

function readPrimes(file: string): string[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as string[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

const generate: (bits: number) => Promise<ArrayBuffer> = promisify(generatePrime);

/** A prime with its two upper bits set, so that two of them make 2,048 bits, and usable with the exponent. */
async function findPrime(): Promise<string> {
  for (;;) {
    const hex = Buffer.from(await generate(primeBits)).toString("hex");
    if (hex >= "c" && (BigInt(`0x${hex}`) - 1n) % publicExponent !== 0n) return hex;
  }
}

/** The key of minion `index`: always the same for the same primes. */
export function minionKey(primes: readonly string[], index: number): MinionKey {
  let second = 1;
  while (pairCount(second + 1) <= index) second += 1;
  const p = primes[second];
  const q = primes[index - pairCount(second)];
  if (p === undefined || q === undefined) throw new RangeError(`no primes for key ${index}`);
  const privateKey = createPrivateKey({ key: jwkOf(BigInt(`0x${p}`), BigInt(`0x${q}`)), format: "jwk" });
  const publicPem = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString().trim();
  return { privateKey, publicPem };
}

function jwkOf(p: bigint, q: bigint) {
  const d = inverse(publicExponent, (p - 1n) * (q - 1n));
  return {
    kty: "RSA",
    n: base64Url(p * q),
    e: base64Url(publicExponent),
    d: base64Url(d),
    p: base64Url(p),
    q: base64Url(q),
    dp: base64Url(d % (p - 1n)),
    dq: base64Url(d % (q - 1n)),
    qi: base64Url(inverse(q, p)),
  };
}

function base64Url(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
}

/** Extended Euclid. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [previous, current] = [modulus, value % modulus];
  let [previousFactor, factor] = [0n, 1n];
  while (current > 1n) {
    const quotient = previous / current;
    [previous, current] = [current, previous - quotient * current];
    [previousFactor, factor] = [factor, previousFactor - quotient * factor];
  }
  return ((factor % modulus) + modulus) % modulus;
}
