/** What the master does by itself every `loop_interval`: rotates a key that has served its time, reads the workers' faults, trims old jobs. */
import { jidAt } from "../wire/jid.ts";
import type { ShardPool } from "../workers/pool.ts";

/** Records of one trim, which is one transaction: some milliseconds, so that returns that come meanwhile hardly notice. */
const trimRecordsPerStep = 200;

export type MaintenanceOptions = {
  readonly intervalMs: number;
  /** Age at which jobs leave the cache; 0 keeps them. */
  readonly keepJobsMs: number;
  readonly pool: Pick<ShardPool, "offer">;
  readonly rotateIfDue: (nowMs: number) => Promise<void>;
  /** Workers have no log of their own: their faults come with the counters. */
  readonly readFaults: () => Promise<unknown>;
  readonly onFault: (error: Error) => void;
};

export class Maintenance {
  readonly counters = { trimmed: 0 };
  readonly #options: MaintenanceOptions;
  readonly #timer: NodeJS.Timeout;
  #isTrimming = false;
  #isClosed = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.run(Date.now()), options.intervalMs);
  }

  run(nowMs: number): void {
    const { rotateIfDue, readFaults, onFault } = this.#options;
    rotateIfDue(nowMs).catch(onFault);
    readFaults().catch(onFault);
    this.trim(nowMs).catch(onFault);
  }

  /** Step by step until nothing old is left: what is trimmed must keep up with what comes in. One such run at a time. */
  async trim(nowMs: number): Promise<void> {
    const { keepJobsMs, pool } = this.#options;
    if (keepJobsMs <= 0 || this.#isTrimming) return;
    this.#isTrimming = true;
    const task = { kind: "trim", olderThanJid: jidAt(nowMs - keepJobsMs, 0), stepsMax: trimRecordsPerStep };
    try {
      for (let count = trimRecordsPerStep; count >= trimRecordsPerStep && !this.#isClosed; ) {
        count = await pool.offer<number>(0, { bytes: 0, build: () => ({ task, transfer: [] }) });
        this.counters.trimmed += count;
      }
    } finally {
      this.#isTrimming = false;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}
