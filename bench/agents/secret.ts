/** The secret that a bench and its agents share: a file of which both sides derive the key of their connection. */
import { hkdfSync, randomBytes } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, writeFileSync } from "node:fs";
import { SaltworksError } from "../../src/errors.ts";

/** 256 bits if the bytes are random. White space at the end, which editors add, does not count. */
const secretBytesMin = 32;
/** The file is read whole. */
const secretBytesMax = 4_096;
const keyBytes = 32;
/** Permissions of group and others. */
const othersMask = 0o077;
const ownerOnly = 0o600;
const keyPurpose = "saltworks bench agent 1";

/**
 * The key that is derived from a secret file. The secret itself stays in this function.
 *
 * @throws SaltworksError USAGE for a file that is missing, open to others, too short or too long
 */
export function readAgentKey(path: string): Buffer {
  const refuse = (why: string) => new SaltworksError("USAGE", `the secret file ${path} ${why}`);
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    throw refuse(`cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refuse("is not a file");
    if ((stat.mode & othersMask) !== 0) {
      throw refuse(`may be used by others than its owner (mode ${(stat.mode & 0o777).toString(8)}): chmod 600 ${path}`);
    }
    const bytes = Buffer.alloc(secretBytesMax + 1);
    const length = readSync(file, bytes, 0, bytes.length, 0);
    if (length > secretBytesMax) throw refuse(`has more than ${secretBytesMax} bytes`);
    const secret = withoutEnd(bytes.subarray(0, length));
    if (secret.length < secretBytesMin) throw refuse(`has fewer than ${secretBytesMin} bytes`);
    const key = Buffer.from(hkdfSync("sha256", secret, "", keyPurpose, keyBytes));
    bytes.fill(0);
    return key;
  } finally {
    closeSync(file);
  }
}

function withoutEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && " \t\r\n".includes(String.fromCharCode(bytes[end - 1] ?? 0))) end -= 1;
  return bytes.subarray(0, end);
}

/** Writes a new secret that only the owner may read. @throws SaltworksError USAGE if the file exists or cannot be written */
export function writeNewSecret(path: string): void {
  try {
    writeFileSync(path, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: ownerOnly, flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "exists already, and is not overwritten" : `cannot be written: ${code}`;
    throw new SaltworksError("USAGE", `the secret file ${path} ${why}`);
  }
}
