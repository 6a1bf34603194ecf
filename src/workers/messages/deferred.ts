/** Requests of a batch that other threads finish. Types only. */
import type { CredentialTask } from "../credentials/contract/credential.ts";
import type { AskedAt, FileTask, PillarReplyTask } from "./lanes.ts";
import type { PillarTask } from "./pillar.ts";

/** A minion's `_mine_get`. `isByFunction`: the answer maps function to minion to value; otherwise minion to value. */
export type MineAsk = {
  /** The minion that asks. */
  readonly id: string;
  /** Network encoding, as in a `MatchTask`. */
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly functions: readonly string[];
  readonly isByFunction: boolean;
  readonly seal: ReplySeal;
};

/** How the answer is sealed. `key`: the minion's session, or the master key that sealed an older request. */
export type ReplySeal = { readonly key: "session" | SealKey; readonly nonce: string };

/** A proven minion's request to other minions or to the master's runners. The main thread has yet to authorise it. */
export type PeerAsk = { readonly id: string; readonly seal: ReplySeal } & (
  | PeerPublish
  | PeerRun
  /** Asks for the returns of a job that the minion published. */
  | { readonly command: "returns"; readonly jid: string }
);

/**
 * `sent`: the arguments as they came, which the permission check reads. `arg`: their values, which the minions get. `target`: a string or a
 * list. All three in network encoding.
 */
export type PeerPublish = {
  readonly command: "publish";
  readonly fun: string;
  readonly sent: Uint8Array;
  readonly arg: Uint8Array;
  readonly target: Uint8Array;
  readonly targetKind: string;
  readonly ret: string;
  /** Undefined: the answer names the job. Otherwise it holds the job's returns. */
  readonly wait: { readonly timeoutMs: number; readonly isFull: boolean } | undefined;
};

/** `arg`: as in `PeerPublish`. */
export type PeerRun = { readonly command: "run"; readonly fun: string; readonly arg: Uint8Array };

/** `clientAddress`: of the HTTP client, for a request that the API process passes on. Undefined: the address of the connection counts. */
type Forwarded = { readonly clientAddress?: string };

/** A request that the worker leaves to another thread. `item`: its index in the batch. */
export type Deferred = { readonly item: number } & (
  | { readonly kind: "rsa"; readonly task: PillarReplyTask }
  | { readonly kind: "pillar"; readonly task: PillarTask; readonly reply: Omit<PillarReplyTask, "kind" | "pillar"> }
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
  /** `command`: of `ext_nodes`. `options`: the minion's own, in network encoding, for sources in Python. */
  | {
      readonly kind: "tops";
      readonly id: string;
      readonly command: string | undefined;
      readonly options?: Uint8Array;
      readonly seal: ReplySeal;
    }
  /** `id`: the minion whose worker seals the answer; empty for an older request without an id. */
  | {
      readonly kind: "files";
      readonly task: FileTask;
      readonly id: string;
      readonly seal: ReplySeal;
      /** Names the request for others that ask the same, and when it came. */
      readonly kept?: { readonly key: string; readonly asked: AskedAt };
    }
  | ({ readonly kind: "publish"; readonly load: Uint8Array; readonly caller: Caller } & Forwarded)
  | ({
      readonly kind: "command";
      readonly command: "runner" | "wheel";
      readonly load: Uint8Array;
      readonly caller: Caller;
    } & Forwarded)
  | ({
      readonly kind: "makeToken";
      readonly credential: CredentialTask;
      readonly expireSeconds: number | undefined;
    } & Forwarded)
  | ({ readonly kind: "readToken"; readonly token: string } & Forwarded)
);

/**
 * The client of a clear request. `key`: a user of this machine, proven by the key file. `isMaster`: the user that runs the master. The main
 * thread checks token and password before it decodes the load.
 */
export type Caller =
  | { readonly kind: "key"; readonly user: string; readonly isMaster: boolean }
  | { readonly kind: "token"; readonly user: string; readonly token: string }
  | { readonly kind: "eauth"; readonly user: string; readonly credential: CredentialTask };

/** The master key that sealed an older request: the current one or the one before the last rotation. It also seals the reply. */
export type SealKey = "current" | "former";
