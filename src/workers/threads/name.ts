/**
 * Names threads for the operating system, so that CPU time can be read by role: `ps -T`, `top -H`, /proc/PID/task/TID/comm.
 * Source: proc(5). Linux only.
 */
import { writeFileSync } from "node:fs";

/** The kernel cuts longer names. */
const nameBytesMax = 15;

/** Names the calling thread. Only warns on failure, because the name serves observers only. */
export function nameThread(name: string): void {
  if (process.platform !== "linux") return;
  try {
    writeFileSync("/proc/thread-self/comm", name.slice(0, nameBytesMax));
  } catch (error) {
    process.emitWarning(`thread "${name}" keeps the program's name: ${(error as Error).message}`);
  }
}

/**
 * Each thread of a lane takes the next number as it starts. A thread that replaces another gets a new number.
 *
 * @returns the name
 */
export function nameLaneThread(lane: string, startedThreads: SharedArrayBuffer): string {
  const name = `sw-${lane}-${Atomics.add(new Int32Array(startedThreads), 0, 1)}`;
  nameThread(name);
  return name;
}
