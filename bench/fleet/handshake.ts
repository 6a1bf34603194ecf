/**
 * `_auth` from the minion's side: the request in each version, and every check that a minion makes of the reply.
 * Source: docs/protocol.md sections 3.1, 3.2, 3.4 and 3.5.
 */
import { createHash, type KeyObject, randomBytes } from "node:crypto";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";
import { cleanPem, loadPublicKey } from "../../src/crypto/pem.ts";
import { decryptOaep, encryptOaep, verify } from "../../src/crypto/rsa.ts";
import { recoverX931, signX931 } from "../../src/crypto/x931.ts";
import { SaltworksError } from "../../src/errors.ts";
import { type AuthAccepted, decodeAuthReply } from "../../src/wire/reply.ts";
import { encodeClearRequest } from "../../src/wire/request.ts";
import type { MinionKey } from "./keys.ts";
import type { RequestVersion } from "./minion-options.ts";

export const encAlgorithm = "OAEP-SHA1";
export const sigAlgorithm = "PKCS1v15-SHA1";

/** A master key or session key, with the objects that use it. */
export type SealingKey = { readonly text: string; readonly crypticle: Crypticle };

export type Master = { readonly pem: string; readonly publicKey: KeyObject };

/** What an accepted minion holds. `requestKey`: the session key of version 3, the master's AES key before. */
export type Keys = { readonly aes: SealingKey; readonly requestKey: SealingKey; readonly publishPort: number };

export type AuthOutcome =
  | { readonly kind: "accepted"; readonly keys: Keys; readonly master: Master }
  | { readonly kind: "pending" }
  | { readonly kind: "refused" };

export type AuthAttempt = { readonly request: Buffer; readonly nonce: string; readonly token: string | undefined };

export function newNonce(): string {
  return randomBytes(16).toString("hex");
}

/** `tok`, which proves the minion in every request of version 3; the same bytes for the life of the key. */
export function requestToken(key: MinionKey): Buffer {
  return signX931(key.privateKey, Buffer.from("salt"));
}

/** `master`: the pinned key. A minion that has one sends a token, which the master has to decrypt. */
export function startAuth(
  id: string,
  key: MinionKey,
  version: RequestVersion,
  master: Master | undefined,
): AuthAttempt {
  const nonce = newNonce();
  const token = master === undefined ? undefined : generateKeyString();
  const load = {
    cmd: "_auth",
    id,
    nonce: version >= 2 ? nonce : undefined,
    enc_algo: version >= 3 ? encAlgorithm : undefined,
    sig_algo: version >= 3 ? sigAlgorithm : undefined,
    token: master && token ? encryptOaep(master.publicKey, Buffer.from(token), encAlgorithm) : undefined,
    pub: key.publicPem,
  };
  return { request: encodeClearRequest(load, version), nonce, token };
}

/** Shared by the process, because thousands of minions hold the same master key and AES key. */
const mastersKept = new Map<string, Master>();
const keysKept = new Map<string, SealingKey>();
const keptMax = 64;

function keep<Value>(map: Map<string, Value>, name: string, make: () => Value): Value {
  let value = map.get(name);
  if (value === undefined) {
    value = make();
    map.set(name, value);
    const [oldest] = map.keys();
    if (map.size > keptMax && oldest !== undefined) map.delete(oldest);
  }
  return value;
}

/**
 * @throws SaltworksError AUTH_FAILED for a reply that a real minion would not trust, and what decoding and decrypting throw
 */
export function finishAuth(
  attempt: AuthAttempt,
  frame: Buffer,
  key: MinionKey,
  version: RequestVersion,
  pinned: Master | undefined,
): AuthOutcome {
  const reply = decodeAuthReply(frame);
  const { accepted } = reply;
  const master = accepted === undefined ? pinned : masterOf(accepted, pinned);
  if (version >= 2 && master !== undefined) {
    const { signed } = reply;
    if (signed === undefined || !verify(master.publicKey, signed.bytes, signed.sig, sigAlgorithm))
      throw failed("signature");
  }
  if (version >= 2 && reply.nonce !== undefined && reply.nonce !== attempt.nonce) throw failed("nonce");
  if (accepted === undefined || master === undefined) return { kind: reply.ret === true ? "pending" : "refused" };
  if (version >= 2 && reply.nonce === undefined) throw failed("nonce");
  return { kind: "accepted", keys: keysOf(attempt, accepted, key, version, master), master };
}

function masterOf(accepted: AuthAccepted, pinned: Master | undefined): Master {
  if (pinned === undefined) {
    const pem = cleanPem(accepted.pubKey);
    return keep(mastersKept, pem, () => ({ pem, publicKey: loadPublicKey(pem) }));
  }
  if (pinned.pem !== cleanPem(accepted.pubKey)) throw failed("master key");
  return pinned;
}

function keysOf(
  attempt: AuthAttempt,
  accepted: AuthAccepted,
  key: MinionKey,
  version: RequestVersion,
  master: Master,
): Keys {
  const text = decryptOaep(key.privateKey, accepted.aes, encAlgorithm).toString("latin1");
  const digest = createHash("sha256").update(text, "latin1").digest("hex");
  if (recoverX931(master.publicKey, accepted.sig).toString("latin1") !== digest) throw failed("AES key's signature");
  if (attempt.token !== undefined) {
    const back = accepted.token && decryptOaep(key.privateKey, accepted.token, encAlgorithm).toString("latin1");
    if (back !== attempt.token) throw failed("token");
  }
  const aes = keep(keysKept, text, () => ({ text, crypticle: new Crypticle(text) }));
  if (version < 3) return { aes, requestKey: aes, publishPort: accepted.publishPort };
  if (accepted.session === undefined) throw failed("session key");
  const session = decryptOaep(key.privateKey, accepted.session, encAlgorithm).toString("latin1");
  return { aes, requestKey: { text: session, crypticle: new Crypticle(session) }, publishPort: accepted.publishPort };
}

function failed(what: string): SaltworksError {
  return new SaltworksError("AUTH_FAILED", `the master's ${what} is missing or wrong`);
}
