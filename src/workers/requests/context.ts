/** What a request handler is given: the opened request, and the batch that gathers what must happen before and after the commit. */

import type { Crypticle } from "../../crypto/crypticle.ts";
import type { ReturnRecord } from "../../store/jobs/job-cache.ts";
import type { ByteWriter } from "../../wire/byte-writer.ts";
import { encodeEvent, frameMasterEvent } from "../../wire/event.ts";
import type { Encodable } from "../../wire/values.ts";
import type { Entry } from "../../wire/walk.ts";
import { StageClock } from "../measures/measures.ts";
import type { AuthJob, Refusal } from "../messages/batch.ts";
import type { Deferred } from "../messages/deferred.ts";

/** A deferred item without its index, which only the batch knows. */
type WithoutItem<T> = T extends unknown ? Omit<T, "item"> : never;
export type DeferredWork = WithoutItem<Deferred>;

/** A request whose seal is open. `load` is the network encoding of its map; `entries` are that map's top level. */
export type Opened = {
  readonly cmd: string;
  /** The id inside the load; for version 3 the one that the seal proves. */
  readonly id: string | undefined;
  readonly version: number;
  /** Whether it came unsealed: only `_auth` and the commands of local users may. */
  readonly isClear: boolean;
  /** Whether a token proved that the id's own key made it: always in version 3; older requests may come without. */
  readonly isProven: boolean;
  readonly load: Uint8Array;
  readonly entries: readonly Entry[];
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  /** What seals the reply; undefined: it goes out as it is. */
  readonly sealer: Crypticle | undefined;
  /** The nonce that the reply's seal repeats; empty for versions without. */
  readonly replyNonce: string;
};

/** A handler's answer: a value to seal and send back (`packed`: its network encoding), a whole reply as it is, work that somebody else finishes, or an `_auth` that is decided and wants its RSA. */
export type Answer =
  | { readonly value: Encodable }
  | { readonly packed: Uint8Array }
  | { readonly raw: Buffer }
  | { readonly deferred: DeferredWork }
  | { readonly auth: AuthJob; readonly acceptedId: string | undefined };

/** A return that waits for its commit; its body lies in the batch's memory. */
export type PendingReturn = { readonly record: ReturnRecord; readonly isStored: boolean };

/** The log takes a line a second. */
const refusalsToldMax = 4;

/** Memory that batches use one after the other: a batch under way has its own, and gives it back when its result is put together. */
export type BatchMemory = { readonly replies: ByteWriter; readonly events: ByteWriter };

/** Collects a batch's effects; the worker commits `returns`, awaits `writes`, and only then lets replies and events out. */
export class BatchEffects {
  readonly nowMs: number;
  /** Whether anybody reads this batch's events: nothing is encoded for nobody. */
  readonly isHeard: boolean;
  readonly returns: PendingReturn[] = [];
  readonly writes: Promise<unknown>[] = [];
  /** Replies in the order of the batch's items. */
  readonly replies: ByteWriter;
  /** Whole event frames if anybody hears them, bodies of returns alone otherwise. */
  readonly events: ByteWriter;
  eventCount = 0;
  /** Of each return's frame: start and end in `events`, and 1 if its retcode is not 0. */
  readonly returnEvents: number[] = [];
  /** Which item is being answered. */
  item = 0;
  /** Its command, once it is open. */
  command: string | undefined;
  readonly clock = new StageClock();
  /**
   * Per item, 1: a minion or an operator has proved itself, under the outside id where that is known. 2: its seal was right, and nothing more is known. 0: nothing
   * is proved.
   */
  readonly proven: Uint8Array;
  /** Ids that proved themselves and that only this thread knows. */
  readonly contacts = new Set<string>();
  readonly accepted: string[] = [];
  readonly authenticated: string[] = [];
  readonly started: string[] = [];
  /** What minions asked for and did not get, for the log. */
  readonly refusals: Refusal[] = [];

  /** UTC time as Salt writes it into `_stamp`, microseconds padded from milliseconds; one for the whole batch. */
  readonly stamp: string;

  constructor(nowMs: number, isHeard: boolean, itemCount: number, memory: BatchMemory) {
    this.nowMs = nowMs;
    this.isHeard = isHeard;
    this.replies = memory.replies;
    this.events = memory.events;
    this.proven = new Uint8Array(itemCount);
    this.stamp = `${new Date(nowMs).toISOString().slice(0, -1)}000`;
  }

  /** Has the log say what was refused to a minion; beyond a few in one batch, the counters alone know. */
  refuse(id: string, text: string, level: Refusal["level"] = "warn"): void {
    if (this.refusals.length < refusalsToldMax) this.refusals.push({ id, text, level });
  }

  /** Fires an event of the master's own when the batch is done; `_stamp` is added last, as Salt does. */
  fire(tag: string, data: { readonly [key: string]: Encodable }): void {
    if (this.isHeard) this.addEvent(frameMasterEvent(encodeEvent(tag, { ...data, _stamp: this.stamp })));
  }

  /** One whole frame. */
  addEvent(frame: Uint8Array): void {
    this.events.add(frame);
    this.eventCount += 1;
  }
}
