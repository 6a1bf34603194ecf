/**
 * Checks passwords against hashes of password files: MD5-crypt (`$1$`), Apache's variant of it (`$apr1$`), SHA-crypt (`$5$`, `$6$`) and
 * `{SHA}`. Sources: Poul-Henning Kamp's md5crypt, Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512", Apache's "Password Formats".
 */
import { createHash } from "node:crypto";
import { cryptRoundsMax } from "../limits.ts";
import { equalSecrets } from "./compare.ts";

const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const md5Rounds = 1_000;
const md5SaltMax = 8;
const shaSaltMax = 16;
const shaRounds = { first: 5_000, min: 1_000 } as const;

/** Whether the password has this hash. Undefined if the form of the hash is unknown. */
export function isPasswordOf(hash: string, password: string): boolean | undefined {
  const made = hashLike(hash, Buffer.from(password, "utf8"));
  return made === undefined ? undefined : equalSecrets(made, hash);
}

function hashLike(hash: string, password: Buffer): string | undefined {
  const base64 = /^\{SHA\}/.exec(hash);
  if (base64 !== null) return `{SHA}${createHash("sha1").update(password).digest("base64")}`;
  const md5 = /^\$(1|apr1)\$([^$]*)\$/.exec(hash);
  if (md5 !== null) return md5Crypt(`$${md5[1]}$`, (md5[2] ?? "").slice(0, md5SaltMax), password);
  const sha = /^\$([56])\$(?:rounds=(\d{1,9})\$)?([^$]*)\$/.exec(hash);
  if (sha === null) return undefined;
  const rounds = sha[2] === undefined ? undefined : Math.max(shaRounds.min, Number(sha[2]));
  if ((rounds ?? 0) > cryptRoundsMax) return undefined;
  return shaCrypt(sha[1] === "5" ? "sha256" : "sha512", (sha[3] ?? "").slice(0, shaSaltMax), rounds, password);
}

function digest(algorithm: string, parts: readonly (Uint8Array | string)[]): Buffer {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** `block` repeated, cut at `length`. */
function repeated(block: Buffer, length: number): Buffer {
  const filled = Buffer.alloc(length);
  if (length > 0) filled.fill(block);
  return filled;
}

function md5Crypt(magic: string, salt: string, password: Buffer): string {
  const inner = digest("md5", [password, salt, password]);
  const parts: (Uint8Array | string)[] = [password, magic, salt, repeated(inner, password.length)];
  for (let bits = password.length; bits > 0; bits >>= 1)
    parts.push((bits & 1) === 1 ? Buffer.alloc(1) : password.subarray(0, 1));
  let final = digest("md5", parts);
  for (let round = 0; round < md5Rounds; round += 1) {
    const isOdd = round % 2 === 1;
    const steps: (Uint8Array | string)[] = [isOdd ? password : final];
    if (round % 3 !== 0) steps.push(salt);
    if (round % 7 !== 0) steps.push(password);
    steps.push(isOdd ? final : password);
    final = digest("md5", steps);
  }
  const order = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5];
  return `${magic}${salt}$${inCrypt64(final, order)}${crypt64(final[11] ?? 0, 2)}`;
}

/** Three bytes at a time in the algorithm's order, six bits a character, the lowest first. */
function inCrypt64(bytes: Buffer, order: readonly number[]): string {
  let text = "";
  for (let index = 0; index < order.length; index += 3) {
    const [high, middle, low] = [0, 1, 2].map((offset) => bytes[order[index + offset] ?? 0] ?? 0);
    text += crypt64(((high ?? 0) << 16) | ((middle ?? 0) << 8) | (low ?? 0), 4);
  }
  return text;
}

function crypt64(value: number, length: number): string {
  let text = "";
  for (let index = 0; index < length; index += 1) text += alphabet[(value >> (6 * index)) & 0x3f];
  return text;
}

function shaCrypt(algorithm: "sha256" | "sha512", salt: string, rounds: number | undefined, password: Buffer): string {
  const inner = digest(algorithm, [password, salt, password]);
  const parts: (Uint8Array | string)[] = [password, salt, repeated(inner, password.length)];
  for (let bits = password.length; bits > 0; bits >>= 1) parts.push((bits & 1) === 1 ? inner : password);
  let final = digest(algorithm, parts);
  const passwordBlock = digest(algorithm, Array<Buffer>(password.length).fill(password));
  const p = repeated(passwordBlock, password.length);
  const saltBlock = digest(algorithm, Array<string>(16 + (final[0] ?? 0)).fill(salt));
  const s = repeated(saltBlock, Buffer.byteLength(salt));
  for (let round = 0; round < (rounds ?? shaRounds.first); round += 1) {
    const isOdd = round % 2 === 1;
    const steps: Buffer[] = [isOdd ? p : final];
    if (round % 3 !== 0) steps.push(s);
    if (round % 7 !== 0) steps.push(p);
    steps.push(isOdd ? final : p);
    final = digest(algorithm, steps);
  }
  const prefix = `$${algorithm === "sha256" ? 5 : 6}$${rounds === undefined ? "" : `rounds=${rounds}$`}${salt}$`;
  return prefix + (algorithm === "sha256" ? sha256Text(final) : sha512Text(final));
}

function sha256Text(final: Buffer): string {
  const order = [
    0, 10, 20, 21, 1, 11, 12, 22, 2, 3, 13, 23, 24, 4, 14, 15, 25, 5, 6, 16, 26, 27, 7, 17, 18, 28, 8, 9, 19, 29,
  ];
  return inCrypt64(final, order) + crypt64(((final[31] ?? 0) << 8) | (final[30] ?? 0), 3);
}

function sha512Text(final: Buffer): string {
  const order = Array.from({ length: 21 }, (_, index) => {
    const triple = [index, index + 21, index + 42];
    // Rotates the order of the three.
    return [...triple.slice(index % 3), ...triple.slice(0, index % 3)];
  }).flat();
  return inCrypt64(final, order) + crypt64(final[63] ?? 0, 2);
}
