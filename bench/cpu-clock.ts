/** CPU time of a program over a span: as exact as the kernel's, and complete though threads and processes come and go. */
import { readdirSync, readFileSync } from "node:fs";
import { cpuTimeMs, familyOf } from "./cpu-time.ts";

/** Both looks at one process are rounded to 10 ms, user and system time apart. */
const roundingMs = 40;

/** From now on; each call says the milliseconds that the program with all its threads and processes has used since. */
export function startCpuClock(processId: number): () => number {
  const [ticksBefore, runBefore] = [cpuTimeMs(processId), runTimeMs(processId)];
  return () => {
    const [ticks, run] = [cpuTimeMs(processId) - ticksBefore, runTimeMs(processId) - runBefore];
    // What the threads that live used is all of it, if nothing but rounding separates the two.
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
    // Also for a thread that ended since it was listed.
    if (code === "ENOENT" || code === "ESRCH") return Number.NaN;
    throw error;
  }
}
