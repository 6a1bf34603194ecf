/** Functions of operators' key commands: check a minion's key text, fingerprint it, generate a pair, read the master's key files. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { fingerprint, generateKeyPair, loadPublicKey } from "../../crypto/pem.ts";
import { hasCode, SaltworksError } from "../../errors.ts";

/** A smaller size is raised to this, as in Salt. */
const keyBitsMin = 2_048;
/** Larger keys take minutes to generate. */
const keyBitsMax = 8_192;

export function isUsableKey(pem: string): boolean {
  try {
    loadPublicKey(pem);
    return true;
  } catch (error) {
    if (hasCode(error, "CRYPTO_BAD_KEY")) return false;
    throw error;
  }
}

/** Salt's fingerprint: the hash of the key's text without its first and last line. */
export function keyFingerprint(pem: string, hash: string): string {
  return fingerprint(pem, hash);
}

/** @throws SaltworksError FUNCTION_ARGUMENTS */
export function generateMinionKeys(bits: number): Promise<{ privatePem: string; publicPem: string }> {
  if (!Number.isInteger(bits) || bits > keyBitsMax)
    throw new SaltworksError("FUNCTION_ARGUMENTS", `keysize must be a number of at most ${keyBitsMax} bits`, { bits });
  return generateKeyPair(Math.max(keyBitsMin, bits));
}

/** Names of the master's key files, sorted. */
export function localKeyNames(pkiDir: string): string[] {
  try {
    return readdirSync(pkiDir)
      .filter((name) => name.endsWith(".pub") || name.endsWith(".pem"))
      .sort();
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return [];
    throw new SaltworksError("STORE_FAILED", "the master's keys cannot be listed", {}, { cause: error });
  }
}

/** @throws SaltworksError STORE_FAILED */
export function readLocalKey(pkiDir: string, name: string): string {
  try {
    return readFileSync(join(pkiDir, name), "utf8");
  } catch (error) {
    throw new SaltworksError("STORE_FAILED", `the key file ${name} cannot be read`, {}, { cause: error });
  }
}
