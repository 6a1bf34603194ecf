/**
 * What of the minions' data a member of a cluster still has to send, and which message of the cluster each part is in step with. Databases in the file
 * of the minions' data, so that they are never newer than it after a loss of power.
 */
import { randomBytes } from "node:crypto";
import { checkBytes, checkedValue, openValue } from "../disk/checked-value.ts";
import { attempt } from "../disk/store-error.ts";
import { type BinaryDatabase, type BinaryEnvironment, makeDatabases, openDatabase, putLater } from "../lmdb/env.ts";
import { type ForgottenPart, keyOf } from "./forgotten.ts";

/**
 * How far this member has followed the cluster's stream. `isMarked`: what it had before it joined is marked as unsent. `unread`: the first message of
 * another version than `version`, which is the one that this member read.
 */
export type SharePlace = {
  readonly stream: string;
  readonly seq: number;
  readonly isMarked: boolean;
  readonly unread?: { readonly seq: number; readonly version: number };
};
/** `version`: changes with each local write, so that one during the sending is noticed. `cursor`: for the ones after it. */
export type Unsent = {
  readonly id: string;
  readonly part: ForgottenPart;
  readonly version: string;
  readonly cursor: string;
};

/** `isUnsent`: marks the part as unsent, or takes the mark away. `step`: 0 forgets it. Undefined: it stays. */
export type MarkChange = {
  readonly id: string;
  readonly part: ForgottenPart;
  readonly isUnsent?: boolean;
  readonly step?: number;
};

const placeKey = Buffer.from("place");
const nowhere: SharePlace = { stream: "", seq: 0, isMarked: false };
const sequenceBytes = 6;
const versionBytes = 8;
/** Of a key: a minion's id and a byte before it. */
const keyBytesMax = 256;

export class ShareMarks {
  readonly #environment: BinaryEnvironment;
  readonly #data: Readonly<Record<ForgottenPart, BinaryDatabase>>;
  readonly #unsent: BinaryDatabase;
  readonly #steps: BinaryDatabase;
  readonly #places: BinaryDatabase;
  /** Parts that this thread is writing. No other thread writes them, so what is not here is in the store. */
  readonly #writing = new Map<string, number>();

  /** @throws SaltworksError STORE_FAILED */
  constructor(environment: BinaryEnvironment, data: Readonly<Record<ForgottenPart, BinaryDatabase>>) {
    this.#environment = environment;
    this.#data = data;
    const opened = makeDatabases(environment, () => ({
      unsent: openDatabase(environment, "unsent"),
      steps: openDatabase(environment, "steps"),
      places: openDatabase(environment, "places"),
    }));
    [this.#unsent, this.#steps, this.#places] = [opened.unsent, opened.steps, opened.places];
  }

  /** Runs a local write and marks its part as unsent: before it, so that a crash loses no change. */
  async noting(id: string, part: ForgottenPart, write: () => Promise<void>): Promise<void> {
    const name = nameOf(id, part);
    this.#writing.set(name, (this.#writing.get(name) ?? 0) + 1);
    try {
      await Promise.all([this.change([{ id, part, isUnsent: true }]), write()]);
    } finally {
      const left = (this.#writing.get(name) ?? 1) - 1;
      if (left === 0) this.#writing.delete(name);
      else this.#writing.set(name, left);
    }
  }

  isWriting(id: string, part: ForgottenPart): boolean {
    return this.#writing.has(nameOf(id, part));
  }

  /** Changes marks and steps in one write. A mark may be taken away only while the part is not being written. */
  async change(changes: readonly MarkChange[]): Promise<void> {
    if (changes.length === 0) return;
    const amount = { records: 2 * changes.length, bytes: changes.length * (keyBytesMax + 2 * checkBytes) };
    await putLater(this.#environment, amount, () => Promise.all(changes.flatMap((change) => this.#queued(change))));
  }

  #queued({ id, part, isUnsent, step }: MarkChange): Promise<boolean>[] {
    const key = keyOf(id, part);
    const queued: Promise<boolean>[] = [];
    if (isUnsent === true) queued.push(this.#unsent.put(key, checkedValue(key, randomBytes(versionBytes))));
    if (isUnsent === false) queued.push(this.#unsent.remove(key));
    if (step === 0) queued.push(this.#steps.remove(key));
    else if (step !== undefined) queued.push(this.#steps.put(key, checkedValue(key, sequenceOf(step))));
    return queued;
  }

  /** The version of the mark; undefined if the part is sent. */
  unsentVersion(id: string, part: ForgottenPart): string | undefined {
    return this.#get(this.#unsent, keyOf(id, part))?.toString("hex");
  }

  /** Unsent parts after the cursor, oldest names first. `next`: the cursor for more; undefined after the last one. */
  unsent(after: string | undefined, limit: number): { readonly found: Unsent[]; readonly next: string | undefined } {
    const keys = this.#keys(this.#unsent, after, limit);
    const found = keys.flatMap((key): Unsent[] => {
      const part = key[0] === factsByte ? "facts" : "mine";
      const id = key.toString("utf8", 1);
      const version = this.unsentVersion(id, part);
      return version === undefined ? [] : [{ id, part, version, cursor: key.toString("hex") }];
    });
    return { found, next: keys.length === limit ? keys.at(-1)?.toString("hex") : undefined };
  }

  /** How many parts are unsent, of all workers. */
  get unsentCount(): number {
    return attempt("the marks of shared minions' data cannot be read", () => {
      this.#unsent.resetReadTxn();
      return (this.#unsent.getStats() as { readonly entryCount: number }).entryCount;
    });
  }

  /** The stream's sequence of the message that the part is in step with; 0 without one. */
  step(id: string, part: ForgottenPart): number {
    return this.#get(this.#steps, keyOf(id, part))?.readUIntBE(0, sequenceBytes) ?? 0;
  }

  /** Ids with data of this part after the cursor. `next`: as in `unsent`. */
  idsAfter(part: ForgottenPart, after: string | undefined, limit: number) {
    const keys = this.#keys(this.#data[part], after, limit);
    const next = keys.length === limit ? keys.at(-1)?.toString("hex") : undefined;
    return { ids: keys.map((key) => key.toString("utf8")), next };
  }

  /**
   * The place of this stream. For another stream than before all steps are forgotten, because their sequences were of that one. So they are for a
   * stream that ends before the place, because it was put back from a copy.
   */
  async openPlace(stream: string, lastSequence: number): Promise<SharePlace> {
    const place = this.#place();
    if (place.stream === stream && place.seq <= lastSequence) return place;
    await putLater(this.#environment, { records: 1, bytes: 0 }, () => this.#steps.clearAsync());
    await this.setPlace({ ...nowhere, stream });
    return { ...nowhere, stream };
  }

  async setPlace(place: SharePlace): Promise<void> {
    const value = checkedValue(placeKey, Buffer.from(JSON.stringify(place)));
    const amount = { records: 1, bytes: placeKey.byteLength + value.byteLength };
    await putLater(this.#environment, amount, () => this.#places.put(placeKey, value));
  }

  #place(): SharePlace {
    const bytes = this.#get(this.#places, placeKey);
    return bytes === undefined ? nowhere : (JSON.parse(bytes.toString("utf8")) as SharePlace);
  }

  /** A damaged record counts as absent: the part is then sent, or taken, once more. */
  #get(database: BinaryDatabase, key: Buffer): Buffer | undefined {
    const value = attempt("the marks of shared minions' data cannot be read", () => {
      database.resetReadTxn();
      return database.getBinary(key);
    });
    return value === undefined ? undefined : openValue(key, value);
  }

  #keys(database: BinaryDatabase, after: string | undefined, limit: number): Buffer[] {
    return attempt("the marks of shared minions' data cannot be read", () => {
      database.resetReadTxn();
      // A key with one more byte is the next one that there may be.
      const start = after === undefined ? {} : { start: Buffer.concat([Buffer.from(after, "hex"), nul]) };
      return [...database.getKeys({ ...start, limit })];
    });
  }
}

const nul = Buffer.of(0);
/** The first byte of the key of facts. */
const factsByte = 0x66;

function sequenceOf(step: number): Buffer {
  const value = Buffer.alloc(sequenceBytes);
  value.writeUIntBE(step, 0, sequenceBytes);
  return value;
}

function nameOf(id: string, part: ForgottenPart): string {
  return `${part[0]}${id}`;
}
