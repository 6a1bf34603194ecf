/**
 * The name under which the operating system lists a thread, so that CPU time can be read by role: `ps -T`, `top -H`, /proc/PID/task/TID/comm.
 * Source: proc(5). Linux only: elsewhere threads keep the name they have.
 */
import { writeFileSync } from "node:fs";

/** The kernel cuts a name that is longer. */
const nameBytesMax = 15;

/** Names the calling thread. One that the system does not let name itself says so and goes on: the name serves observers only. */
export function nameThread(name: string): void {
  if (process.platform !== "linux") return;
  try {
    writeFileSync("/proc/thread-self/comm", name.slice(0, nameBytesMax));
  } catch (error) {
    process.emitWarning(`thread "${name}" keeps the program's name: ${(error as Error).message}`);
  }
}

/**
 * Threads of a lane have no address, so each takes the next number of its lane as it starts; one that replaces another gets a new one.
 *
 * @returns the name
 */
export function nameLaneThread(lane: string, startedThreads: SharedArrayBuffer): string {
  const name = `sw-${lane}-${Atomics.add(new Int32Array(startedThreads), 0, 1)}`;
  nameThread(name);
  return name;
}
