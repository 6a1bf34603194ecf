/**
 * Decides whether the master that answered an authentication is the trusted one, and reads its keys.
 * Source: docs/protocol.md sections 3.4 and 3.5. Unlike Salt, writes files only after all checks have passed.
 */
import { createHash, type KeyObject } from "node:crypto";
import type { MinionConfig } from "../../config/schema.ts";
import { equalSecrets } from "../../crypto/compare.ts";
import { cleanPem, fingerprint, loadPublicKey } from "../../crypto/pem.ts";
import { decryptOaep, type EncAlgorithm, type SigAlgorithm, verify } from "../../crypto/rsa.ts";
import { recoverX931 } from "../../crypto/x931.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { AuthAccepted, AuthReply } from "../../wire/reply.ts";
import { type Identity, type PinnedKey, readSigningKey } from "./identity.ts";

/** What an authentication sent; the reply must match it. */
export type AuthAsked = {
  readonly version: number;
  readonly nonce: string;
  /** The secret that was sent, encrypted to the pinned master key; undefined without a pinned key. */
  readonly challenge: string | undefined;
};

export type TrustConfig = Pick<
  MinionConfig,
  | "pki_dir"
  | "open_mode"
  | "master_finger"
  | "hash_type"
  | "verify_master_pubkey_sign"
  | "always_verify_signature"
  | "master_sign_key_name"
> & { readonly encryption_algorithm: EncAlgorithm; readonly signing_algorithm: SigAlgorithm };

export type Credentials = {
  /** Key string of publishes, and of requests below version 3. */
  readonly aes: string;
  /** Key string of this minion's requests; absent below version 3. */
  readonly session: string | undefined;
  readonly publishPort: number;
  readonly masterPem: string;
  readonly masterKey: KeyObject;
};

/**
 * Verifies a reply that carries keys.
 *
 * @throws SaltworksError AUTH_MASTER_MISMATCH if the master is not the trusted one, CRYPTO_BAD_SIGNATURE, CRYPTO_BAD_NONCE, AUTH_FAILED
 */
export async function acceptKeys(
  reply: AuthReply & { accepted: AuthAccepted },
  asked: AuthAsked,
  identity: Identity,
  pinned: PinnedKey | undefined,
  config: TrustConfig,
): Promise<Credentials> {
  const { accepted } = reply;
  const masterPem = cleanPem(accepted.pubKey);
  const isPinned = pinned !== undefined && pinned.pem === masterPem;
  await checkMasterKey(accepted, isPinned, pinned, config);
  if (config.master_finger !== "" && fingerprint(masterPem, config.hash_type) !== config.master_finger) {
    throw new SaltworksError(
      "AUTH_MASTER_MISMATCH",
      "the master's key does not have the fingerprint of master_finger",
      {
        isFinger: true,
      },
    );
  }
  const masterKey = loadPublicKey(masterPem);
  if (asked.version >= 2) checkSigned(reply, asked, masterKey, config.signing_algorithm);
  const aes = openKeyString(identity, accepted.aes, config.encryption_algorithm);
  const digest = createHash("sha256").update(aes).digest("hex");
  if (!equalSecrets(recoverX931(masterKey, accepted.sig), digest)) {
    throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the master's signature of its key does not verify");
  }
  if (asked.challenge !== undefined && isPinned) checkChallenge(accepted, asked.challenge, identity, config);
  const session =
    accepted.session === undefined ? undefined : openKeyString(identity, accepted.session, config.encryption_algorithm);
  if (asked.version >= 3 && session === undefined) {
    throw new SaltworksError("AUTH_FAILED", "the master gave no session key: it is too old for requests of version 3");
  }
  return { aes, session, publishPort: accepted.publishPort, masterPem, masterKey };
}

/** Checks a reply without keys (pending, refused, full): the pinned master must have signed it. Without a pinned key, checks its nonce only. */
export function checkVerdict(
  reply: AuthReply,
  asked: AuthAsked,
  pinned: PinnedKey | undefined,
  algorithm: SigAlgorithm,
): void {
  if (asked.version < 2 || reply.ret === "bad enc algo" || reply.ret === "bad sig algo") return;
  if (pinned !== undefined) checkSigned(reply, asked, pinned.key, algorithm);
  else checkNonce(reply, asked);
}

async function checkMasterKey(
  accepted: AuthAccepted,
  isPinned: boolean,
  pinned: PinnedKey | undefined,
  config: TrustConfig,
): Promise<void> {
  const { pubKey, pubSig } = accepted;
  if ((pubSig !== undefined) !== config.verify_master_pubkey_sign) {
    const text = config.verify_master_pubkey_sign
      ? "verify_master_pubkey_sign is on, but the master sent no signature of its key"
      : "the master signs its key, but verify_master_pubkey_sign is off";
    throw new SaltworksError("AUTH_MASTER_MISMATCH", text);
  }
  if (pubSig !== undefined) {
    if (isPinned && !config.always_verify_signature) return;
    const signingKey = await readSigningKey(config.pki_dir, config.master_sign_key_name);
    const signature = Buffer.from(pubSig, "base64");
    if (verify(signingKey, Buffer.from(pubKey), signature, config.signing_algorithm)) return;
    throw new SaltworksError("AUTH_MASTER_MISMATCH", "the signature of the master's key does not verify");
  }
  if (pinned !== undefined && !isPinned && !config.open_mode) {
    throw new SaltworksError(
      "AUTH_MASTER_MISMATCH",
      "the master's key is not the pinned one (minion_master.pub in pki_dir; remove it if the master's key was changed on purpose)",
    );
  }
}

function checkSigned(reply: AuthReply, asked: AuthAsked, key: KeyObject, algorithm: SigAlgorithm): void {
  const { signed } = reply;
  if (signed === undefined || !verify(key, signed.bytes, signed.sig, algorithm)) {
    throw new SaltworksError("CRYPTO_BAD_SIGNATURE", "the signature of the authentication reply does not verify");
  }
  checkNonce(reply, asked);
}

function checkNonce(reply: AuthReply, asked: AuthAsked): void {
  if (reply.nonce !== asked.nonce) {
    throw new SaltworksError("CRYPTO_BAD_NONCE", "an authentication reply to another request");
  }
}

function checkChallenge(accepted: AuthAccepted, challenge: string, identity: Identity, config: TrustConfig): void {
  const answer =
    accepted.token === undefined ? undefined : tryDecrypt(identity, accepted.token, config.encryption_algorithm);
  if (answer === undefined || !equalSecrets(answer, challenge)) {
    throw new SaltworksError("AUTH_MASTER_MISMATCH", "the master could not read this minion's challenge");
  }
}

function tryDecrypt(identity: Identity, sealed: Uint8Array, algorithm: EncAlgorithm): Buffer | undefined {
  try {
    return decryptOaep(identity.privateKey, sealed, algorithm);
  } catch (error) {
    if (hasCode(error, "CRYPTO_DECRYPT_FAILED")) return undefined;
    throw error;
  }
}

/** Masters with `auth_mode: 2` append `_|-` and the token to the key. */
function openKeyString(identity: Identity, sealed: Uint8Array, algorithm: EncAlgorithm): string {
  return decryptOaep(identity.privateKey, sealed, algorithm).toString("latin1").split("_|-")[0] ?? "";
}
