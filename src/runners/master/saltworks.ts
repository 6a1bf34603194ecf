/** Runner `saltworks`: state of this master. Salt does not have these functions. */
import type { RunnerFunction } from "../contract/contract.ts";

export const saltworksRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.counters",
    {
      parameters: [],
      doc: "All counters of the master's main thread and of each worker.",
      run: async ({ master }) => master?.counters(),
    },
  ],
]);
