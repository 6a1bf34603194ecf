/** Lists the runner calls under way, and stores each finished one as a job, as Salt does. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/load.ts";
import { storedResultBytesMax } from "../../limits.ts";
import type { RunningCall } from "../../runners/contract/contract.ts";
import { encode } from "../../wire/msgpack.ts";
import { trimmedText } from "../../wire/return.ts";
import type { Encodable } from "../../wire/values.ts";
import type { Partitioner } from "../../workers/threads/partition.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";

export type RunnerCallsOptions = {
  readonly config: Pick<MasterConfig, "id" | "job_cache" | "ext_job_cache">;
  readonly pool: Pick<WorkerPool, "offer" | "slotCount">;
  readonly partitioner: Partitioner;
  readonly logger: Logger;
};

/** `data`: the data of the call's last event. `resultBytes`: the size of its result. */
export type FinishedCall = {
  readonly jid: string;
  readonly fun: string;
  readonly user: string;
  readonly data: { readonly [name: string]: Encodable };
  readonly resultBytes: number;
};

type Unstored = {
  readonly call: { readonly jid: string; readonly load: Uint8Array; readonly body: Uint8Array };
  readonly fun: string;
  readonly resolve: () => void;
};

/** Calls of one transaction: the store is free for returns after each. */
const callsStoredAtOnce = 64;

export class RunnerCalls {
  readonly #options: RunnerCallsOptions;
  readonly #running = new Map<string, RunningCall>();
  readonly #unstored: Unstored[] = [];
  #isStoring = false;

  constructor(options: RunnerCallsOptions) {
    this.#options = options;
  }

  list(): RunningCall[] {
    return [...this.#running.values()];
  }

  /** Lists the call as under way while `step` runs. */
  async during<Result>(call: Omit<RunningCall, "pid">, step: () => Promise<Result>): Promise<Result> {
    this.#running.set(call.jid, { ...call, pid: process.pid });
    try {
      return await step();
    } finally {
      this.#running.delete(call.jid);
    }
  }

  /**
   * Stores the call as a job whose only minion is the master. Calls that end meanwhile are stored together, because a transaction costs more than a
   * call. Resolves also if that fails, because the caller gets its answer anyway.
   */
  store({ jid, fun, user, data, resultBytes }: FinishedCall): Promise<void> {
    const { config } = this.#options;
    if (!config.job_cache || config.ext_job_cache !== "") return Promise.resolve();
    const { id } = config;
    const kept = resultBytes > storedResultBytesMax ? { ...data, return: trimmedText } : data;
    const load = encode({ id, tgt: id, jid, fun, user }, "bin");
    const body = encode({ id, jid, fun, return: kept, _stamp: new Date().toISOString().slice(0, -1) }, "bin");
    return new Promise((resolve) => {
      this.#unstored.push({ call: { jid, load, body }, fun, resolve });
      if (!this.#isStoring) void this.#storeAll();
    });
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    for (;;) {
      const some = this.#unstored.splice(0, callsStoredAtOnce);
      if (some.length === 0) break;
      await this.#put(some);
      for (const { resolve } of some) resolve();
    }
    this.#isStoring = false;
  }

  async #put(some: readonly Unstored[]): Promise<void> {
    const { config, pool, partitioner, logger } = this.#options;
    const { id } = config;
    const task = { kind: "putCalls", id, calls: some.map(({ call }) => call) };
    const bytes = some.reduce((sum, { call }) => sum + call.load.byteLength + call.body.byteLength, 0);
    try {
      await pool.offer(partitioner.slotOf(id, pool.slotCount), { bytes, build: () => ({ task, transfer: [] }) });
    } catch (error) {
      const calls = some.map(({ fun, call }) => ({ fun, jid: call.jid }));
      logger.error({ err: error, calls }, "a runner call could not be stored as a job");
    }
  }
}
