/**
 * The whole contract between the master's main thread and its worker threads: the shard workers that own partitions,
 * and the lanes that take slow work off them. Types only.
 */
import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../config/load.ts";

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
};

/** How one item of a batch came in. `ordinary`: as the socket gave it. `opened`: another worker has opened its seal. `overMinionsMax`: an `_auth` while `max_minions` are connected. */
export const itemKinds = { ordinary: 0, opened: 1, overMinionsMax: 2 } as const;
export type ItemKind = (typeof itemKinds)[keyof typeof itemKinds];

/** `isHeard`: somebody follows events or jobs; otherwise nothing is encoded for them. */
export type BatchTask = { readonly kind: "batch"; readonly buffer: ArrayBuffer; readonly isHeard: boolean };

/** `target` is the network encoding of the target expression, which may be a string or a list. */
export type MatchTask = {
  readonly kind: "match";
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly delimiter: string;
};

/** `slot` says which partitions the worker answers for: those with `partition % slotCount === slot`. */
export type ShardTask = { readonly slot: number } & (
  | BatchTask
  | MatchTask
  | {
      readonly kind: "putLoad";
      readonly jid: string;
      readonly load: Uint8Array;
      readonly minions: string[];
      readonly missing: string[];
    }
  | { readonly kind: "seal"; readonly packed: Uint8Array }
  | { readonly kind: "masterKeys"; readonly keys: MasterKeys }
  | { readonly kind: "minionKeys"; readonly added: string[]; readonly removed: string[]; readonly changed: string[] }
  | { readonly kind: "presencePing"; readonly jid: string }
  | { readonly kind: "trim"; readonly olderThanJid: string; readonly stepsMax: number }
  | { readonly kind: "counters" }
  | { readonly kind: "close" }
);

/** RSA work of an accepted, pending or refused `_auth`, section 3.2 of docs/protocol.md. The lane keeps nothing of it. */
export type AuthReplyJob = {
  readonly kind: "authReply";
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly outcome:
    | { readonly ret: boolean | "full" }
    | {
        readonly minionPem: string;
        readonly aes: string;
        readonly aesSignature: Uint8Array;
        readonly session: string;
        readonly token: Uint8Array | undefined;
        readonly publishPort: number;
      };
};

/** RSA work of a `_pillar` reply, section 2.3 of docs/protocol.md. `pillar` is the network encoding of the pillar map. */
export type PillarReplyJob = {
  readonly kind: "pillarReply";
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly minionPem: string;
  readonly pillar: Uint8Array;
};

export type RsaTask =
  | AuthReplyJob
  | PillarReplyJob
  | { readonly kind: "sign"; readonly data: Uint8Array; readonly algorithm: string }
  | { readonly kind: "signMasterKey"; readonly aes: string };

export type RsaStart = {
  readonly config: MasterConfig;
  readonly masterPrivatePem: string;
  readonly masterPublicPem: string;
  /** Private key that signs the master's public key (`master_sign_pubkey`), if configured. */
  readonly signingPrivatePem: string | undefined;
  /** Contents of the pre-computed signature file (`master_use_pubkey_signature`), if configured. */
  readonly publicKeySignature: Uint8Array | undefined;
};

/** A runner or wheel function. `port` lets it ask the main thread for what only that has: jobs, presence, counters. */
export type RunnerTask = {
  readonly kind: "runner" | "wheel";
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly user: string;
  readonly jid: string;
  readonly port: MessagePort;
};
export type RunnerResult = { readonly value: Uint8Array; readonly success: boolean };
export type RunnerStart = { readonly config: MasterConfig };

/** What a runner may ask of the main thread, and what it answers. Values are in the new msgpack flavour. */
export type RunnerAsk = { readonly id: number } & (
  | {
      readonly ask: "runJob";
      readonly fun: string;
      readonly arg: Uint8Array;
      readonly target: Uint8Array;
      readonly targetKind: string;
      readonly timeoutMs: number;
      readonly gatherTimeoutMs: number;
    }
  | { readonly ask: "connected" }
  | { readonly ask: "counters" }
);
export type RunnerAnswer = { readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }
);
/** Outcome of `runJob`: bodies are return loads; `silent` are those who did not answer. */
export type RunJobAnswer = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: readonly { readonly id: string; readonly body: Uint8Array }[];
  readonly silent: Readonly<Record<string, string>>;
};

/** Work that a worker found in a batch but does not finish itself; `item` is its index in the batch. */
export type Deferred = { readonly item: number } & (
  | { readonly kind: "rsa"; readonly job: AuthReplyJob | PillarReplyJob }
  | {
      readonly kind: "forward";
      readonly id: string;
      readonly version: number;
      readonly sealKey: SealKey;
      readonly load: Uint8Array;
    }
  | { readonly kind: "publish"; readonly load: Uint8Array; readonly user: string }
  | { readonly kind: "command"; readonly command: "runner" | "wheel"; readonly load: Uint8Array; readonly user: string }
);
/** Which master key an older request came under: its reply goes back under the same one. */
export type SealKey = "current" | "former";

/** One return whose event is heard, as the job tracker hears of it. Offsets are into the batch result's buffer. */
export type ReturnNote = {
  readonly jid: string;
  readonly id: string;
  readonly bodyStart: number;
  readonly bodyEnd: number;
};

/**
 * What becomes of a batch. `buffer` (transferred) holds the replies, then whole event frames from `eventsStart` on.
 * `replyEnds[i]` is the end of reply i, which starts where the one before ended; no bytes: the item is in `deferred`.
 */
export type BatchResult = {
  readonly buffer: ArrayBuffer;
  readonly replyEnds: Uint32Array;
  readonly eventsStart: number;
  readonly eventCount: number;
  readonly returned: ReturnNote[];
  readonly deferred: Deferred[];
  /** Ids that proved themselves in this batch: presence. */
  readonly contacts: string[];
  /** Ids whose key this worker accepted just now. */
  readonly accepted: string[];
};

export type ShardCounters = Readonly<Record<string, number>>;
