/** The counters of a running master of ours. */
import { userInfo } from "node:os";
import { MasterClient } from "../../src/client/master-client.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import type { MasterUnderTest } from "./test-bed.ts";

export type Counters = {
  readonly main: ReadonlyMap<unknown, unknown>;
  /** The sum of one counter over all workers. */
  sum(name: string): number;
};

export async function masterCounters(master: MasterUnderTest): Promise<Counters> {
  const client = await MasterClient.open(loadMasterConfig(master.configDir), userInfo().username);
  const outcome = await client.wheel("saltworks.counters", {});
  const counters = outcome.value;
  if (!outcome.isSuccess || !(counters instanceof Map)) throw new Error(`no counters: ${String(counters)}`);
  const main = counters.get("main");
  const workers = counters.get("workers");
  if (!(main instanceof Map) || !Array.isArray(workers)) throw new Error("counters of an unknown shape");
  return {
    main,
    sum: (name) =>
      workers.reduce((sum: number, worker) => sum + Number((worker instanceof Map && worker.get(name)) || 0), 0),
  };
}
