/** A batch of requests for a worker, and its result. Types only. */
import type { Deferred } from "./deferred.ts";

/**
 * `isHeard`: a client follows events or jobs. Without such a client the result holds no events. `isFollowed`: the job tracker needs `returnEvents`.
 */
export type BatchTask = {
  readonly kind: "batch";
  /** As `packBatch` gives them. */
  readonly buffer: ArrayBuffer;
  readonly shared: readonly { readonly item: number; readonly bytes: Uint8Array }[];
  readonly isHeard: boolean;
  readonly isFollowed: boolean;
};

/** RSA work of an `_auth` that the worker has decided, docs/protocol.md section 3.2. `pub`: the minion's key as it came. */
export type AuthTask = {
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly outcome:
    | { readonly ret: boolean | "full" }
    | { readonly pub: string; readonly session: string; readonly token: Uint8Array | undefined };
};

/** The decided `_auth`s of a batch, packed (workers/batch/auth-tasks.ts). Task i answers the batch's request number `items[i]`. */
export type AuthBatch = { readonly items: Uint16Array; readonly tasks: ArrayBuffer };

/** An operator's command whose key is not its user's. `user` is who it claims to be; `fun` may be empty. Both are short. */
export type WrongKey = {
  readonly command: "publish" | "runner" | "wheel";
  readonly user: string;
  readonly fun: string;
};

/** A log line about a refused request of a minion or another client. */
export type Refusal = { readonly id: string; readonly text: string; readonly level: "warn" | "error" };

/** Minions of a lower master that have got a job. */
export type ExpectedBelow = { readonly jid: string; readonly minions: readonly string[] };

/**
 * The result of a batch. `buffer` (transferred) holds the replies, and from `eventsStart` on whole event frames.
 * Reply i starts where reply i - 1 ends, and ends at `replyEnds[i]`. It is empty if the item is in `deferred` or `auths`.
 */
export type BatchResult = {
  readonly buffer: ArrayBuffer;
  readonly replyEnds: Uint32Array;
  readonly eventsStart: number;
  readonly eventCount: number;
  /** Three numbers per return: start and end of its event, counted from `eventsStart`, and 1 if its retcode is not 0. */
  readonly returnEvents: Uint32Array;
  readonly deferred: Deferred[];
  readonly auths: AuthBatch | undefined;
  /** Per item: 1 if a minion or an operator proved its identity, 2 if only the seal was right, otherwise 0. */
  readonly proven: Uint8Array;
  /** Ids inside the seals of older requests, and ids of accepted `_auth`s. */
  readonly contacts: string[];
  /** Ids of minions that authenticated; `started`: that fired their start event. */
  readonly authenticated: string[];
  readonly started: string[];
  /** Ids of lower masters that sent something. Empty without `order_masters`, as `expected` is. */
  readonly syndics: string[];
  readonly expected: ExpectedBelow[];
  /** Ids whose key this batch accepted. */
  readonly accepted: string[];
  readonly refusals: Refusal[];
  /** Some of the batch's wrong keys, with the index of their item. Empty without `audit_log`. */
  readonly wrongKeys: (WrongKey & { readonly item: number })[];
  /** How long the batch took in the worker. */
  readonly workedMs: number;
};
