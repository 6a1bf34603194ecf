/** When a process or a thread started, which tells a reused id from its former owner. Source: proc(5), `/proc/<pid>/stat`, field 22. */
import { readFileSync } from "node:fs";
import { hasCodeIn } from "../../config/files/system-errors.ts";

/** Ended, but its parent has not asked how: common after `kill -9` in containers without an init. */
const endedStates = new Set(["Z", "X"]);

/**
 * In clock ticks since the machine's start; undefined if it has ended.
 *
 * @param task its folder below `/proc`: `<pid>`, or `<pid>/task/<tid>` for a thread
 */
export function startTicksOf(task: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${task}/stat`, "utf8");
    // The second field, the name in parentheses, may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return endedStates.has(fields[0] ?? "") ? undefined : fields[19];
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}
