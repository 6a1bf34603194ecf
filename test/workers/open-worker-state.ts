/** A worker for handler tests: real key directories in a private folder, stores in memory, no pool. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "node:test";
import { loadMasterConfig, type MasterConfig, type Overrides } from "../../src/config/load.ts";
import { generateKeyString } from "../../src/crypto/crypticle.ts";
import { signX931 } from "../../src/crypto/x931.ts";
import { routeOf } from "../../src/master/admission/route.ts";
import type { JobCacheWriter, LoadToPut, ReturnRecord } from "../../src/store/jobs/job-cache.ts";
import { openAutosign } from "../../src/store/keys/autosign.ts";
import { openKeyDirectories } from "../../src/store/keys/keys.ts";
import { newTransactionMarks } from "../../src/store/lmdb/transaction-marks.ts";
import type { MinionData } from "../../src/store/minions/data.ts";
import { openSecretBox } from "../../src/store/secrets/sealed.ts";
import { decodeEvent, FrameReader, tagIn } from "../../src/wire/event.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { type ItemKind, itemKinds, packBatch } from "../../src/workers/batch/frames.ts";
import { runBatch } from "../../src/workers/batch/run-batch.ts";
import type { BatchResult } from "../../src/workers/messages/batch.ts";
import type { WorkerStart } from "../../src/workers/messages/worker.ts";
import { FileEpoch } from "../../src/workers/state/file-epoch.ts";
import { createKeyCounts } from "../../src/workers/state/unproven-keys.ts";
import { WorkerState } from "../../src/workers/state/worker-state.ts";
import { createPartitionKey } from "../../src/workers/threads/partition.ts";

function newPair() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    privateKey,
    privatePem: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

export const masterPair = newPair();
export const minionPair = newPair();
export const otherPair = newPair();

export type MemoryStores = {
  readonly loads: Map<string, LoadToPut>;
  readonly returns: Map<string, ReturnRecord>;
  readonly minions: Map<
    string,
    { grains?: Uint8Array | undefined; mine?: Uint8Array | undefined; session?: Uint8Array }
  >;
  /** Set to make the next commit fail. */
  fault: Error | undefined;
};

function memoryJobs(memory: MemoryStores): JobCacheWriter {
  const keyOf = (jid: string, id: string) => `${jid}\n${id}`;
  return {
    keepReturns: async (batch) => {
      if (memory.fault !== undefined) throw memory.fault;
      return batch.map((record) => {
        const key = keyOf(record.jid, record.minionId);
        if (memory.returns.has(key)) return "duplicate";
        // The body is in the batch's memory, which the next batch reuses.
        memory.returns.set(key, { ...record, body: Uint8Array.from(record.body) });
        return "stored";
      });
    },
    keepNewJob: async (jid, make) => {
      if (!memory.loads.has(jid)) memory.loads.set(jid, make());
    },
    keepJobs: async (records) => {
      for (const record of records) memory.loads.set(record.jid, record);
    },
    addMinions: async (jid, _syndic, minions) => {
      const load = memory.loads.get(jid);
      if (load !== undefined) memory.loads.set(jid, { ...load, minions });
    },
    whichReturned: async (jid, ids) => ids.filter((id) => memory.returns.has(keyOf(jid, id))),
    unkeptJobs: async () => [],
    trim: async ({ olderThanJid }) => ({ removed: 0, hasMore: false, olderThanJid }),
    close: async () => undefined,
  };
}

function memoryMinions(memory: MemoryStores): MinionData {
  const at = (id: string) => {
    const record = memory.minions.get(id) ?? {};
    memory.minions.set(id, record);
    return record;
  };
  const empty = encode(new Map(), "bin");
  return {
    putGrains: async (id, grains) => {
      at(id).grains = Uint8Array.from(grains);
    },
    get: (id) => {
      const grains = memory.minions.get(id)?.grains;
      return grains && { grains, pillar: empty };
    },
    ids: () => [...memory.minions.keys()],
    dropFacts: async (id) => {
      at(id).grains = undefined;
    },
    dropMine: async (id) => {
      at(id).mine = undefined;
    },
    putMine: async (id, mine) => {
      at(id).mine = Uint8Array.from(mine);
    },
    getMine: (id) => memory.minions.get(id)?.mine,
    parts: (id) => {
      const { grains, mine } = memory.minions.get(id) ?? {};
      return { grains, pillar: grains && empty, mine, damaged: new Set() };
    },
    putSession: async (id, sealed) => {
      at(id).session = Uint8Array.from(sealed);
    },
    getSession: (id) => memory.minions.get(id)?.session,
    mineIds: () => [...memory.minions].filter(([, { mine }]) => mine !== undefined).map(([id]) => id),
    sessionIds: () => [...memory.minions].filter(([, { session }]) => session !== undefined).map(([id]) => id),
    dropSession: async (id) => {
      delete at(id).session;
    },
    drop: async (id) => {
      memory.minions.delete(id);
    },
    isForgotten: () => false,
    forgottenIds: () => [],
    dropForgotten: async () => undefined,
    close: async () => undefined,
  };
}

export type Bench = ReturnType<typeof openLastingWorkerState>;

const opened: Bench[] = [];
// Registered for the test file that imports this module.
afterEach(() => {
  for (const bench of opened.splice(0)) bench.close();
});

/** Closed after the test. `overrides`: master options by their Salt names. */
export function openWorkerState(overrides: Overrides = {}, start: Partial<WorkerStart> = {}): Bench {
  const bench = openLastingWorkerState(overrides, start);
  opened.push(bench);
  return bench;
}

/** The same, but the caller closes it. */
export function openLastingWorkerState(overrides: Overrides = {}, start: Partial<WorkerStart> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  const pkiDir = join(folder, "pki");
  mkdirSync(pkiDir, { recursive: true });
  const config: MasterConfig = loadMasterConfig(join(folder, "etc"), {
    root_dir: "/",
    user: "root",
    pki_dir: pkiDir,
    cachedir: join(folder, "cache"),
    ...overrides,
  });
  const memory: MemoryStores = { loads: new Map(), returns: new Map(), minions: new Map(), fault: undefined };
  const keys = openKeyDirectories(config.pki_dir);
  const worker = new WorkerState(
    {
      config,
      masterPrivatePem: masterPair.privatePem,
      masterPublicPem: masterPair.publicPem,
      localKeys: new Map([
        ["root", "local-secret"],
        [":api", "api-secret"],
      ]),
      partitionKey: createPartitionKey(),
      slotCount: 1,
      accepted: new Set(keys.list("accepted")),
      keys: { aes: generateKeyString(), signature: Buffer.from("signature"), former: undefined },
      presencePings: [],
      keyCounts: createKeyCounts(),
      fileEpoch: FileEpoch.memory(),
      transactions: newTransactionMarks(),
      ...start,
    },
    {
      jobs: memoryJobs(memory),
      minions: memoryMinions(memory),
      keys,
      box: openSecretBox(masterPair.privatePem, join(folder, "salt")),
    },
  );
  const autosign = openAutosign(config);
  const faults: Error[] = [];
  const send = (frame: Uint8Array, kind: ItemKind = kindOf(frame), isHeard = true): Promise<BatchResult> =>
    runBatch(worker, autosign, { ...packBatch([{ kind, bytes: frame }]), isHeard, isFollowed: isHeard }, (error) =>
      faults.push(error),
    );
  const close = () => rmSync(folder, { recursive: true, force: true });
  return { config, worker, keys, memory, faults, send, close };
}

/** As decided by the main thread. */
function kindOf(frame: Uint8Array): ItemKind {
  return routeOf(frame).kind === "auth" ? itemKinds.auth : itemKinds.ordinary;
}

/** Makes `id` an accepted minion with a session, as an `_auth` would, and gives back its session's crypticle. */
export async function acceptMinion(bench: Bench, id: string) {
  bench.keys.write("accepted", id, minionPair.publicPem);
  bench.worker.accept(id, minionPair.publicPem);
  const { session, stored } = bench.worker.issueSession(id, Date.now());
  await stored;
  return session.crypticle;
}

export const minionToken = signX931(minionPair.privateKey, Buffer.from("salt"));
export const nonce = "0123456789abcdef0123456789abcdef";

/** A version 3 request as a minion makes it; `changes` replace or (undefined) remove fields. */
export function sealedLoad(
  id: string,
  load: Record<string, Encodable>,
  changes: Record<string, Encodable> = {},
): Buffer {
  const ts = Math.floor(Date.now() / 1_000);
  return encode({ ...load, id, nonce, ts, tok: minionToken, ...changes }, "raw");
}

export function sealedFrame(
  sealed: Uint8Array,
  id: string,
  changes: { readonly encAlgorithm?: string; readonly sigAlgorithm?: string } = {},
): Buffer {
  const algorithms = { encAlgorithm: "OAEP-SHA1", sigAlgorithm: "PKCS1v15-SHA1", ...changes };
  return encodeSealedRequest(sealed, { version: 3, id, ...algorithms });
}

export function clearFrame(load: Encodable, version = 3): Buffer {
  return encodeClearRequest(load, version);
}

/** The only reply of a one-item batch; empty if the work was deferred. */
export function replyOf(result: BatchResult): Buffer {
  return Buffer.from(result.buffer, 0, result.replyEnds[0] ?? 0);
}

/** Tags of the returns' events that the job tracker gets. */
export function returnTags({ buffer, eventsStart, returnEvents }: BatchResult): string[] {
  return Array.from({ length: returnEvents.length / 3 }, (_, pair) => {
    return tagIn(Buffer.from(buffer), eventsStart + (returnEvents[pair * 3] ?? 0)).tag;
  });
}

/** The events that a batch fired. */
export function eventsOf(result: BatchResult): { tag: string; data: ValueMap }[] {
  return new FrameReader().push(new Uint8Array(result.buffer, result.eventsStart)).map((body) => decodeEvent(body));
}
