/** What a request handler is given: the opened request, and the batch that gathers what must happen before and after the commit. */
import type { ReturnRecord } from "../../store/job-cache.ts";
import { encodeEvent, frameEvent } from "../../wire/event.ts";
import type { Encodable } from "../../wire/values.ts";
import type { Entry } from "../../wire/walk.ts";
import type { Deferred } from "../messages.ts";

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
  readonly seal: (packed: Uint8Array) => Buffer;
};

/** A handler's answer: a value to seal and send back (`packed`: its network encoding), a whole reply as it is, or work that somebody else finishes. */
export type Answer =
  | { readonly value: Encodable }
  | { readonly packed: Uint8Array }
  | { readonly raw: Buffer }
  | { readonly deferred: DeferredWork };

/** A return that waits for its commit. `frame`: its whole event frame, if anybody hears events. */
export type PendingReturn = {
  readonly record: ReturnRecord;
  readonly isStored: boolean;
  readonly frame: Buffer | undefined;
};

/** Collects a batch's effects; the worker commits `returns`, awaits `writes`, and only then lets replies and events out. */
export class BatchEffects {
  readonly nowMs: number;
  /** Whether anybody reads this batch's events: nothing is encoded for nobody. */
  readonly isHeard: boolean;
  readonly returns: PendingReturn[] = [];
  readonly writes: Promise<unknown>[] = [];
  readonly events: Buffer[] = [];
  readonly contacts = new Set<string>();
  readonly accepted: string[] = [];

  /** UTC time as Salt writes it into `_stamp`, microseconds padded from milliseconds; one for the whole batch. */
  readonly stamp: string;

  constructor(nowMs: number, isHeard: boolean) {
    this.nowMs = nowMs;
    this.isHeard = isHeard;
    this.stamp = `${new Date(nowMs).toISOString().slice(0, -1)}000`;
  }

  /** Fires an event when the batch is done; `_stamp` is added last, as Salt does. */
  fire(tag: string, data: { readonly [key: string]: Encodable }): void {
    if (this.isHeard) this.events.push(frameEvent(encodeEvent(tag, { ...data, _stamp: this.stamp })));
  }
}
