/** Tasks of a worker, and their answers. Types only. */
import type { ShareAsk } from "../../cluster/minions/local.ts";
import type { SenderStart } from "../../cluster/returns/sender.ts";
import type { MasterConfig } from "../../config/load.ts";
import type { ForgottenFacts } from "../../runners/contract/contract.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import type { BatchTask } from "./batch.ts";
import type { ReplySeal } from "./deferred.ts";
import type { KeptAnswers } from "./lanes.ts";
import type { MemberReturnsTask, RepairTask } from "./member-returns.ts";

/** The master's AES keys for a worker. `signature`: X9.31 of the key, computed once per rotation. */
export type MasterKeys = {
  readonly aes: string;
  readonly signature: Uint8Array;
  readonly former: { readonly key: string; readonly untilMs: number } | undefined;
};

/** `refusals`: counts the batches of returns that the cluster did not take, of all workers. */
export type ClusterStart = SenderStart & { readonly refusals: SharedArrayBuffer };

/** Start values of a worker. The main thread keeps them current for replacement workers. */
export type WorkerStart = {
  readonly config: MasterConfig;
  readonly masterPrivatePem: string;
  readonly masterPublicPem: string;
  /** Local users and their secrets (`.root_key`). */
  readonly localKeys: ReadonlyMap<string, string>;
  readonly partitionKey: Uint8Array;
  readonly slotCount: number;
  /** Ids with an accepted key, of all partitions. */
  readonly accepted: Set<string>;
  keys: MasterKeys;
  /** Job ids of the latest presence pings, oldest first. */
  readonly presencePings: string[];
  /** File of the mirror's queue (store/salt/mirror-queue.ts), if Salt's files are kept current. */
  readonly mirrorQueueFile?: string | undefined;
  /** Counts of pending and rejected key files, shared by all workers (state/unproven-keys.ts). */
  readonly keyCounts: SharedArrayBuffer;
  /** Shared by the publisher and all workers (state/file-epoch.ts). */
  readonly fileEpoch: SharedArrayBuffer;
  /** From which a member of a cluster derives its minions' sessions (state/derived-sessions.ts), 32 bytes. */
  readonly clusterSessionKey?: Uint8Array | undefined;
  /** Marks of threads within a transaction (store/lmdb/transaction-marks.ts). */
  readonly transactions: SharedArrayBuffer;
  /** Undefined without a cluster. */
  readonly cluster?: ClusterStart | undefined;
};

/** `target` is the network encoding of the target expression, which may be a string or a list. */
export type MatchTask = Omit<AskedTarget, "target"> & {
  readonly kind: "match";
  readonly target: Uint8Array;
  /** False: minions without known facts match no term about grains or pillar. */
  readonly isGreedy?: boolean;
};

/** Reads a slice of mines. `ids`: packed texts; the last may be cut off. `bytesMax` bounds the answer. */
export type MineReadTask = {
  readonly kind: "mineRead";
  readonly asker: string;
  readonly functions: readonly string[];
  readonly ids: Uint8Array;
  readonly bytesMax: number;
};

/** Matches a target and reads the first slice in one task, because a thread hop costs more than most slices. */
export type MineFindTask = Omit<MineReadTask, "kind" | "ids"> & {
  readonly kind: "mineFind";
  readonly match: MatchTask;
};

/** `rest`: packed ids of minions whose mines are not read yet. */
export type MineFindAnswer =
  | { readonly state: "ready"; readonly count: number; readonly rest: Uint8Array; readonly slice: MineSlice }
  | Exclude<MatchAnswer, { state: "ready" }>;

/**
 * `readBytes`: how many bytes of `ids` are done. Function i has `counts[i]` pairs of id and value (network
 * encoding), which end at `ends[i]` of `pairs`.
 */
export type MineSlice =
  | {
      readonly state: "read";
      readonly readBytes: number;
      readonly counts: number[];
      readonly ends: number[];
      readonly pairs: Uint8Array<ArrayBuffer>;
    }
  | { readonly state: "tooLarge" };

/**
 * `ids`: the expected minions as items of a packed list, in transferred memory or in shared read-only memory. `pending`: the worker still builds
 * its index between batches, and the caller asks again.
 */
export type MatchAnswer =
  | { readonly state: "ready"; readonly count: number; readonly ids: Uint8Array }
  | { readonly state: "pending" }
  | { readonly state: "refused"; readonly reason: string };

/** The worker answers for the partitions with `partition % slotCount === slot`. */
export type WorkerTask = { readonly slot: number } & (
  | BatchTask
  | MatchTask
  | {
      readonly kind: "putLoad";
      readonly jid: string;
      readonly load: Uint8Array;
      /** The pieces of a packed list. */
      readonly minions: readonly Uint8Array[];
      readonly missing: string[];
      readonly isNoCache: boolean;
    }
  /** Runner calls as jobs whose only minion is the master, `id`. */
  | {
      readonly kind: "putCalls";
      readonly id: string;
      readonly calls: readonly { readonly jid: string; readonly load: Uint8Array; readonly body: Uint8Array }[];
    }
  /** Tells the worker not to store returns of this job. */
  | { readonly kind: "noCache"; readonly jid: string }
  /** Stores a minion's grains and pillar, maps in the new flavour. Without `pillar` the stored one stays. */
  | {
      readonly kind: "keepFacts";
      readonly id: string;
      readonly grains: Uint8Array;
      readonly pillar: Uint8Array | undefined;
    }
  | ({ readonly kind: "forgetFacts" } & ForgottenFacts)
  /** Only in a cluster (state/share-minions.ts). */
  | { readonly kind: "shareMinions"; readonly ask: ShareAsk }
  | { readonly kind: "seal"; readonly packed: Uint8Array }
  | MineFindTask
  | MineReadTask
  /** Seals a whole reply in steps (batch/seal-reply.ts). `id`: empty for an older request without an id. */
  | {
      readonly kind: "sealReply";
      readonly id: string;
      readonly seal: ReplySeal;
      readonly parts: readonly Uint8Array[];
      /** Answers for other minions that ask the same. */
      readonly kept?: KeptAnswers;
    }
  | { readonly kind: "masterKeys"; readonly keys: MasterKeys }
  | { readonly kind: "minionKeys"; readonly added: string[]; readonly removed: string[]; readonly changed: string[] }
  | { readonly kind: "presencePing"; readonly jid: string }
  /** Asks the job cache which of these minions have returned. */
  | { readonly kind: "whichReturned"; readonly jid: string; readonly ids: readonly string[] }
  /** Removes old jobs, then the oldest beyond `keep`, where 0 is unbounded. The answer is a `TrimAnswer`. */
  | {
      readonly kind: "trim";
      readonly olderThanJid: string;
      readonly keep: { readonly jobsMax: number; readonly bytesMax: number };
      readonly stepsMax: number;
    }
  | MemberReturnsTask
  | RepairTask
  | { readonly kind: "counters" }
  | { readonly kind: "measures" }
  | { readonly kind: "close" }
);

export type TrimAnswer = { readonly removed: number; readonly hasMore: boolean };

export type WorkerCounts = Readonly<Record<string, number>>;
