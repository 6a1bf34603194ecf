/** CPU time of a program over a span, exact to the nanosecond where possible, and complete although threads and processes come and go. */
import { readdirSync, readFileSync } from "node:fs";
import { cpuTimeMs, familyOf } from "./cpu-time.ts";

/** Rounding error of two readings of one process: 10 ms each for user and system time. */
const roundingMs = 40;

/** Starts now. Each call returns the CPU milliseconds of all threads and processes of the program since then. */
export function startCpuClock(processId: number): () => number {
  const [ticksBefore, runBefore] = [cpuTimeMs(processId), runTimeMs(processId)];
  return () => {
    const [ticks, run] = [cpuTimeMs(processId) - ticksBefore, runTimeMs(processId) - runBefore];
    // If the sum of living threads differs from the rounded total by no more than rounding, it is complete and more exact.
    return Math.abs(ticks - run) <= roundingMs ? run : ticks;
  };
}

/**
 * Milliseconds on a processor, to the nanosecond, of the threads that one process has now, as the kernel keeps them in `schedstat`: the same time
 * that utime and stime round, which is much for a span of little work. Threads and processes that ended are not in it.
 *
 * @returns NaN for a program of several processes, or a kernel without them
 */
function runTimeMs(processId: number): number {
  if (familyOf(processId).size !== 1) return Number.NaN;
  try {
    return readdirSync(`/proc/${processId}/task`).reduce((sum, thread) => {
      const [nanoseconds] = readFileSync(`/proc/${processId}/task/${thread}/schedstat`, "utf8").split(" ");
      return sum + Number(nanoseconds) / 1e6;
    }, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The process ended, or a thread of it after it was listed.
    if (code === "ENOENT" || code === "ESRCH") return Number.NaN;
    throw error;
  }
}
