/** A batch of requests on its way to a shard worker, and what the worker made of it. Types only. */
import type { Deferred } from "./deferred.ts";

/** `isHeard`: somebody follows events or jobs; otherwise nothing is encoded for them. `isFollowed`: the job tracker wants to know which events are returns. */
export type BatchTask = {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly isHeard: boolean;
  readonly isFollowed: boolean;
};

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

/** A line for the log about what a minion, or another that reaches the port, asked for and did not get. */
export type Refusal = { readonly id: string; readonly text: string; readonly level: "warn" | "error" };

/**
 * What becomes of a batch. `buffer` (transferred) holds the replies, then whole event frames from `eventsStart` on.
 * `replyEnds[i]` is the end of reply i, which starts where the one before ended; no bytes: the item is in `deferred`.
 */
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
