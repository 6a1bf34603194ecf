/** What the master says about a store that it lost, and about a clock that was set. */
import { SaltworksError } from "../../errors.ts";
import { clockTrustMs } from "../../limits.ts";

/** After a failed write of a file's meta page LMDB refuses all further use of the file. Only a new process can open it again. */
export function storeLost(): SaltworksError {
  return new SaltworksError(
    "STORE_FAILED",
    "the disk refused to write the head of a data file: the master ends, because only a new start can open that file again. Acknowledged returns are safe in the logs of returns. Check the disk; `saltworks check-store` shows what can be read",
  );
}

export function clockSetText(stepMs: number): string {
  const seconds = Math.round(Math.abs(stepMs) / 1_000);
  if (stepMs < 0) return `the clock was set back by ${seconds} s`;
  return `the clock was set forward by ${seconds} s: jobs are not removed for their age for ${clockTrustMs / 60_000} minutes`;
}
