/** What the main thread asks of a shard worker, and what it answers. Types only. */
import type { MasterConfig } from "../../config/load.ts";
import type { ForgottenFacts } from "../../runners/contract/contract.ts";
import type { BatchTask } from "./batch.ts";
import type { ReplySeal } from "./deferred.ts";

/** The master's AES keys as a worker needs them. `signature`: X9.31 of the key, computed once per rotation, not per auth. */
export type MasterKeys = {
  readonly aes: string;
  readonly signature: Uint8Array;
  readonly former: { readonly key: string; readonly untilMs: number } | undefined;
};

/** What a shard worker is started with. A replaced worker gets the values as they are then, so the main thread keeps them current. */
export type ShardStart = {
  readonly config: MasterConfig;
  readonly masterPrivatePem: string;
  readonly masterPublicPem: string;
  /** Local users and the secret each proves itself with (`.root_key`). */
  readonly localKeys: ReadonlyMap<string, string>;
  readonly partitionKey: Uint8Array;
  readonly slotCount: number;
  /** Ids with an accepted key, all partitions. */
  readonly accepted: Set<string>;
  keys: MasterKeys;
  /** Jobs of the latest presence pings, oldest first. */
  readonly presencePings: string[];
  /** The feed of what is to be written into Salt's files, if they are kept current. */
  readonly saltFeedFile?: string | undefined;
  /** Key files of strangers, counted by all workers (unproven-keys.ts). */
  readonly keyCounts: SharedArrayBuffer;
};

/** `target` is the network encoding of the target expression, which may be a string or a list. */
export type MatchTask = {
  readonly kind: "match";
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly delimiter: string;
  /** False: minions of whom nothing is known match no term that asks for grains or pillar. */
  readonly isGreedy?: boolean;
};

/** A stretch of mines to read. `ids`: packed texts, the last one maybe cut off; of what fits into `bytesMax` and a slice of time. */
export type MineReadTask = {
  readonly kind: "mineRead";
  readonly asker: string;
  readonly functions: readonly string[];
  readonly ids: Uint8Array;
  readonly bytesMax: number;
};

/** The first stretch, of the minions that a target names: matched and read in one go, since handing a task over costs more than most readings. */
export type MineFindTask = Omit<MineReadTask, "kind" | "ids"> & {
  readonly kind: "mineFind";
  readonly match: MatchTask;
};

/** `rest`: packed texts that are still to be read. */
export type MineFindAnswer =
  | { readonly state: "ready"; readonly count: number; readonly rest: Uint8Array; readonly slice: MineSlice }
  | Exclude<MatchAnswer, { state: "ready" }>;

/** `readBytes`: how much of `ids` is done. Of function i, `counts[i]` pairs of id and value (network encoding) end at `ends[i]` of `pairs`. */
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
 * `ids` holds the expected minions as items of a packed list: memory that is transferred, or shared and never written again. `pending`: ask the same again soon; what the target needs is being
 * indexed between batches.
 */
export type MatchAnswer =
  | { readonly state: "ready"; readonly count: number; readonly ids: Uint8Array }
  | { readonly state: "pending" }
  | { readonly state: "refused"; readonly reason: string };

/** `slot` says which partitions the worker answers for: those with `partition % slotCount === slot`. */
export type ShardTask = { readonly slot: number } & (
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
  /** A runner call as a job whose only minion is the master. */
  | {
      readonly kind: "putCall";
      readonly jid: string;
      readonly load: Uint8Array;
      readonly id: string;
      readonly body: Uint8Array;
    }
  /** Returns of this job are not to be kept. */
  | { readonly kind: "noCache"; readonly jid: string }
  /** What a minion has told and was told. Maps in the new flavour; without `pillar` the one that is kept stays. */
  | {
      readonly kind: "keepFacts";
      readonly id: string;
      readonly grains: Uint8Array;
      readonly pillar: Uint8Array | undefined;
    }
  | ({ readonly kind: "forgetFacts" } & ForgottenFacts)
  | { readonly kind: "seal"; readonly packed: Uint8Array }
  | MineFindTask
  | MineReadTask
  /** The whole reply to a minion, sealed little by little; nothing if its key is gone. `id`: empty for an older request that names none. */
  | {
      readonly kind: "sealReply";
      readonly id: string;
      readonly seal: ReplySeal;
      readonly parts: readonly Uint8Array[];
    }
  | { readonly kind: "masterKeys"; readonly keys: MasterKeys }
  | { readonly kind: "minionKeys"; readonly added: string[]; readonly removed: string[]; readonly changed: string[] }
  | { readonly kind: "presencePing"; readonly jid: string }
  /** Asks the job cache which of these minions have returned. */
  | { readonly kind: "whichReturned"; readonly jid: string; readonly ids: readonly string[] }
  /** `keep`: how many jobs and bytes may stay besides; 0 is any. Answered with a `TrimAnswer`. */
  | {
      readonly kind: "trim";
      readonly olderThanJid: string;
      readonly keep: { readonly jobsMax: number; readonly bytesMax: number };
      readonly stepsMax: number;
    }
  | { readonly kind: "counters" }
  | { readonly kind: "measures" }
  | { readonly kind: "close" }
);

export type TrimAnswer = { readonly removed: number; readonly hasMore: boolean };

export type ShardCounters = Readonly<Record<string, number>>;
