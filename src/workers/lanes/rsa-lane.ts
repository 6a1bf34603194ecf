/**
 * The lane for RSA: auth and pillar replies, signatures. It gets texts and keys, gives back finished frames, and keeps nothing.
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
import { packReplies, unpackAuthJobs } from "../batch/auth-jobs.ts";
import { answerForMeasures } from "../measures/lane-measures.ts";
import type { AuthJob } from "../messages/batch.ts";
import type { AuthReplies, PillarReplyJob, RsaStart, RsaTask } from "../messages/lanes.ts";
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
/** The signature of the master's public key depends on nothing that changes: made once per algorithm. */
const publicKeySignatures = new Map<SigAlgorithm, string>();
/** Minions' keys by their text, least recently used first: to import one and use it for the first time costs as much as one more RSA operation. */
const minionKeys = new Map<string, KeyObject>();
/** What a file holds is sent as it is; it is Base64 with a line end. */
const preparedSignature = start.publicKeySignature && Buffer.from(start.publicKeySignature).toString("latin1");

type AuthReplyTask = Extract<RsaTask, { kind: "authReplies" }>;
type Accepted = Exclude<AuthJob["outcome"], { ret: unknown }>;

export default function handle(task: RsaTask): Buffer | AuthReplies {
  switch (task.kind) {
    case "authReplies":
      return packReplies(unpackAuthJobs(task.jobs).map((job) => authReply(task, job)));
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

/** @returns undefined where a key cannot be used: its job must not cost its neighbours their replies */
function authReply(task: AuthReplyTask, job: AuthJob): Buffer | undefined {
  try {
    return "ret" in job.outcome ? verdict(job, job.outcome.ret) : acceptance(task, job, job.outcome);
  } catch (error) {
    if (!hasCode(error, "CRYPTO_BAD_KEY") && !hasCode(error, "CRYPTO_BAD_ALGORITHM")) throw error;
    return undefined;
  }
}

function verdict(job: AuthJob, ret: boolean | "full"): Buffer {
  return job.version < 2 ? encodeClearReply({ ret }) : signed(job, encodeAuthVerdict(ret, job.nonce));
}

function signed(job: AuthJob, content: Buffer): Buffer {
  return encodeSignedReply(content, sign(masterKey, content, sigAlgorithmOf(job.sigAlgorithm)));
}

function acceptance(task: AuthReplyTask, job: AuthJob, outcome: Accepted): Buffer {
  const isOld = job.version < 2;
  const minionKey = minionKeyOf(outcome.pub);
  const algorithm = job.encAlgorithm as EncAlgorithm;
  const pubSig = publicKeySignature(isOld ? "PKCS1v15-SHA1" : sigAlgorithmOf(job.sigAlgorithm));
  const token = outcome.token && reseal(outcome.token, minionKey, algorithm);
  const content = encodeAuthAccepted({
    // Minions before version 2 compare the text with the file that they stored, trailing line end included; newer ones with the clean text.
    pubKey: isOld ? start.masterPublicPem : cleanMasterPem,
    publishPort: start.config.publish_port,
    ...(pubSig === undefined ? {} : { pubSig }),
    ...(token === undefined ? {} : { token }),
    aes: encryptOaep(minionKey, Buffer.from(task.aes, "latin1"), algorithm),
    session: encryptOaep(minionKey, Buffer.from(outcome.session, "latin1"), algorithm),
    sig: task.aesSignature,
    ...(isOld || job.nonce === undefined ? {} : { nonce: job.nonce }),
  });
  return isOld ? content : signed(job, content);
}

function minionKeyOf(pem: string): KeyObject {
  const key = minionKeys.get(pem) ?? loadPublicKey(pem);
  minionKeys.delete(pem);
  minionKeys.set(pem, key);
  const [oldest] = minionKeys.keys();
  if (minionKeys.size > laneKeysMax && oldest !== undefined) minionKeys.delete(oldest);
  return key;
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

function pillarReply(job: PillarReplyJob): Buffer {
  if (job.version >= 2 && job.nonce === undefined) return encode({ error: "Nonce not included in request" }, "raw");
  const keyString = generateKeyString();
  const key = encryptOaep(
    minionKeyOf(job.minionPem),
    Buffer.from(keyString, "latin1"),
    job.encAlgorithm as EncAlgorithm,
  );
  const seal = new Crypticle(keyString);
  if (job.version < 2 || job.nonce === undefined) return encodePrivateReply({ key, pillar: seal.seal(job.pillar) });
  const data = encodePrivateData({ key, pillar: job.pillar, nonce: job.nonce });
  const algorithm = job.version >= 3 ? sigAlgorithmOf(job.sigAlgorithm) : "PKCS1v15-SHA1";
  const content = encodePrivateSigned(data, sign(masterKey, data, algorithm));
  return encodePrivateReply({ key, pillar: seal.seal(content) });
}
