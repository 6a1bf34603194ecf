/** `saltworks size`: starts the bench program, which plans a master for a fleet. */

import type { Host } from "../host/host.ts";
import { runBenchProgram } from "./bench-program.ts";

/** @returns the exit code: 0, 1 if a check was not within its bound, 64 for a usage error */
export function runSize(argv: readonly string[], host: Host): Promise<number> {
  return runBenchProgram("size", argv, host);
}
