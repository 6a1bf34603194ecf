/** `saltworks bench`: starts the bench program, which runs scenarios and reads their results. */

import type { Host } from "../host/host.ts";
import { runBenchProgram } from "./bench-program.ts";

/** @returns the exit code: 0, 2 if the load generator was the limit, 64 for a usage error */
export function runBench(argv: readonly string[], host: Host): Promise<number> {
  return runBenchProgram("bench", argv, host);
}
