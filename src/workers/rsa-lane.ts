/**
 * The lane for RSA: auth and pillar replies, signatures. It gets texts and keys, gives back finished frames, and keeps nothing.
 * docs/protocol.md sections 2.3, 3.2 and 5.
 */
import { createHash, type KeyObject } from "node:crypto";
import { isMainThread, workerData } from "node:worker_threads";
import { Crypticle, generateKeyString } from "../crypto/crypticle.ts";
import { cleanPem, loadPrivateKey, loadPublicKey } from "../crypto/pem.ts";
import { decryptOaep, type EncAlgorithm, encryptOaep, isSigAlgorithm, type SigAlgorithm, sign } from "../crypto/rsa.ts";
import { signX931 } from "../crypto/x931.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { encode } from "../wire/msgpack.ts";
import type { Encodable } from "../wire/values.ts";
import type { AuthReplyJob, PillarReplyJob, RsaStart, RsaTask } from "./messages.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/rsa-lane.ts runs in a worker thread only");

const start = workerData as RsaStart;
const masterKey = loadPrivateKey(start.masterPrivatePem);
const signingKey: KeyObject | undefined =
  start.signingPrivatePem === undefined ? undefined : loadPrivateKey(start.signingPrivatePem);
const cleanMasterPem = cleanPem(start.masterPublicPem);
/** The signature of the master's public key depends on nothing that changes: made once per algorithm. */
const publicKeySignatures = new Map<SigAlgorithm, string>();

export default function handle(task: RsaTask): Buffer {
  switch (task.kind) {
    case "authReply":
      return authReply(task);
    case "pillarReply":
      return pillarReply(task);
    case "sign":
      return sign(masterKey, task.data, sigAlgorithmOf(task.algorithm));
    case "signMasterKey":
      return signX931(masterKey, Buffer.from(createHash("sha256").update(task.aes).digest("hex")));
    default: {
      const never: never = task;
      throw new SaltworksError("WIRE_MALFORMED", `unknown RSA task ${String(never)}`);
    }
  }
}

function sigAlgorithmOf(name: string): SigAlgorithm {
  if (!isSigAlgorithm(name)) throw new SaltworksError("CRYPTO_BAD_ALGORITHM", "unknown signing algorithm", { name });
  return name;
}

function authReply(job: AuthReplyJob): Buffer {
  const fields =
    "ret" in job.outcome ? new Map<string, Encodable>([["ret", job.outcome.ret]]) : acceptedFields(job, job.outcome);
  if (job.version < 2) {
    return fields.has("ret") ? encode({ enc: "clear", load: fields }, "raw") : encode(fields, "raw");
  }
  if (job.nonce !== undefined) fields.set("nonce", job.nonce);
  const load = encode(fields, "raw");
  return encode({ enc: "clear", load, sig: sign(masterKey, load, sigAlgorithmOf(job.sigAlgorithm)) }, "raw");
}

function acceptedFields(
  job: AuthReplyJob,
  outcome: Exclude<AuthReplyJob["outcome"], { ret: unknown }>,
): Map<string, Encodable> {
  const minionKey = loadPublicKey(outcome.minionPem);
  const algorithm = job.encAlgorithm as EncAlgorithm;
  // Minions before version 2 compare the text with the file that they stored, trailing line end included; newer ones with the clean text.
  const fields = new Map<string, Encodable>([
    ["enc", "pub"],
    ["pub_key", job.version < 2 ? start.masterPublicPem : cleanMasterPem],
    ["publish_port", outcome.publishPort],
  ]);
  const signature = publicKeySignature(job.version < 2 ? "PKCS1v15-SHA1" : sigAlgorithmOf(job.sigAlgorithm));
  if (signature !== undefined) fields.set("pub_sig", signature);
  const token = outcome.token && reseal(outcome.token, minionKey, algorithm);
  if (token !== undefined) fields.set("token", token);
  fields.set("aes", encryptOaep(minionKey, Buffer.from(outcome.aes, "latin1"), algorithm));
  fields.set("session", encryptOaep(minionKey, Buffer.from(outcome.session, "latin1"), algorithm));
  fields.set("sig", outcome.aesSignature);
  return fields;
}

/** The token that the minion sent proves to it that the master holds its private key. One that does not decrypt is left out. */
function reseal(token: Uint8Array, minionKey: KeyObject, algorithm: EncAlgorithm): Buffer | undefined {
  try {
    return encryptOaep(minionKey, decryptOaep(masterKey, token, algorithm), algorithm);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_DECRYPT_FAILED")) throw error;
    return undefined;
  }
}

function publicKeySignature(algorithm: SigAlgorithm): Encodable | undefined {
  if (start.publicKeySignature !== undefined) return start.publicKeySignature;
  if (signingKey === undefined) return undefined;
  let text = publicKeySignatures.get(algorithm);
  if (text === undefined) {
    text = `${sign(signingKey, Buffer.from(cleanMasterPem), algorithm).toString("base64")}\n`;
    publicKeySignatures.set(algorithm, text);
  }
  return text;
}

function pillarReply(job: PillarReplyJob): Buffer {
  const minionKey = loadPublicKey(job.minionPem);
  const keyString = generateKeyString();
  const key = encryptOaep(minionKey, Buffer.from(keyString, "latin1"), job.encAlgorithm as EncAlgorithm);
  let payload: Uint8Array = job.pillar;
  if (job.version >= 2) {
    if (job.nonce === undefined) return encode({ error: "Nonce not included in request" }, "raw");
    // `pillar` is already encoded: a map of three entries is written around it by hand.
    const data = Buffer.concat([
      Buffer.from([0x83]),
      encode("key", "raw"),
      encode(key, "raw"),
      encode("pillar", "raw"),
      payload,
      encode("nonce", "raw"),
      encode(job.nonce, "raw"),
    ]);
    const algorithm = job.version >= 3 ? sigAlgorithmOf(job.sigAlgorithm) : "PKCS1v15-SHA1";
    payload = encode({ data, sig: sign(masterKey, data, algorithm) }, "raw");
  }
  return encode({ key, pillar: new Crypticle(keyString).seal(payload) }, "raw");
}
