/** Runner `saltworks`: what this master knows of itself. Nothing of Salt's answers to these names. */
import { SaltworksError } from "../errors.ts";
import type { RunnerFunction } from "./contract.ts";

export const saltworksRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "saltworks.counters",
    {
      parameters: [],
      doc: "Every counter of the master: its main thread's, and each worker's.",
      run: (context) => {
        if (context.master === undefined)
          throw new SaltworksError("MASTER_UNREACHABLE", "only a running master counts");
        return context.master.counters();
      },
    },
  ],
]);
