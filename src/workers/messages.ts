/**
 * The whole contract between the master's main thread and its worker threads: the shard workers that own partitions,
 * and the lanes that take slow work off them. Types only.
 */

import type { MessagePort } from "node:worker_threads";
import type { MasterConfig } from "../config/load.ts";
import type { PushRefusal, Usage } from "../fileserver/pushed/usage.ts";
import type { ForgottenFacts, JobRequest, MasterAccess, RunnerCaller } from "../runners/contract/contract.ts";
import type { MinionLayout } from "../store/salt/minion-files.ts";
import type { CredentialTask } from "./credentials/contract.ts";
import type { PillarTask } from "./lanes/pillar-messages.ts";

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

/**
 * How one item of a batch came in. `ordinary`: as the socket gave it. `opened`: another worker has opened its seal. `auth`: an `_auth` that has waited
 * among such, `overMinionsMax` while `max_minions` are connected.
 */
export const itemKinds = { ordinary: 0, opened: 1, overMinionsMax: 2, auth: 3 } as const;
export type ItemKind = (typeof itemKinds)[keyof typeof itemKinds];

/** `isHeard`: somebody follows events or jobs; otherwise nothing is encoded for them. `isFollowed`: the job tracker wants to know which events are returns. */
export type BatchTask = {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly isHeard: boolean;
  readonly isFollowed: boolean;
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

/** What a minion may have of others' mines. `isByFunction`: the answer is by function, then minion, else by minion alone. */
export type MineAsk = {
  /** Who asks. */
  readonly id: string;
  /** Network encoding, as in a `MatchTask`. */
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly functions: readonly string[];
  readonly isByFunction: boolean;
  readonly seal: ReplySeal;
};
/** How the answer goes back. `key`: of the minion's session, or the master's that an older request came under. */
export type ReplySeal = { readonly key: "session" | SealKey; readonly nonce: string };

/** What a minion that has proved itself asks of others, or of the master's runners; whether it may is not decided yet. */
export type PeerAsk = { readonly id: string; readonly seal: ReplySeal } & (
  | PeerPublish
  | PeerRun
  /** What has returned of a job that it published. */
  | { readonly command: "returns"; readonly jid: string }
);
/**
 * `sent`: the arguments as they came, by which it is permitted; `arg`: their values, as minions get them. Network encoding, as `target` is,
 * which may be a string or a list.
 */
export type PeerPublish = {
  readonly command: "publish";
  readonly fun: string;
  readonly sent: Uint8Array;
  readonly arg: Uint8Array;
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly ret: string;
  /** Undefined: the answer is the job; otherwise what it returned. */
  readonly wait: { readonly timeoutMs: number; readonly isFull: boolean } | undefined;
};
/** `arg`: as `PeerPublish` has it. */
export type PeerRun = { readonly command: "run"; readonly fun: string; readonly arg: Uint8Array };

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

/** RSA work of an `_auth` that is decided, section 3.2 of docs/protocol.md. `pub`: the minion's key as it came. The lane keeps nothing of it. */
export type AuthJob = {
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly outcome:
    | { readonly ret: boolean | "full" }
    | { readonly pub: string; readonly session: string; readonly token: Uint8Array | undefined };
};

/** The decided `_auth`s of a batch (workers/batch/auth-jobs.ts): `items[i]` is the index in the batch of what job i answers. */
export type AuthBatch = { readonly items: Uint16Array; readonly jobs: ArrayBuffer };

/** Reply i ends at `ends[i]` and starts where the one before ended; no bytes: it could not be made. */
export type AuthReplies = { readonly bytes: Uint8Array; readonly ends: Uint32Array };

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

/** A request for files, or with one (`_file_recv`). `load`: its map as it came. `id`: of the minion, if it has proved itself. */
export type FileTask = { readonly cmd: string; readonly load: Uint8Array; readonly id: string | undefined };
/** The answer's network encoding, whose memory is transferred. */
export type FileResult = {
  readonly answer: Uint8Array<ArrayBuffer>;
  /** Of a pushed piece: the bound for which it was refused, and what the pushed files of all minions take, once that is known. */
  readonly push?: { readonly refusedBy: PushRefusal | undefined; readonly total: Readonly<Usage> | undefined };
};
export type FileStart = { readonly config: MasterConfig };

/** `mirror`: bring Salt's files up to date for a while. `takeJobs`: take over jobs of a Salt master for a while, those in directories that changed after `sinceMs`. */
export type SaltTask =
  | { readonly kind: "mirror" }
  | { readonly kind: "takeJobs"; readonly sinceMs: number; readonly olderThanJid: string };
export type TakenJobs = {
  readonly taken: number;
  /** Told one by one in `faults` are the first few. */
  readonly leftOut: number;
  readonly isDone: boolean;
  readonly faults: readonly { readonly file: string; readonly reason: string }[];
};
export type SaltStart = {
  readonly config: MasterConfig;
  readonly feedFile: string;
  readonly layouts: readonly MinionLayout[];
};

export type RsaTask =
  | {
      readonly kind: "authReplies";
      readonly jobs: ArrayBuffer;
      readonly aes: string;
      readonly aesSignature: Uint8Array;
    }
  | PillarReplyJob
  | { readonly kind: "sign"; readonly data: Uint8Array; readonly algorithm: string }
  | { readonly kind: "signMasterKey"; readonly aes: string };

/** What every lane's threads are started with besides their own: how many threads the lane has started, counted in place. */
export type LaneStart = { readonly startedThreads: SharedArrayBuffer };

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
  readonly fun: string;
  readonly args: Uint8Array;
  readonly kwargs: Uint8Array;
  readonly caller: RunnerCaller;
  readonly port: MessagePort;
};
/** `notes`: texts for the caller, beside the value. `faults`: of the stores that were read, for the log. `told`: events of the call that its client should have seen before the result. */
export type RunnerResult = {
  readonly value: Uint8Array;
  readonly success: boolean;
  readonly notes: readonly string[];
  readonly faults: readonly string[];
  /** Of a value that is too large for the job cache: the value for the caller, in the network's flavour. `value` then stands for it there. */
  readonly reply?: Uint8Array;
  /** Of a value that is too large for an event as it is: what the event shows of it. */
  readonly event?: Uint8Array;
  readonly told: number;
};
export type RunnerStart = { readonly config: MasterConfig };

/** What a runner may ask of the main thread, by its name in `MasterAccess`, and what it answers. */
export type RunnerAsk = { readonly id: number; readonly name: keyof MasterAccess; readonly question: unknown };
export type RunnerAnswer = { readonly id: number } & (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string }
);
/** A `JobRequest` whose values are packed, in the network's flavour. */
export type RunJobAsk = Omit<JobRequest, "arg" | "target"> & { readonly arg: Uint8Array; readonly target: Uint8Array };
/** Outcome of `runJob`: bodies are return loads; `silent` are those who did not answer. */
export type RunJobAnswer = {
  readonly jid: string;
  readonly minions: readonly string[];
  readonly returns: readonly { readonly id: string; readonly body: Uint8Array }[];
  readonly silent: Readonly<Record<string, string>>;
};

/** Work that a worker found in a batch but does not finish itself; `item` is its index in the batch. */
export type Deferred = { readonly item: number } & (
  | { readonly kind: "rsa"; readonly job: PillarReplyJob }
  | { readonly kind: "pillar"; readonly task: PillarTask; readonly reply: Omit<PillarReplyJob, "kind" | "pillar"> }
  | {
      readonly kind: "forward";
      readonly id: string;
      readonly version: number;
      readonly encAlgorithm: string | undefined;
      readonly sealKey: SealKey;
      readonly load: Uint8Array;
    }
  | { readonly kind: "mineGet"; readonly ask: MineAsk }
  | { readonly kind: "peer"; readonly ask: PeerAsk }
  /** `id`: whose worker seals the answer; empty for an older request that names none. */
  | { readonly kind: "files"; readonly task: FileTask; readonly id: string; readonly seal: ReplySeal }
  | { readonly kind: "publish"; readonly load: Uint8Array; readonly caller: Caller }
  | {
      readonly kind: "command";
      readonly command: "runner" | "wheel";
      readonly load: Uint8Array;
      readonly caller: Caller;
    }
  | { readonly kind: "makeToken"; readonly credential: CredentialTask; readonly expireSeconds: number | undefined }
  | { readonly kind: "readToken"; readonly token: string }
);
/**
 * Who asks in clear. `key`: a user of this machine, proven by his key file; `isMaster`: the master's own. Token and password are still to be
 * checked: only then is their load decoded.
 */
export type Caller =
  | { readonly kind: "key"; readonly user: string; readonly isMaster: boolean }
  | { readonly kind: "token"; readonly user: string; readonly token: string }
  | { readonly kind: "eauth"; readonly user: string; readonly credential: CredentialTask };
/** Which master key an older request came under: its reply goes back under the same one. */
export type SealKey = "current" | "former";

/**
 * What becomes of a batch. `buffer` (transferred) holds the replies, then whole event frames from `eventsStart` on.
 * `replyEnds[i]` is the end of reply i, which starts where the one before ended; no bytes: the item is in `deferred`.
 */
/** A line for the log about what a minion, or another that reaches the port, asked for and did not get. */
export type Refusal = { readonly id: string; readonly text: string; readonly level: "warn" | "error" };

export type BatchResult = {
  readonly buffer: ArrayBuffer;
  readonly replyEnds: Uint32Array;
  readonly eventsStart: number;
  readonly eventCount: number;
  /** Of each return: where its event starts and ends, counted from `eventsStart`, and 1 if its retcode is not 0. */
  readonly returnEvents: Uint32Array;
  readonly deferred: Deferred[];
  readonly auths: AuthBatch | undefined;
  /** Per item, 1: the id outside of its seal proved itself. */
  readonly proven: Uint8Array;
  /** Ids that proved themselves and stand inside a seal, or in an `_auth`. */
  readonly contacts: string[];
  /** Ids that have authenticated, and ids that say that they have started. */
  readonly authenticated: string[];
  readonly started: string[];
  /** Ids whose key this worker accepted just now. */
  readonly accepted: string[];
  readonly refusals: Refusal[];
  /** From the batch's beginning in the worker to this result. */
  readonly workedMs: number;
};

export type ShardCounters = Readonly<Record<string, number>>;
