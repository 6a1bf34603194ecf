/** A batch of requests for a shard worker, and its result. Types only. */
import type { Deferred } from "./deferred.ts";

/** `isHeard`: a client follows events or jobs; otherwise events are not encoded. `isFollowed`: the job tracker needs `returnEvents`. */
export type BatchTask = {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly isHeard: boolean;
  readonly isFollowed: boolean;
};

/** RSA work of a decided `_auth`, docs/protocol.md section 3.2. `pub`: the minion's key as it came. */
export type AuthTask = {
  readonly version: number;
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly outcome:
    | { readonly ret: boolean | "full" }
    | { readonly pub: string; readonly session: string; readonly token: Uint8Array | undefined };
};

/** The decided `_auth`s of a batch (workers/batch/auth-tasks.ts). `items[i]` is the index in the batch of the request that task i answers. */
export type AuthBatch = { readonly items: Uint16Array; readonly tasks: ArrayBuffer };

/** A line for the log about a refused request, of a minion or another client. */
export type Refusal = { readonly id: string; readonly text: string; readonly level: "warn" | "error" };

/**
 * The result of a batch. `buffer` (transferred) holds the replies, then whole event frames from `eventsStart` on.
 * `replyEnds[i]` is the end of reply i, which starts where reply i - 1 ends. An empty reply: the item is in `deferred` or `auths`.
 */
export type BatchResult = {
  readonly buffer: ArrayBuffer;
  readonly replyEnds: Uint32Array;
  readonly eventsStart: number;
  readonly eventCount: number;
  /** Three numbers for each return: start and end of its event, from `eventsStart`, and 1 if its retcode is not 0. */
  readonly returnEvents: Uint32Array;
  readonly deferred: Deferred[];
  readonly auths: AuthBatch | undefined;
  /** Per item, 1: the id outside its seal proved itself. */
  readonly proven: Uint8Array;
  /** Ids that proved themselves inside a seal or in an `_auth`. */
  readonly contacts: string[];
  /** Ids that have authenticated, and ids that have fired their start event. */
  readonly authenticated: string[];
  readonly started: string[];
  /** Ids whose key this batch accepted. */
  readonly accepted: string[];
  readonly refusals: Refusal[];
  /** Time of the whole batch in the worker. */
  readonly workedMs: number;
};
