/**
 * Remembers that a migration has written rows into a database of jobs. Returns of the same jobs may wait in the feed for that database, so the
 * database is asked for each row until all that waited at the migration's end is copied. Returns that the migration read from the workers' logs come
 * into the feed only with a later transaction of the store, so the mark also stays for a while. A file in the cache directory says it, so that a
 * master that was killed knows it, too.
 */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readIfThere } from "../config/files/missing.ts";
import { broughtRowsSettleMs } from "../limits.ts";
import { removeIfThere, replaceDurably } from "../store/disk/durable-file.ts";
import { attempt } from "../store/disk/store-error.ts";

const fileMode = 0o600;
const directoryMode = 0o700;

/** Its methods fail with SaltworksError STORE_FAILED. */
export class BroughtRows {
  readonly #path: string;
  #isMarked: boolean;
  #isComing = false;
  /** Parts of the feed that were empty since the last migration ended. */
  readonly #drained = new Set<number>();

  readonly #nowMs: () => number;
  /** When the store has certainly fed what its logs held as the last migration ended, or as this process started. */
  #settledMs: number;

  /** `nowMs`: a monotonic clock. */
  constructor(cachedir: string, name: string, nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#settledMs = nowMs() + broughtRowsSettleMs;
    this.#path = join(cachedir, "migrations", `brought-into-${name}`);
    this.#isMarked = attempt(`${this.#path} cannot be read`, () => readIfThere(this.#path)) !== undefined;
  }

  /** Whether the database may have rows that wait in the feed. */
  get mayWait(): boolean {
    return this.#isMarked;
  }

  /** Call it before the first row is written. */
  begin(): void {
    this.#isComing = true;
    this.#drained.clear();
    if (this.#isMarked) return;
    attempt(`${this.#path} cannot be written`, () => {
      mkdirSync(dirname(this.#path), { recursive: true, mode: directoryMode });
      replaceDurably(this.#path, "", fileMode);
    });
    this.#isMarked = true;
  }

  end(): void {
    this.#isComing = false;
    this.#settledMs = this.#nowMs() + broughtRowsSettleMs;
  }

  /** One of the feed's parts has nothing that waits. */
  noteDrained(part: number, partCount: number): void {
    if (!this.#isMarked || this.#isComing || this.#nowMs() < this.#settledMs) return;
    this.#drained.add(part);
    if (this.#drained.size < partCount) return;
    attempt(`${this.#path} cannot be removed`, () => removeIfThere(this.#path));
    this.#isMarked = false;
  }
}
