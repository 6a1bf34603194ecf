/**
 * Makes key pairs and signatures for an operator: keys of a future minion, and the signature of the master's public key.
 * Source: docs/protocol.md section 3.6; files as salt-key writes them.
 */
import { chownSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isFile } from "../config/files/kinds.ts";
import type { MasterConfig } from "../config/load.ts";
import { cleanPem, fingerprint, loadPrivateKey } from "../crypto/pem.ts";
import { sign } from "../crypto/rsa.ts";
import { SaltworksError } from "../errors.ts";
import { replaceDurably } from "../store/disk/durable-file.ts";
import { ensureMasterKeys } from "../store/keys/keys.ts";

type KeyConfig = Pick<
  MasterConfig,
  "pki_dir" | "keysize" | "signing_key_pass" | "master_sign_key_name" | "master_pubkey_signature" | "hash_type"
>;

export type NewPair = {
  readonly directory: string;
  readonly name: string;
  readonly bits: number;
  /** The owner of the files. Undefined: the user of this process. */
  readonly ownerUid: number | undefined;
};

/** Salt always signs the public key with this hash, even if its replies use another one. */
const signatureAlgorithm = "PKCS1v15-SHA1";
const signatureMode = 0o644;

/**
 * Makes a pair. An existing pair stays as it is.
 *
 * @returns the fingerprint of its public key
 * @throws SaltworksError STORE_FAILED, CRYPTO_BAD_KEY (an existing file is not a key, or `signing_key_pass` does not decrypt it)
 */
export function makeKeyPair({ directory, name, bits, ownerUid }: NewPair, config: KeyConfig): string {
  const privateFile = join(directory, `${name}.pem`);
  const isNew = !existsSync(privateFile);
  const { publicPem } = ensureMasterKeys(directory, bits, name, config.signing_key_pass ?? undefined);
  if (isNew && ownerUid !== undefined) {
    for (const file of [privateFile, join(directory, `${name}.pub`)]) give(file, ownerUid);
  }
  return fingerprint(publicPem, "sha256");
}

/** Changes the owner and keeps the group. */
function give(file: string, uid: number): void {
  try {
    chownSync(file, uid, statSync(file).gid);
  } catch (cause) {
    throw new SaltworksError("STORE_FAILED", `${file} cannot be given to user ${uid}`, { file }, { cause });
  }
}

export type SignatureRequest = {
  /** If a file or the directory is undefined, the master's own is used. */
  readonly privateFile: string | undefined;
  readonly publicFile: string | undefined;
  readonly directory: string | undefined;
  readonly isSigningKeyMade: boolean;
  readonly bits: number;
  readonly ownerUid: number | undefined;
};

/** `text` names the missing file, in Salt's words. `isWritten` is false if a signature exists already. */
export type SignatureOutcome =
  | { readonly ok: true; readonly isWritten: boolean }
  | { readonly ok: false; readonly text: string };

/**
 * Signs a public key with a signing key and writes the signature, unless a signature exists.
 *
 * @throws SaltworksError STORE_FAILED, CRYPTO_BAD_KEY
 */
export function writeKeySignature(request: SignatureRequest, config: KeyConfig): SignatureOutcome {
  const { publicFile, privateFile } = request;
  if (publicFile !== undefined && !isFile(publicFile)) return missing(`Public-key ${publicFile} does not exist`);
  if (privateFile !== undefined && !isFile(privateFile)) return missing(`Private-key ${privateFile} does not exist`);
  const ownKey = join(config.pki_dir, `${config.master_sign_key_name}.pem`);
  const signingFile = privateFile ?? ownKey;
  if (!isFile(signingFile)) {
    if (!request.isSigningKeyMade) return missing("No usable private-key found");
    const { bits, ownerUid } = request;
    makeKeyPair({ directory: config.pki_dir, name: config.master_sign_key_name, bits, ownerUid }, config);
  }
  const signedFile = publicFile ?? join(config.pki_dir, "master.pub");
  if (!isFile(signedFile)) return missing("No usable public-key found");
  const signatureFile = join(request.directory ?? config.pki_dir, config.master_pubkey_signature);
  if (existsSync(signatureFile)) return { ok: true, isWritten: false };
  const key = loadPrivateKey(read(signingFile), config.signing_key_pass ?? undefined);
  const signature = sign(key, Buffer.from(cleanPem(read(signedFile))), signatureAlgorithm);
  write(signatureFile, `${signature.toString("base64")}\n`);
  return { ok: true, isWritten: true };
}

function missing(text: string): SignatureOutcome {
  return { ok: false, text };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new SaltworksError("STORE_FAILED", `${file} cannot be read`, { file }, { cause });
  }
}

function write(file: string, text: string): void {
  try {
    replaceDurably(file, text, signatureMode);
  } catch (cause) {
    throw new SaltworksError("STORE_FAILED", `${file} cannot be written`, { file }, { cause });
  }
}
