/**
 * Reads the returns in all writers' logs: they are acknowledged and may not be in LMDB yet. The logs are read once for all queries of one turn,
 * because they may be large: they stay full while the disk is full.
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

  /** The entries by key, as a latin-1 text. Of equal keys the first entry counts, as in the store. */
  byKey(): ReadonlyMap<string, LoggedEntry> {
    const entries = this.entries();
    this.#nowByKey ??= new Map(entries.toReversed().map((entry) => [entry.key.toString("latin1"), entry]));
    return this.#nowByKey;
  }
}
