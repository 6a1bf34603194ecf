/**
 * Finds a row that ends the connection each time instead of being refused. After `databaseCutsMax` such failures of one batch, its halves are tried
 * until one row is left. That row is refused only when it has ended `databaseTrialsMax` connections alone, each just after the database took another row,
 * because otherwise the database may be to blame.
 */
import { hasCode, type SaltworksError } from "../errors.ts";
import { databaseCopyRowsMax, databaseCutsMax, databaseTrialsMax } from "../limits.ts";

export class Suspects {
  #cuts = 0;
  #tries = 0;
  #limit = databaseCopyRowsMax;
  /** Times that the row which is left has ended a connection alone while the database was healthy. */
  #trials = 0;
  /** Entries at the head of the feed among which the row is. 0: none is looked for. */
  #left = 0;

  /** How many entries to read next. */
  get limit(): number {
    return this.#limit;
  }

  /** One row is left. */
  get isAlone(): boolean {
    return this.#limit === 1 && this.#cuts >= databaseCutsMax;
  }

  /** Which of `count` other rows shows whether the database takes any. Each try has another, because several rows may be of this kind. */
  other(count: number): number {
    return this.#tries++ % count;
  }

  /** @returns whether the evidence against the row is enough */
  noteTrial(): boolean {
    this.#trials += 1;
    return this.#trials >= databaseTrialsMax;
  }

  noteCut(entries: number): void {
    this.#cuts += 1;
    if (this.#cuts < databaseCutsMax) return;
    if (this.#left === 0) this.#left = entries;
    if (entries <= 1) {
      this.#limit = 1;
      return;
    }
    this.#limit = Math.ceil(entries / 2);
    // Fewer rows are known to hold the one that is looked for.
    this.#cuts = this.#limit === 1 ? 0 : databaseCutsMax - 1;
  }

  /** Entries left the head of the feed. */
  notePassed(entries: number): void {
    this.#left = Math.max(0, this.#left - entries);
    this.#tries = 0;
    this.#trials = 0;
    if (this.#left > 0) {
      this.#cuts = Math.min(this.#cuts, databaseCutsMax - 1);
      return;
    }
    this.#cuts = 0;
    this.#limit = databaseCopyRowsMax;
  }
}

/** The connection ended, or was silent, while a statement was under way. */
export function isCut(error: unknown): boolean {
  return hasCode(error, "DATABASE_FAILED") && (error as SaltworksError).detail.isCut === true;
}
