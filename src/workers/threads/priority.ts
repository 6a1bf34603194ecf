/**
 * A thread that gives way to all other threads of the program: it computes when they have nothing to do, and still gets a tenth of a busy core.
 * Source: setpriority(2), which on Linux takes a thread's id. Elsewhere threads stay equal.
 */
import { readlinkSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** Steps of nice: each takes a tenth off a thread's share, and ten of them leave it one part in ten. */
const niceSteps = 10;
const niceMax = 19;

/** Lowers the calling thread's priority. A system that does not allow it says so: then returns wait longer during a storm of authentications. */
export function yieldToOthers(): void {
  if (process.platform !== "linux") return;
  try {
    const threadId = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(threadId, Math.min(niceMax, getPriority() + niceSteps));
  } catch (error) {
    process.emitWarning(`a thread keeps the program's priority: ${(error as Error).message}`);
  }
}
