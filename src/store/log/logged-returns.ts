/**
 * Returns that are acknowledged and may not be in LMDB yet, read from all writers' logs. They are read once for all questions of one turn, because logs stay
 * full while the disk is full.
 */
import { listLogs, readLog } from "./files.ts";
import type { LoggedEntry } from "./frames.ts";

export class LoggedReturns {
  readonly #path: string;
  #now: readonly LoggedEntry[] | undefined;
  #nowByKey: ReadonlyMap<string, LoggedEntry> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  entries(): readonly LoggedEntry[] {
    if (this.#now === undefined) {
      this.#now = listLogs(this.#path).flatMap(readLog);
      queueMicrotask(() => {
        this.#now = undefined;
        this.#nowByKey = undefined;
      });
    }
    return this.#now;
  }

  /** By the key's bytes as text; the first of each, as the store keeps the first. */
  byKey(): ReadonlyMap<string, LoggedEntry> {
    const entries = this.entries();
    this.#nowByKey ??= new Map(entries.toReversed().map((entry) => [entry.key.toString("latin1"), entry]));
    return this.#nowByKey;
  }
}
