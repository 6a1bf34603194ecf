/** Runner `saltworks`: what this master knows of itself. Salt does not have these functions. */
import type { RunnerFunction } from "../contract/contract.ts";

export const saltworksRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.counters",
    {
      parameters: [],
      doc: "Every counter of the master: its main thread's, and each worker's.",
      run: async ({ master }) => master?.counters(),
    },
  ],
]);
