/** Tasks of the lanes for RSA, files, Salt's own files, the database of jobs and the returners of events, and their answers. Types only. */

import type { MasterConfig } from "../../config/load.ts";
import type { EventReturnStates } from "../../databases/events/returning.ts";
import type { ExpiryTask } from "../../databases/expiry.ts";
import type { MigrationTask } from "../../databases/migration/thread.ts";
import type { ShippedStep } from "../../databases/shipper.ts";
import type { PushRefusal, Usage } from "../../fileserver/pushed/usage.ts";
import type { Fetched } from "../../git/fetch-all.ts";
import type { GitEnvironment } from "../../git/program.ts";
import type { GitRemote } from "../../git/remotes.ts";
import type { MinionLayout } from "../../store/salt/minion-files.ts";

/** Reply i starts where reply i - 1 ends, and ends at `ends[i]`. It is empty if the lane failed to make it. */
export type AuthReplies = { readonly bytes: Uint8Array; readonly ends: Uint32Array };

/** RSA work of a `_pillar` reply, docs/protocol.md section 2.3. `pillar`: the pillar map in network encoding. */
export type PillarReplyTask = {
  readonly kind: "pillarReply";
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly minionPem: string;
  readonly pillar: Uint8Array;
};

/** An answer in network encoding, with the key of the requests that it answers (fileserver/answer-key.ts). */
export type KeptAnswer = { readonly key: string; readonly answer: Uint8Array };
/** Answers for a worker to keep. `isPart`: not beyond `fileAnswerFreshMs`, or a file's hash and its content might be of different times. */
export type KeptAnswers = {
  readonly answers: readonly KeptAnswer[];
  readonly asked: AskedAt;
  readonly isPart: boolean;
};
/** When a request for files came, by the worker's `performance.now()`, and in which epoch (state/file-epoch.ts). */
export type AskedAt = { readonly askedMs: number; readonly epoch: number };

/** A request to read files, or to push one (`_file_recv`). `load`: its map as it came. `id`: the minion, if it proved its identity. */
export type FileTask = { readonly cmd: string; readonly load: Uint8Array; readonly id: string | undefined };

/** `answer`: in network encoding; its memory is transferred. */
export type FileResult = {
  readonly answer: Uint8Array<ArrayBuffer>;
  /** Answers to what a minion asks next, which cost nothing. */
  readonly ahead?: readonly KeptAnswer[];
  /** The answers tell a part of a file, whose rest is told by others. */
  readonly isPart?: boolean;
  /** For a pushed piece: the bound that refused it, if any, and the size of all minions' pushed files once the lane has counted them. */
  readonly push?: { readonly refusedBy: PushRefusal | undefined; readonly total: Readonly<Usage> | undefined };
  /** What backends in Python wrote since the last answer, and why they could not fetch: lines for the log. */
  readonly complaints?: readonly string[];
};

/** `environment`: variables for programs. */
export type FileStart = { readonly config: MasterConfig; readonly environment: GitEnvironment };

/**
 * Each task does one step. `mirror`: updates Salt's files. `takeJobs`: takes over a Salt master's jobs whose directories changed after `sinceMs`.
 */
export type SaltTask =
  | { readonly kind: "mirror" }
  | { readonly kind: "takeJobs"; readonly sinceMs: number; readonly olderThanJid: string; readonly isBrief?: boolean };

/** `storeFaults`: log lines about faults of our own store since the last answer. */
export type SaltAnswer<Step> = Step & { readonly storeFaults: readonly string[] };
export type TakenJobs = {
  readonly taken: number;
  /** Number of jobs not taken over. `faults` names the first few of them. */
  readonly leftOut: number;
  readonly isDone: boolean;
  readonly faults: readonly { readonly file: string; readonly reason: string }[];
};

export type SaltStart = {
  readonly config: MasterConfig;
  readonly queueFile: string;
  readonly layouts: readonly MinionLayout[];
};

/**
 * `ship` copies one step of the feed into the database and answers with a `ShipAnswer`; `look` answers with a `FeedState`; `expire` removes old rows
 * and answers with `ExpiredRows`; `migrate` does a step of a migration and answers with a `MigrationAnswer`.
 */
export type DatabaseTask =
  | { readonly kind: "ship" | "look" }
  | ({ readonly kind: "expire" } & ExpiryTask)
  | MigrationTask;

/** `complaints`: what the site's own Python wrote to its standard error. */
export type ShipAnswer = ShippedStep & { readonly complaints: readonly string[] };

export type MigrationStart = { readonly config: MasterConfig };

/** `environment`: variables for Python. */
export type DatabaseStart = {
  readonly config: MasterConfig;
  readonly name: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** `take`: frames of the event bus, whose memory is transferred. `finish`: writes what waits. Each is answered with an `EventTaskAnswer`. */
export type EventTask =
  | { readonly kind: "take"; readonly frames: Uint8Array<ArrayBuffer> }
  | { readonly kind: "look" }
  | { readonly kind: "finish"; readonly withinMs: number };
/** `thread`: its name. Another one than before means that what waited in the former thread is lost. */
export type EventTaskAnswer = EventReturnStates & { readonly thread: string };
/** `environment`: variables for Python. */
export type EventStart = {
  readonly config: MasterConfig;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

export type GitStart = { readonly remotes: readonly GitRemote[]; readonly environment: GitEnvironment };
/** `directories`: of the remotes to fetch. */
export type GitTask = { readonly directories: readonly string[] };
/** `failure`: names the remotes that failed. */
export type GitResult = Omit<Fetched, "failure"> & { readonly failure?: string };

export type RsaTask =
  | {
      readonly kind: "authReplies";
      readonly auths: ArrayBuffer;
      readonly aes: string;
      readonly aesSignature: Uint8Array;
    }
  | PillarReplyTask
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
