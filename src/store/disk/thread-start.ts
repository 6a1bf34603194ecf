/** Reads when a process or a thread started. That tells a reused id from its former owner. Source: proc(5), `/proc/<pid>/stat`, field 22. */
import { readFileSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";

/** States of a process that has ended but was not reaped by its parent. Common after `kill -9` in containers without an init. */
const endedStates = new Set(["Z", "X"]);

/**
 * The start time in clock ticks since the machine's start; undefined if the process or thread has ended.
 *
 * @param task its folder below `/proc`: `<pid>`, or `<pid>/task/<tid>` for a thread
 */
export function startTicksOf(task: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${task}/stat`, "utf8");
    // The second field, the name in parentheses, may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return endedStates.has(fields[0] ?? "") ? undefined : fields[19];
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}
