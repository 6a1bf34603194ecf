/** Removes old rows from a database in steps. A round begins anew when the one before it has found no more old rows. */
import { hasCode } from "../errors.ts";
import { databaseExpiryMs, databaseRowsMax } from "../limits.ts";
import type { JobDatabase } from "./contract/database.ts";

export type ExpiryTask = { readonly keepSeconds: number; readonly archives: boolean };
/** Rows that left. `isDone`: no old row is left. `fault`: why the database removed nothing more; the caller tries again later. */
export type ExpiredRows = {
  readonly jobs: number;
  readonly returns: number;
  readonly events: number;
  readonly isDone: boolean;
  readonly fault: string | undefined;
};

export class Expiry {
  readonly #database: Pick<JobDatabase, "expire">;
  #after: string | undefined;

  constructor(database: Pick<JobDatabase, "expire">) {
    this.#database = database;
  }

  /** Runs for `databaseExpiryMs` and the last transaction, because jobs that are to be copied wait meanwhile. */
  async step(task: ExpiryTask): Promise<ExpiredRows> {
    const counts = { jobs: 0, returns: 0, events: 0 };
    const endMs = performance.now() + databaseExpiryMs;
    try {
      do {
        const expired = await this.#database.expire({ ...task, rowsMax: databaseRowsMax, after: this.#after });
        for (const kind of ["jobs", "returns", "events"] as const) counts[kind] += expired[kind];
        this.#after = expired.next;
      } while (this.#after !== undefined && performance.now() < endMs);
      return { ...counts, isDone: this.#after === undefined, fault: undefined };
    } catch (error) {
      if (!hasCode(error, "DATABASE_FAILED") && !hasCode(error, "DATABASE_REFUSED")) throw error;
      // The next round begins anew, because it makes archive tables that are missing.
      this.#after = undefined;
      return { ...counts, isDone: false, fault: (error as Error).message };
    }
  }
}
