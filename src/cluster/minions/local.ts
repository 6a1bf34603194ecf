/** What a member's workers do for the sharing of minions' data: they own the store. Types only; plain data, because it travels between threads. */
import type { ForgottenPart } from "../../store/minions/forgotten.ts";
import type { SharePlace } from "../../store/minions/share-marks.ts";

/** `data`: the part as it is stored; undefined if it was removed. `step`: the stream's sequence that the part was in step with before the change. */
export type UnsentPart = {
  readonly id: string;
  readonly part: ForgottenPart;
  readonly version: string;
  readonly step: number;
  readonly data: Uint8Array<ArrayBuffer> | undefined;
};

/** `sequence`: undefined if nothing was sent, because the stream refuses it or has something newer. */
export type SentPart = Omit<UnsentPart, "data" | "step"> & {
  readonly isRemoval: boolean;
  readonly sequence: number | undefined;
};

/** A message of the stream. `data`: undefined for a removal. */
export type ArrivedPart = {
  readonly id: string;
  readonly part: ForgottenPart;
  readonly sequence: number;
  readonly data: Uint8Array | undefined;
};

/** `after` and `next`: a cursor; undefined for the beginning and the end. */
export type ShareAsk =
  | { readonly what: "open"; readonly stream: string; readonly lastSequence: number }
  | { readonly what: "setPlace"; readonly place: SharePlace }
  | { readonly what: "markAll"; readonly part: ForgottenPart; readonly after: string | undefined }
  | { readonly what: "count" }
  | { readonly what: "take"; readonly after: string | undefined }
  | { readonly what: "noteSent"; readonly parts: readonly SentPart[] }
  | { readonly what: "apply"; readonly parts: readonly ArrivedPart[] };

/** `waiting`: unsent parts of all workers. */
export type TakenParts = {
  readonly parts: readonly UnsentPart[];
  readonly next: string | undefined;
  readonly waiting: number;
};
/** `keyless`: parts of minions whose key is not accepted here, by index. `kept`: parts that gave way to a later change made here. */
export type AppliedParts = { readonly applied: number; readonly kept: number; readonly keyless: readonly number[] };

/** The workers, as the main thread asks them. A `slot` is a worker's number. */
export type LocalMinions = {
  readonly slotCount: number;
  readonly slotOf: (id: string) => number;
  /** @throws SaltworksError of the store or the pool */
  ask<Result>(slot: number, ask: ShareAsk, bytes: number): Promise<Result>;
};
