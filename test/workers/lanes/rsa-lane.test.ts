import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { after, describe, it } from "node:test";
import { finishAuth, startAuth } from "../../../bench/fleet/handshake.ts";
import { openPrivateReply } from "../../../bench/fleet/sealed-request.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { Crypticle, generateKeyString } from "../../../src/crypto/crypticle.ts";
import { cleanPem, loadPublicKey } from "../../../src/crypto/pem.ts";
import { decryptOaep, encryptOaep } from "../../../src/crypto/rsa.ts";
import { signX931 } from "../../../src/crypto/x931.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import {
  decodeAuthReply,
  decodePrivateData,
  decodePrivateReply,
  decodePrivateSigned,
} from "../../../src/wire/reply.ts";
import { packAuthTasks } from "../../../src/workers/batch/auth-tasks.ts";
import type { AuthTask } from "../../../src/workers/messages/batch.ts";
import type { AuthReplies, PillarReplyTask } from "../../../src/workers/messages/lanes.ts";
import { LanePool } from "../../../src/workers/threads/lane-pool.ts";
import { masterPair, minionPair } from "../open-worker-state.ts";

const lane = new LanePool({
  filename: new URL("../../../src/workers/lanes/rsa-lane.js", import.meta.url).href,
  threadCount: 1,
  threadsKept: 1,
  heap: { youngMb: 6, oldMb: 256 },
  concurrentTasksPerThread: 1,
  queueMax: 100,
  taskTimeoutMs: 30_000,
  workerData: {
    config: loadMasterConfig("/nonexistent", { publish_port: 4_511 }),
    masterPrivatePem: masterPair.privatePem,
    masterPublicPem: masterPair.publicPem,
    signingPrivatePem: undefined,
    publicKeySignature: undefined,
    startedThreads: new SharedArrayBuffer(4),
  },
  onThreadLost: () => undefined,
});
const aes = generateKeyString();
const session = generateKeyString();
const aesDigest = createHash("sha256").update(aes).digest("hex");
const aesSignature = signX931(masterPair.privateKey, Buffer.from(aesDigest));
const nonce = "0123456789abcdef".repeat(2);
const algorithms = { encAlgorithm: "OAEP-SHA1", sigAlgorithm: "PKCS1v15-SHA1" };
const accepted = { pub: minionPair.publicPem, session, token: undefined };
const job: AuthTask = { version: 3, nonce, ...algorithms, outcome: accepted };

/** The replies to jobs that were one task; undefined for a reply that could not be made. */
async function answer(...tasks: AuthTask[]): Promise<(Buffer | undefined)[]> {
  const packed = packAuthTasks([...tasks.keys()], tasks).tasks;
  const task = { kind: "authReplies", auths: packed, aes, aesSignature };
  const { bytes, ends } = await lane.run<AuthReplies>(task, { transfer: [packed] });
  return Array.from(ends, (end, index) => {
    const start = ends[index - 1] ?? 0;
    return end === start ? undefined : Buffer.from(bytes.subarray(start, end));
  });
}

const minion = { privateKey: minionPair.privateKey, publicPem: minionPair.publicPem };
const master = { pem: cleanPem(masterPair.publicPem), publicKey: loadPublicKey(masterPair.publicPem) };

describe("the RSA lane", () => {
  after(() => lane.close());

  it("accepts with what a minion of each version verifies, its own token included", async () => {
    for (const version of [0, 2, 3] as const) {
      const attempt = startAuth("web1", minion, version, master);
      const token = encryptOaep(master.publicKey, Buffer.from(attempt.token ?? ""), "OAEP-SHA1");
      const [frame] = await answer({ ...job, version, nonce: attempt.nonce, outcome: { ...accepted, token } });
      assert.ok(frame);
      const outcome = finishAuth(attempt, frame, minion, version, version === 0 ? undefined : master);
      assert.ok(outcome.kind === "accepted");
      assert.equal(outcome.keys.aes.text, aes);
      assert.equal(outcome.keys.requestKey.text, version === 3 ? session : aes);
      assert.equal(outcome.keys.publishPort, 4_511);
    }
  });

  it("gives verdicts signed with the request's nonce, and bare ones to version 0", async () => {
    const [signed, bare] = await answer(
      { ...job, outcome: { ret: "full" } },
      { ...job, version: 0, nonce: undefined, outcome: { ret: true } },
    );
    const reply = decodeAuthReply(signed ?? Buffer.alloc(0));
    assert.deepEqual([reply.ret, reply.nonce, reply.signed !== undefined], ["full", nonce, true]);
    assert.deepEqual(decodeAuthReply(bare ?? Buffer.alloc(0)), { ret: true });
  });

  it("leaves a token out that it cannot open", async () => {
    const [frame] = await answer({ ...job, outcome: { ...accepted, token: Buffer.alloc(256, 1) } });
    assert.equal(decodeAuthReply(frame ?? Buffer.alloc(0)).accepted?.token, undefined);
  });

  it("answers the neighbours of a job that cannot be answered", async () => {
    const small = generateKeyPairSync("rsa", { modulusLength: 512 });
    const pub = small.publicKey.export({ type: "spki", format: "pem" }).toString();
    const replies = await answer(job, { ...job, outcome: { ...accepted, pub } }, job);
    assert.deepEqual(
      replies.map((reply) => reply !== undefined),
      [true, false, true],
    );
  });

  it("seals a pillar so that its minion alone opens it, in each version", async () => {
    const pillar = encode({ role: "web" }, "raw");
    for (const version of [0, 2, 3] as const) {
      const task: PillarReplyTask = {
        kind: "pillarReply",
        version,
        nonce,
        ...algorithms,
        minionPem: minionPair.publicPem,
        pillar,
      };
      const sender = { id: "web1", key: minion, token: Buffer.alloc(0), version };
      const value = openPrivateReply(await lane.run<Uint8Array>(task), nonce, sender, master);
      assert.deepEqual(value, new Map([["role", "web"]]));
    }
  });

  it("seals a pillar under the algorithm that its minion asked for", async () => {
    const task: PillarReplyTask = {
      kind: "pillarReply",
      version: 2,
      nonce,
      encAlgorithm: "OAEP-SHA224",
      sigAlgorithm: "PKCS1v15-SHA1",
      minionPem: minionPair.publicPem,
      pillar: encode({}, "raw"),
    };
    const { key, pillar } = decodePrivateReply(await lane.run<Uint8Array>(task));
    const text = decryptOaep(minionPair.privateKey, key, "OAEP-SHA224").toString("latin1");
    const signed = decodePrivateSigned(new Crypticle(text).open(pillar));
    assert.equal(decodePrivateData(signed.data).nonce, nonce);
  });
});
