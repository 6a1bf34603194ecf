/**
 * The lane for RSA: replies to `_auth` and `_pillar`, and signatures. It gets values and keys, and returns finished replies.
 * docs/protocol.md sections 2.3, 3.2 and 5.
 */
import { createHash, type KeyObject } from "node:crypto";
import { isMainThread, workerData } from "node:worker_threads";
import { Crypticle, generateKeyString } from "../../crypto/crypticle.ts";
import { cleanPem, loadPrivateKey, loadPublicKey } from "../../crypto/pem.ts";
import {
  decryptOaep,
  type EncAlgorithm,
  encryptOaep,
  isSigAlgorithm,
  type SigAlgorithm,
  sign,
} from "../../crypto/rsa.ts";
import { signX931 } from "../../crypto/x931.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { laneKeysMax } from "../../limits.ts";
import { encode } from "../../wire/msgpack.ts";
import {
  encodeAuthAccepted,
  encodeAuthVerdict,
  encodeClearReply,
  encodePrivateData,
  encodePrivateReply,
  encodePrivateSigned,
  encodeSignedReply,
} from "../../wire/reply.ts";
import { packReplies, unpackAuthTasks } from "../batch/auth-tasks.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { AuthTask } from "../messages/batch.ts";
import type { AuthReplies, PillarReplyTask, RsaStart, RsaTask } from "../messages/lanes.ts";
import type { LaneStart } from "../threads/lane-pool.ts";
import { nameLaneThread } from "../threads/name.ts";
import { yieldToOthers } from "../threads/priority.ts";

if (isMainThread) throw new SaltworksError("WORKER_LOST", "workers/lanes/rsa-lane.ts runs in a worker thread only");

const start = workerData as RsaStart & LaneStart;
answerForMeasures(nameLaneThread("rsa", start.startedThreads));
yieldToOthers();
const masterKey = loadPrivateKey(start.masterPrivatePem);
const signingKey: KeyObject | undefined =
  start.signingPrivatePem === undefined ? undefined : loadPrivateKey(start.signingPrivatePem);
const cleanMasterPem = cleanPem(start.masterPublicPem);
/** Signatures of the master's public key. Each is made once per algorithm, because the key never changes. */
const publicKeySignatures = new Map<SigAlgorithm, string>();
/** Cache of minions' public keys by their text, least recently used first. Import and first use of a key cost as much as one more RSA operation. */
const minionKeys = new Map<string, KeyObject>();
/** Contents of the file with the prepared signature: Base64 with a line end, which is sent unchanged. */
const preparedSignature = start.publicKeySignature && Buffer.from(start.publicKeySignature).toString("latin1");

type AuthRepliesTask = Extract<RsaTask, { kind: "authReplies" }>;
type Accepted = Exclude<AuthTask["outcome"], { ret: unknown }>;

export default function handle(task: RsaTask): Buffer | AuthReplies {
  switch (task.kind) {
    case "authReplies":
      return packReplies(unpackAuthTasks(task.auths).map((auth) => authReply(task, auth)));
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

/** @returns undefined for an unusable key, so that the other tasks of the batch still get their replies */
function authReply(task: AuthRepliesTask, auth: AuthTask): Buffer | undefined {
  try {
    return "ret" in auth.outcome ? verdict(auth, auth.outcome.ret) : acceptance(task, auth, auth.outcome);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_BAD_KEY") && !hasCode(error, "CRYPTO_BAD_ALGORITHM")) throw error;
    return undefined;
  }
}

function verdict(auth: AuthTask, ret: boolean | "full"): Buffer {
  return auth.version < 2 ? encodeClearReply({ ret }) : signed(auth, encodeAuthVerdict(ret, auth.nonce));
}

function signed(auth: AuthTask, content: Buffer): Buffer {
  return encodeSignedReply(content, sign(masterKey, content, sigAlgorithmOf(auth.sigAlgorithm)));
}

function acceptance(task: AuthRepliesTask, auth: AuthTask, outcome: Accepted): Buffer {
  const isOld = auth.version < 2;
  const minionKey = minionKeyOf(outcome.pub);
  const algorithm = auth.encAlgorithm as EncAlgorithm;
  const pubSig = publicKeySignature(isOld ? "PKCS1v15-SHA1" : sigAlgorithmOf(auth.sigAlgorithm));
  const token = outcome.token && reseal(outcome.token, minionKey, algorithm);
  const content = encodeAuthAccepted({
    // Minions before version 2 compare the text with their stored file, with its last line end. Newer ones compare the cleaned text.
    pubKey: isOld ? start.masterPublicPem : cleanMasterPem,
    publishPort: start.config.publish_port,
    ...(pubSig === undefined ? {} : { pubSig }),
    ...(token === undefined ? {} : { token }),
    aes: encryptOaep(minionKey, Buffer.from(task.aes, "latin1"), algorithm),
    session: encryptOaep(minionKey, Buffer.from(outcome.session, "latin1"), algorithm),
    sig: task.aesSignature,
    ...(isOld || auth.nonce === undefined ? {} : { nonce: auth.nonce }),
  });
  return isOld ? content : signed(auth, content);
}

function minionKeyOf(pem: string): KeyObject {
  const key = minionKeys.get(pem) ?? loadPublicKey(pem);
  minionKeys.delete(pem);
  minionKeys.set(pem, key);
  const [oldest] = minionKeys.keys();
  if (minionKeys.size > laneKeysMax && oldest !== undefined) minionKeys.delete(oldest);
  return key;
}

/** Decrypts the minion's token and encrypts it for the minion, which proves that the master holds its private key. Undefined if decryption fails. */
function reseal(token: Uint8Array, minionKey: KeyObject, algorithm: EncAlgorithm): Buffer | undefined {
  try {
    return encryptOaep(minionKey, decryptOaep(masterKey, token, algorithm), algorithm);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_DECRYPT_FAILED")) throw error;
    return undefined;
  }
}

function publicKeySignature(algorithm: SigAlgorithm): string | undefined {
  if (preparedSignature !== undefined) return preparedSignature;
  if (signingKey === undefined) return undefined;
  let text = publicKeySignatures.get(algorithm);
  if (text === undefined) {
    text = `${sign(signingKey, Buffer.from(cleanMasterPem), algorithm).toString("base64")}\n`;
    publicKeySignatures.set(algorithm, text);
  }
  return text;
}

function pillarReply(task: PillarReplyTask): Buffer {
  if (task.version >= 2 && task.nonce === undefined) return encode({ error: "Nonce not included in request" }, "raw");
  const keyString = generateKeyString();
  const key = encryptOaep(
    minionKeyOf(task.minionPem),
    Buffer.from(keyString, "latin1"),
    task.encAlgorithm as EncAlgorithm,
  );
  const seal = new Crypticle(keyString);
  if (task.version < 2 || task.nonce === undefined) return encodePrivateReply({ key, pillar: seal.seal(task.pillar) });
  const data = encodePrivateData({ key, pillar: task.pillar, nonce: task.nonce });
  const algorithm = task.version >= 3 ? sigAlgorithmOf(task.sigAlgorithm) : "PKCS1v15-SHA1";
  const content = encodePrivateSigned(data, sign(masterKey, data, algorithm));
  return encodePrivateReply({ key, pillar: seal.seal(content) });
}
