/** What a master has copied into its database, from the master's own counters. */
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";

/** `rows`: jobs and returns that this master process has written or found in the database. `waiting`: still to be copied. */
export type ShippedRows = { readonly rows: number; readonly waiting: number; readonly failures: number };

const pollMs = 100;
/** A million rows on a machine that is busy with other work. */
const emptyTimeoutMs = 600_000;

export class Shipped {
  readonly #master: MasterUnderTest;

  constructor(master: MasterUnderTest) {
    this.#master = master;
  }

  async now(): Promise<ShippedRows> {
    const main = (await this.#master.counters?.())?.main;
    const count = (name: string) => main?.get(`database.${name}`) ?? 0;
    return {
      rows: count("jobs") + count("returns") + count("present"),
      waiting: count("waiting"),
      failures: count("failures"),
    };
  }

  async until(what: string, isDone: (rows: ShippedRows) => boolean): Promise<ShippedRows> {
    const endMs = performance.now() + emptyTimeoutMs;
    for (;;) {
      const rows = await this.now();
      if (isDone(rows)) return rows;
      if (performance.now() > endMs)
        throw new SaltworksError("FUNCTION_FAILED", `no "${what}" in ${emptyTimeoutMs} ms: ${JSON.stringify(rows)}`);
      await wait(pollMs);
    }
  }

  /** Resolves when nothing waits. Returns reach the feed a moment after their acks, so nothing must wait twice. */
  async untilEmpty(): Promise<void> {
    await this.until("nothing waits", ({ waiting }) => waiting === 0);
    await wait(settleMs);
    await this.until("nothing waits", ({ waiting }) => waiting === 0);
  }
}

const settleMs = 1_500;
