/**
 * The queue of authentications: at most two per id, each until its client times out. First in, first out; but last in, first out while the oldest
 * has waited for half of `auth_client_timeout`. Requests that are given up get no answer. docs/decisions/0008-auth-admission.md.
 */
import { cleanPem } from "../../crypto/pem.ts";
import { authHoldMsMax, authQueueBytesMax, authsPerBatchMax, strangerAuthsPerBatch } from "../../limits.ts";
import { textOf } from "../../wire/walk.ts";
import type { BatchItem } from "../../workers/batch/frames.ts";
import type { RequestConnection } from "../ports/request-connection.ts";

/**
 * `connection` waits for the reply. `pub`: the key it presents, as encoded in `bytes`.
 * `queuedMs`: time of arrival.
 */
export type WaitingAuth = BatchItem & {
  readonly connection: RequestConnection;
  readonly id: string;
  readonly pub: Uint8Array | undefined;
  readonly queuedMs: number;
};

export type AuthQueueOptions = {
  readonly slotCount: number;
  /** Most batches of one worker that are taken and not yet answered. */
  readonly batchesPerSlotMax: number;
  /** Most requests that wait in all slots together (`auth_queue_max`). */
  readonly authsMax: number;
  /** After this its client has given up (`auth_client_timeout`). */
  readonly clientTimeoutMs: number;
  /** Whether an id has an accepted key. Such ids go before strangers. */
  readonly isAccepted: (id: string) => boolean;
  /** The text of the key that an id is known by, accepted or pending; asked only when two keys claim one id at the same time. */
  readonly knownKey: (id: string) => string | undefined;
  /** The clock of `queuedMs`. */
  readonly nowMs: () => number;
  /** A request that is given up gets no reply over this connection. */
  readonly forget: (connection: RequestConnection) => void;
};

type Place = {
  readonly auth: WaitingAuth;
  readonly row: Row;
  older: Place | undefined;
  newer: Place | undefined;
};

/** A linked list of places in the order of arrival; any of them can leave. */
class Row {
  readonly isKnown: boolean;
  oldest: Place | undefined;
  newest: Place | undefined;
  count = 0;

  constructor(isKnown: boolean) {
    this.isKnown = isKnown;
  }

  push(auth: WaitingAuth): Place {
    const place: Place = { auth, row: this, older: this.newest, newer: undefined };
    if (this.newest === undefined) this.oldest = place;
    else this.newest.newer = place;
    this.newest = place;
    this.count += 1;
    return place;
  }

  remove({ older, newer }: Place): void {
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    this.count -= 1;
  }
}

/** `known`: ids with an accepted key. `batches`: taken and not yet answered. */
type Slot = { readonly known: Row; readonly strangers: Row; batches: number; takenMs: number };

export class AuthQueue {
  /** `authsCoalesced`: replaced by a newer one of the same minion. `authsRefused`: no room. `authsAdmitted`: handed to a worker. */
  readonly counters = { auths: 0, authsCoalesced: 0, authsExpired: 0, authsRefused: 0, authsAdmitted: 0 };
  readonly #options: AuthQueueOptions;
  readonly #slots: Slot[];
  /** At most two places per id: one for its known key, one for any other key. */
  readonly #places = new Map<string, Place[]>();
  #waitingCount = 0;
  #waitingBytes = 0;

  constructor(options: AuthQueueOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.slotCount }, () => ({
      known: new Row(true),
      strangers: new Row(false),
      batches: 0,
      takenMs: 0,
    }));
  }

  /** Waiting requests of all workers. */
  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Batches that were taken and whose auths are not all answered yet. */
  get batchesUnderWay(): number {
    return this.#slots.reduce((sum, { batches }) => sum + batches, 0);
  }

  offer(slotIndex: number, auth: WaitingAuth): void {
    this.counters.auths += 1;
    const slot = this.#slots[slotIndex];
    if (slot === undefined) return;
    for (const row of [slot.known, slot.strangers]) this.#expire(row, auth.queuedMs);
    const isKnown = this.#claim(auth);
    if (!this.#makeRoom(auth.bytes.byteLength, isKnown)) {
      this.counters.authsRefused += 1;
      this.#options.forget(auth.connection);
      return;
    }
    const place = (isKnown ? slot.known : slot.strangers).push(auth);
    const places = this.#places.get(auth.id);
    if (places === undefined) this.#places.set(auth.id, [place]);
    else places.push(place);
    this.#waitingCount += 1;
    this.#waitingBytes += auth.bytes.byteLength;
  }

  /**
   * The requests for the slot's worker now. The caller owes a `settle` unless the list is empty.
   *
   * @param isBusy whether returns wait for the worker; authentications are then held back, at most for `authHoldMsMax`
   */
  take(slotIndex: number, isBusy: boolean): readonly WaitingAuth[] {
    const slot = this.#slots[slotIndex];
    if (slot === undefined || slot.batches >= this.#options.batchesPerSlotMax) return [];
    // A partial batch gathers until the one under way is answered, because each batch costs a thread hop.
    if (slot.batches > 0 && slot.known.count + slot.strangers.count < authsPerBatchMax) return [];
    const nowMs = this.#options.nowMs();
    if (isBusy && nowMs - slot.takenMs < authHoldMsMax) return [];
    for (const row of [slot.known, slot.strangers]) this.#expire(row, nowMs);
    const taken: WaitingAuth[] = [];
    const reserved = slot.strangers.newest === undefined ? 0 : strangerAuthsPerBatch;
    this.#takeFrom(slot.known, authsPerBatchMax - reserved, nowMs, taken);
    this.#takeFrom(slot.strangers, authsPerBatchMax, nowMs, taken);
    this.#takeFrom(slot.known, authsPerBatchMax, nowMs, taken);
    if (taken.length === 0) return taken;
    this.counters.authsAdmitted += taken.length;
    slot.batches += 1;
    slot.takenMs = nowMs;
    return taken;
  }

  /** Notes that a batch is answered. */
  settle(slotIndex: number): void {
    const slot = this.#slots[slotIndex];
    if (slot !== undefined) slot.batches -= 1;
  }

  #takeFrom(row: Row, countMax: number, nowMs: number, taken: WaitingAuth[]): void {
    while (taken.length < countMax) {
      const place = this.#nextOf(row, nowMs);
      if (place === undefined) return;
      taken.push(place.auth);
      this.#remove(place);
    }
  }

  /** The oldest request. If it has waited for half of its client's time, the newest, because the oldest's client may be gone before its answer. */
  #nextOf(row: Row, nowMs: number): Place | undefined {
    if (row.oldest === undefined) return undefined;
    const isLate = nowMs - row.oldest.auth.queuedMs >= this.#options.clientTimeoutMs / 2;
    return isLate ? row.newest : row.oldest;
  }

  /**
   * Gives up the older request whose place this one takes: the one with the same key, which its client has given up, or else the one with an equally
   * known key. A request with the known key of its id never loses its place to one with another key.
   *
   * @returns whether the request goes before strangers
   */
  #claim(auth: WaitingAuth): boolean {
    const isAccepted = this.#options.isAccepted(auth.id);
    const places = this.#places.get(auth.id);
    if (places === undefined) return isAccepted;
    const same = places.find((place) => isSame(place.auth.pub, auth.pub));
    if (same !== undefined) {
      this.#supersede(same);
      return same.row.isKnown;
    }
    const text = this.#options.knownKey(auth.id);
    // If no key is stored for the id, the first request's key counts, as it does when a worker decides.
    const known = text === undefined ? places[0]?.auth.pub : text;
    const isOwn = presents(auth.pub, known);
    for (const place of places) if (presents(place.auth.pub, known) === isOwn) this.#supersede(place);
    return isAccepted && isOwn;
  }

  #supersede(place: Place): void {
    this.counters.authsCoalesced += 1;
    this.#giveUp(place);
  }

  /** Gives up the oldest waiting requests, strangers' first, until the new one has room. @returns false if none may give way to it */
  #makeRoom(bytes: number, isKnown: boolean): boolean {
    const { authsMax } = this.#options;
    while (this.#waitingCount >= authsMax || this.#waitingBytes + bytes > authQueueBytesMax) {
      const oldest = this.#oldestOf("strangers") ?? (isKnown ? this.#oldestOf("known") : undefined);
      if (oldest === undefined) return false;
      this.counters.authsRefused += 1;
      this.#giveUp(oldest);
    }
    return true;
  }

  #oldestOf(row: "known" | "strangers"): Place | undefined {
    let oldest: Place | undefined;
    for (const slot of this.#slots) {
      const candidate = slot[row].oldest;
      if (candidate !== undefined && (oldest === undefined || candidate.auth.queuedMs < oldest.auth.queuedMs))
        oldest = candidate;
    }
    return oldest;
  }

  #expire(row: Row, nowMs: number): void {
    while (row.oldest !== undefined && nowMs - row.oldest.auth.queuedMs >= this.#options.clientTimeoutMs) {
      this.counters.authsExpired += 1;
      this.#giveUp(row.oldest);
    }
  }

  #giveUp(place: Place): void {
    this.#remove(place);
    this.#options.forget(place.auth.connection);
  }

  #remove(place: Place): void {
    place.row.remove(place);
    this.#waitingCount -= 1;
    this.#waitingBytes -= place.auth.bytes.byteLength;
    const { id } = place.auth;
    const left = this.#places.get(id)?.filter((other) => other !== place) ?? [];
    if (left.length === 0) this.#places.delete(id);
    else this.#places.set(id, left);
  }
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Buffer.compare(a, b) === 0;
}

/** Whether a request presents the known key, given as text or in the same encoding. */
function presents(pub: Uint8Array | undefined, known: string | Uint8Array | undefined): boolean {
  if (typeof known !== "string") return isSame(pub, known);
  const text = pub && textOf(pub, 0, pub.byteLength);
  return text !== undefined && cleanPem(text) === cleanPem(known);
}
