/** The inputs of a request handler: the opened request, and the batch that collects its writes, replies and events. */

import type { SharedReturn } from "../../cluster/returns/message.ts";
import type { Crypticle } from "../../crypto/crypticle.ts";
import { auditWrongKeysOfBatchMax } from "../../limits.ts";
import type { ReturnRecord } from "../../store/jobs/job-cache.ts";
import type { ByteWriter } from "../../wire/byte-writer.ts";
import { encodeEvent, frameMasterEvent } from "../../wire/event.ts";
import type { Encodable } from "../../wire/values.ts";
import type { Entry } from "../../wire/walk.ts";
import { StageClock } from "../measures/measures.ts";
import type { AuthTask, ExpectedBelow, Refusal, WrongKey } from "../messages/batch.ts";
import type { Deferred } from "../messages/deferred.ts";

/** A deferred item without its index, which only the batch knows. */
type WithoutItem<T> = T extends unknown ? Omit<T, "item"> : never;
export type DeferredWork = WithoutItem<Deferred>;

/** An opened request. `load`: the network encoding of its map. `entries`: that map's top level. */
export type Opened = {
  readonly cmd: string;
  /** The id inside the load. In version 3 it equals the id outside, whose session sealed the load. */
  readonly id: string | undefined;
  readonly version: number;
  /** Whether the request came unsealed. Only `_auth` and operators' commands may. */
  readonly isClear: boolean;
  /** Whether a token proved the id. Always true in version 3; older requests may lack a token. */
  readonly isProven: boolean;
  readonly load: Uint8Array;
  readonly entries: readonly Entry[];
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  /** Seals the reply. Undefined: the reply is clear. */
  readonly sealer: Crypticle | undefined;
  /** The nonce that the reply's seal repeats; empty in versions without nonces. */
  readonly replyNonce: string;
};

/**
 * A handler's answer: a value to seal (`packed`: its network encoding), a whole reply (`raw`), work for another thread
 * (`deferred`), or a decided `_auth` for the RSA lane.
 */
export type Answer =
  | { readonly value: Encodable }
  | { readonly packed: Uint8Array }
  | { readonly raw: Buffer }
  | { readonly deferred: DeferredWork }
  | { readonly auth: AuthTask; readonly acceptedId: string | undefined };

/** A return before its commit. Its body is a view into the batch's memory. */
export type PendingReturn = Pick<SharedReturn, "isStored" | "isFailed" | "job"> & {
  readonly record: ReturnRecord;
  /** The index of its request in the batch. */
  readonly item: number;
};

/** Bound of the refusals that a batch hands to the log, which writes one line a second. */
const refusalsToldMax = 4;

/** Memory of one batch. The next batch reuses it once the result is assembled. */
export type BatchMemory = { readonly replies: ByteWriter; readonly events: ByteWriter };

/** Collects a batch's effects. The worker commits `returns` and awaits `writes` before it sends replies and events. */
export class BatchEffects {
  readonly nowMs: number;
  /** Whether a client reads this batch's events. If not, none is encoded. */
  readonly isHeard: boolean;
  readonly returns: PendingReturn[] = [];
  readonly writes: Promise<unknown>[] = [];
  /** Loads of lower masters' jobs, for the other members of a cluster. */
  readonly loadsBelow: SharedReturn[] = [];
  /** Replies in the order of the batch's items. */
  readonly replies: ByteWriter;
  /** Whole event frames if `isHeard`, otherwise only bodies of returns. */
  readonly events: ByteWriter;
  eventCount = 0;
  /** Three numbers per return: start and end of its frame in `events`, and 1 if its retcode is not 0. */
  readonly returnEvents: number[] = [];
  /** Index of the item that is being answered. */
  item = 0;
  /** The command of that item, once the item is open. */
  command: string | undefined;
  readonly clock = new StageClock();
  /**
   * Per item. 1: a minion or an operator proved its identity; in version 3 that is the id outside the seal. 2: only the seal was right. 0:
   * neither.
   */
  readonly proven: Uint8Array;
  /** Ids that are only inside the seal (older requests), and ids of accepted `_auth`s. */
  readonly contacts = new Set<string>();
  readonly accepted: string[] = [];
  readonly authenticated: string[] = [];
  readonly started: string[] = [];
  /** Ids of syndics that sent something, and the minions below them that jobs are to expect. */
  readonly syndics = new Set<string>();
  readonly expected: ExpectedBelow[] = [];
  /** Refused requests, for the log. */
  readonly refusals: Refusal[] = [];
  /** For `audit_log`. */
  readonly wrongKeys: (WrongKey & { readonly item: number })[] = [];

  /** UTC time in the form of Salt's `_stamp`: milliseconds padded to microseconds. One time for the whole batch. */
  readonly stamp: string;

  constructor(nowMs: number, isHeard: boolean, itemCount: number, memory: BatchMemory) {
    this.nowMs = nowMs;
    this.isHeard = isHeard;
    this.replies = memory.replies;
    this.events = memory.events;
    this.proven = new Uint8Array(itemCount);
    this.stamp = `${new Date(nowMs).toISOString().slice(0, -1)}000`;
  }

  /** Logs a refused request. Counters alone show those beyond `refusalsToldMax` in one batch. */
  refuse(id: string, text: string, level: Refusal["level"] = "warn"): void {
    if (this.refusals.length < refusalsToldMax) this.refusals.push({ id, text, level });
  }

  /** Tells of a wrong key. The counter of refusals alone shows those beyond `auditWrongKeysOfBatchMax` in one batch. */
  noteWrongKey(wrong: WrongKey): void {
    if (this.wrongKeys.length < auditWrongKeysOfBatchMax) this.wrongKeys.push({ ...wrong, item: this.item });
  }

  /** Fires one of the master's own events after the commit. `_stamp` is the last key, as in Salt. */
  fire(tag: string, data: { readonly [key: string]: Encodable }): void {
    if (this.isHeard) this.addEvent(frameMasterEvent(encodeEvent(tag, { ...data, _stamp: this.stamp })));
  }

  /** @param frame one whole event frame */
  addEvent(frame: Uint8Array): void {
    this.events.add(frame);
    this.eventCount += 1;
  }
}
