/**
 * Notes minions whose facts or mine an operator dropped, so that a takeover of old files does not bring the data back.
 * A database in the file of the minions' data. Each start of the master removes notes that it no longer needs.
 */
import { checkedValue } from "../disk/checked-value.ts";
import { type BinaryEnvironment, makeDatabases, openDatabase } from "../lmdb/env.ts";

export type ForgottenPart = "facts" | "mine";

const parts: readonly ForgottenPart[] = ["facts", "mine"];
const nothing = new Uint8Array();

/** The key of a part of a minion's data, for notes about it. */
export function keyOf(id: string, part: ForgottenPart): Buffer {
  return Buffer.from(`${part[0]}${id}`, "utf8");
}

/** Callers run `note` and `remove` inside `putLater`, which reserves room on the disk. */
export class ForgottenData {
  readonly #database: ReturnType<typeof openDatabase>;

  /** @throws SaltworksError STORE_FAILED */
  constructor(environment: BinaryEnvironment) {
    this.#database = makeDatabases(environment, () => openDatabase(environment, "forgotten"));
  }

  note(id: string, part: ForgottenPart): Promise<boolean> {
    const key = keyOf(id, part);
    return this.#database.put(key, checkedValue(key, nothing));
  }

  has(id: string, part: ForgottenPart): boolean {
    this.#database.resetReadTxn();
    return this.#database.doesExist(keyOf(id, part));
  }

  /** The noted ids, each once. */
  ids(): string[] {
    this.#database.resetReadTxn();
    return [...new Set(Array.from(this.#database.getKeys(), (key) => key.toString("utf8", 1)))];
  }

  async remove(id: string): Promise<void> {
    await Promise.all(parts.map((part) => this.#database.remove(keyOf(id, part))));
  }
}
