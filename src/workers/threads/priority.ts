/**
 * Lowers a thread's priority below the program's other threads. On a busy core the thread still gets about a tenth of the time.
 * Source: setpriority(2), which on Linux takes a thread's id. Linux only.
 */
import { readlinkSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** Steps of nice. Ten of them leave the thread about a tenth of a busy core. */
const niceSteps = 10;
const niceMax = 19;

/** Lowers the calling thread's priority. On failure it only warns; returns then wait longer during a storm of authentications. */
export function yieldToOthers(): void {
  if (process.platform !== "linux") return;
  try {
    const threadId = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(threadId, Math.min(niceMax, getPriority() + niceSteps));
  } catch (error) {
    process.emitWarning(`a thread keeps the program's priority: ${(error as Error).message}`);
  }
}
