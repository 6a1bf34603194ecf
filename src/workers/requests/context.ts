/** What a request handler is given: the opened request, and the batch that gathers what must happen before and after the commit. */
import type { ReturnRecord } from "../../store/job-cache.ts";
import { encodeEvent, encodeEventBytes, frameEvent } from "../../wire/event.ts";
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
  readonly load: Uint8Array;
  readonly entries: readonly Entry[];
  readonly nonce: string | undefined;
  readonly encAlgorithm: string;
  readonly sigAlgorithm: string;
  readonly seal: (packed: Uint8Array) => Buffer;
};

/** A handler's answer: a value to seal and send back, or work that somebody else finishes. */
export type Answer = { readonly value: Encodable } | { readonly deferred: DeferredWork };

/** A return that waits for its commit. `event` is its whole frame; `bodyStart`.. are offsets into that frame. */
export type PendingReturn = {
  readonly record: ReturnRecord;
  readonly isStored: boolean;
  readonly retcode: number;
  readonly frame: Buffer;
};

/** Collects a batch's effects; the worker commits `returns`, awaits `writes`, and only then lets replies and events out. */
export class BatchEffects {
  readonly nowMs: number;
  readonly returns: PendingReturn[] = [];
  readonly writes: Promise<unknown>[] = [];
  readonly events: Buffer[] = [];
  readonly contacts = new Set<string>();
  readonly accepted: string[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** Fires an event when the batch is done; `_stamp` is added last, as Salt does. */
  fire(tag: string, data: { readonly [key: string]: Encodable }): void {
    this.events.push(frameEvent(encodeEvent(tag, { ...data, _stamp: this.stamp() })));
  }

  /** The same for data that is already in the event flavour, stamp included. */
  fireBytes(tag: string, data: Uint8Array): void {
    this.events.push(frameEvent(encodeEventBytes(tag, data)));
  }

  /** UTC time as Salt writes it into `_stamp`, microseconds padded from milliseconds. */
  stamp(): string {
    return `${new Date(this.nowMs).toISOString().slice(0, -1)}000`;
  }
}
