/** Work that a shard worker finds in a batch and does not finish itself. Types only. */
import type { CredentialTask } from "../credentials/contract.ts";
import type { FileTask, PillarReplyJob } from "./lanes.ts";
import type { PillarTask } from "./pillar.ts";

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
