/** Lets a generator's processes run before all other programs, so that a busy machine does not make them send late. Linux, as root. */
import { spawnSync } from "node:child_process";

/** The lowest real-time priority of sched(7). It is above each program that has none. */
const realTimePriority = "1";

/**
 * Threads that the processes start later have the priority, too.
 *
 * @returns whether all processes have it. Without the right to set it they keep theirs, and a run on a busy machine may be void.
 */
export function runFirst(processIds: readonly number[]): boolean {
  const set = (processId: number) =>
    spawnSync("chrt", ["--all-tasks", "--rr", "--pid", realTimePriority, String(processId)]).status === 0;
  return processIds.every(set);
}
