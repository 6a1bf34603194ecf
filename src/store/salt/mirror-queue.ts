/**
 * What is still to be written to Salt's own files by mirror.ts: a queue of returns in the order in which they were stored, and a set of minions whose data changed.
 * One LMDB file, which all threads of the master share. Its commits are not synced: `kill -9` loses none, a loss of power the last ones.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../disk/store-error.ts";
import {
  type BinaryEnvironment,
  closeEnvironment,
  makeDatabases,
  openDatabase,
  openEnvironment,
  transact,
} from "../lmdb/env.ts";

const directoryMode = 0o700;
const placeBytes = 8;
const stampBytes = 8;
const recordsPerPage = 8;
const filledKey = Buffer.from("filled");

/** `place`: the key of the entry in the queue. `returnKey`: the key of the return in the job cache. */
export type QueuedReturn = { readonly place: Buffer; readonly returnKey: Buffer };
/** `stamp`: differs after each change. */
export type QueuedMinion = { readonly id: string; readonly stamp: Buffer };

export function mirrorQueueFile(cachedir: string): string {
  return join(cachedir, "salt-files.lmdb", "feed.mdb");
}

export class MirrorQueue {
  readonly #environment: BinaryEnvironment;
  readonly #returns: ReturnType<typeof openDatabase>;
  readonly #minions: ReturnType<typeof openDatabase>;
  readonly #states: ReturnType<typeof openDatabase>;

  /** @throws SaltworksError STORE_FAILED */
  constructor(file: string) {
    const directory = dirname(file);
    attempt(`${directory} cannot be made`, () => mkdirSync(directory, { recursive: true, mode: directoryMode }));
    this.#environment = openEnvironment({ file, isReadOnly: false, isSyncedOnCommit: false });
    const { returns, minions, states } = makeDatabases(this.#environment, () => ({
      returns: openDatabase(this.#environment, "returns"),
      minions: openDatabase(this.#environment, "minions"),
      states: openDatabase(this.#environment, "states"),
    }));
    this.#returns = returns;
    this.#minions = minions;
    this.#states = states;
  }

  /** Appends returns that are in the job cache, in one transaction. */
  addReturns(returnKeys: readonly Buffer[]): void {
    if (returnKeys.length === 0) return;
    transact(this.#environment, amountOf(returnKeys.length), () => {
      const [last] = this.#returns.getKeys({ reverse: true, limit: 1 });
      let place = last === undefined ? 0n : last.readBigUInt64BE();
      for (const returnKey of returnKeys) {
        place += 1n;
        this.#returns.putSync(placeKey(place), returnKey);
      }
    });
  }

  /** The oldest `limit` returns. */
  returns(limit: number): QueuedReturn[] {
    this.#returns.resetReadTxn();
    return Array.from(this.#returns.getRange({ limit }), ({ key, value }) => ({
      place: Buffer.from(key),
      returnKey: Buffer.from(value),
    }));
  }

  /** Removes returns that are written, in one transaction. */
  removeReturns(places: readonly Buffer[]): void {
    if (places.length === 0) return;
    transact(this.#environment, amountOf(places.length), () => {
      for (const place of places) this.#returns.removeSync(place);
    });
  }

  /** Notes that the minion's data has changed or is about to change. */
  addMinion(id: string): void {
    const stamp = Buffer.alloc(stampBytes);
    stamp.writeBigUInt64BE(process.hrtime.bigint());
    transact(this.#environment, { records: 1, bytes: 0 }, () => this.#minions.putSync(Buffer.from(id, "utf8"), stamp));
  }

  addMinions(ids: readonly string[]): void {
    const stamp = Buffer.alloc(stampBytes);
    transact(this.#environment, amountOf(ids.length), () => {
      for (const id of ids) this.#minions.putSync(Buffer.from(id, "utf8"), stamp);
    });
  }

  minions(limit: number): QueuedMinion[] {
    this.#minions.resetReadTxn();
    return Array.from(this.#minions.getRange({ limit }), ({ key, value }) => ({
      id: key.toString("utf8"),
      stamp: Buffer.from(value),
    }));
  }

  /** Removes those of the minions that have not changed since they were read from the queue. */
  removeMinions(written: readonly QueuedMinion[]): void {
    if (written.length === 0) return;
    transact(this.#environment, amountOf(written.length), () => {
      for (const { id, stamp } of written) {
        const key = Buffer.from(id, "utf8");
        if (this.#minions.getBinary(key)?.equals(stamp) === true) this.#minions.removeSync(key);
      }
    });
  }

  /** Whether everything that was stored before this queue was made has been added to it. */
  get isFilled(): boolean {
    this.#states.resetReadTxn();
    return this.#states.doesExist(filledKey);
  }

  markFilled(): void {
    transact(this.#environment, { records: 1, bytes: 0 }, () => this.#states.putSync(filledKey, Buffer.alloc(0)));
  }

  get returnCount(): number {
    return countOf(this.#returns);
  }

  get minionCount(): number {
    return countOf(this.#minions);
  }

  close(): Promise<void> {
    return closeEnvironment(this.#environment);
  }
}

/** The queue's records are short and adjacent, so dozens share a page. */
function amountOf(records: number) {
  return { records: Math.ceil(records / recordsPerPage), bytes: 0 };
}

function placeKey(place: bigint): Buffer {
  const key = Buffer.alloc(placeBytes);
  key.writeBigUInt64BE(place);
  return key;
}

function countOf(database: ReturnType<typeof openDatabase>): number {
  database.resetReadTxn();
  return (database.getStats() as { readonly entryCount: number }).entryCount;
}
