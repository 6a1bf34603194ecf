/** `saltworks tune`: starts the bench program, which finds settings for this machine. */

import type { Host } from "../host/host.ts";
import { runBenchProgram } from "./bench-program.ts";

/** @returns the exit code: 0, 2 if the load generator was the limit in every run, 64 for a usage error */
export function runTune(argv: readonly string[], host: Host): Promise<number> {
  return runBenchProgram("tune", argv, host);
}
