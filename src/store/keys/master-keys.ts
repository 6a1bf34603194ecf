/**
 * The master's key pair, and the key pair that signs it, in Salt's files: `<name>.pem` 0400 PKCS#1, `<name>.pub` 0644 SPKI.
 * Salt 3008 has `<master id>.pem` and a link `master.pem` to it. Links are followed, so such a directory works.
 * Source: docs/protocol.md section 3.6.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { loadPrivateKey } from "../../crypto/pem.ts";
import { SaltworksError } from "../../errors.ts";
import { createDurably, replaceDurably } from "../disk/durable-file.ts";

const privateMode = 0o400;
const publicMode = 0o644;
const pkiDirMode = 0o700;
/** Only `pki_dir` itself is private, not its parents, as in Salt. */
const parentMode = 0o755;

/** `privatePem`: PKCS#1 without a passphrase, only in memory. `publicPem`: the unchanged text of the public file. */
export type MasterKeyPair = { readonly privatePem: string; readonly publicPem: string };

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return undefined;
    throw new SaltworksError("STORE_FAILED", `${path} cannot be read`, { path }, { cause: error });
  }
}

function exportPrivate(key: KeyObject, passphrase: string | undefined): string {
  return passphrase === undefined
    ? key.export({ type: "pkcs1", format: "pem" }).toString()
    : key.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase }).toString();
}

/** The master's private key; undefined if it does not exist. Makes none. @throws SaltworksError CRYPTO_BAD_KEY, STORE_FAILED */
export function readMasterKey(pkiDir: string, passphrase?: string): string | undefined {
  const text = readIfThere(join(pkiDir, "master.pem"));
  return text === undefined
    ? undefined
    : loadPrivateKey(text, passphrase).export({ type: "pkcs1", format: "pem" }).toString();
}

/** The key pair in `pki_dir`; undefined if there is none. Makes none. @throws SaltworksError CRYPTO_BAD_KEY, STORE_FAILED */
export function presentMasterKeys(pkiDir: string, passphrase?: string): MasterKeyPair | undefined {
  const privatePem = readMasterKey(pkiDir, passphrase);
  if (privatePem === undefined) return undefined;
  return { privatePem, publicPem: readIfThere(join(pkiDir, "master.pub")) ?? publicOf(privatePem) };
}

/** Replaces the key pair in `pki_dir`. @throws SaltworksError STORE_FAILED */
export function takeMasterKeys(pkiDir: string, keys: MasterKeyPair, passphrase?: string): void {
  makePkiDirectory(pkiDir);
  const privateKey = loadPrivateKey(keys.privatePem);
  // The private key last: with it, a crash in between would leave the former public key beside it.
  replaceDurably(join(pkiDir, "master.pub"), keys.publicPem, publicMode);
  replaceDurably(join(pkiDir, "master.pem"), exportPrivate(privateKey, passphrase), privateMode);
}

/**
 * Reads `<name>.pem` and `<name>.pub`. Without a private key it makes a new one of `bits`; without a public file it writes it from the private key.
 *
 * @param passphrase `key_pass` or `signing_key_pass`: encrypts a new private key, decrypts an existing one
 * @throws SaltworksError CRYPTO_BAD_KEY (not a key, wrong passphrase), STORE_FAILED
 */
export function ensureMasterKeys(pkiDir: string, bits: number, name = "master", passphrase?: string): MasterKeyPair {
  makePkiDirectory(pkiDir);
  const privateFile = join(pkiDir, `${name}.pem`);
  const publicFile = join(pkiDir, `${name}.pub`);
  if (readIfThere(privateFile) === undefined) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: bits, publicExponent: 65_537 });
    createDurably(privateFile, exportPrivate(privateKey, passphrase), privateMode);
  }
  const privateKey = loadPrivateKey(readIfThere(privateFile) ?? "", passphrase);
  const privatePem = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
  const present = readIfThere(publicFile);
  if (present !== undefined) return { privatePem, publicPem: present };
  const publicPem = publicOf(privatePem);
  replaceDurably(publicFile, publicPem, publicMode);
  return { privatePem, publicPem };
}

function publicOf(privatePem: string): string {
  return createPublicKey(privatePem).export({ type: "spki", format: "pem" }).toString();
}

function makePkiDirectory(pkiDir: string): void {
  mkdirSync(dirname(pkiDir), { recursive: true, mode: parentMode });
  mkdirSync(pkiDir, { recursive: true, mode: pkiDirMode });
}
