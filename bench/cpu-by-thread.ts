/** CPU time of each thread of a program and of its descendant processes, by the thread's name, from /proc/<pid>/task. */
import { readdirSync, readFileSync } from "node:fs";
import { hasEnded } from "../src/master/metrics/threads.ts";
import { familyOf, ticksToMs } from "./cpu-time.ts";

/** CPU time by thread since the thread started. `id` is unique while the thread runs. */
export type ThreadTimes = ReadonlyMap<string, { readonly name: string; readonly ms: number }>;

/** Our name for the program's first thread, whose own name is that of the program. */
const mainThread = "main";

/** Node 24 names a program's first thread itself. */
const sameNames: ReadonlyMap<string, string> = new Map([["MainThread", "node"]]);

export function threadTimes(rootProcessId: number): ThreadTimes {
  const times = new Map<string, { name: string; ms: number }>();
  for (const pid of familyOf(rootProcessId)) {
    for (const thread of entriesOf(`/proc/${pid}/task`)) {
      const stat = textOf(`/proc/${pid}/task/${thread}/stat`);
      if (stat === undefined) continue;
      const end = stat.lastIndexOf(")");
      const isMain = pid === rootProcessId && Number(thread) === pid;
      const own = stat.slice(stat.indexOf("(") + 1, end);
      // A program that writes a title over its command line, as Salt's do, has threads that are named by the beginning of its path.
      const name = isMain ? mainThread : own.startsWith("/") ? (titleOf(pid) ?? own) : (sameNames.get(own) ?? own);
      // Fields are numbered from 1; the third follows the closing parenthesis.
      const fields = stat.slice(end + 2).split(" ");
      times.set(`${pid}/${thread}`, { name, ms: (Number(fields[11]) + Number(fields[12])) * ticksToMs });
    }
  }
  return times;
}

/** The last word of a process' title, such as `MWorker-0`; undefined if that word is an argument. */
function titleOf(pid: number): string | undefined {
  const word = textOf(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trimEnd().split(" ").at(-1);
  return word === undefined || word === "" || /^[/-]/.test(word) ? undefined : word;
}

/** Milliseconds by name between two readings, without threads that ended in between. */
export function threadTimesBetween(before: ThreadTimes, after: ThreadTimes): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [thread, { name, ms }] of after) {
    const spent = ms - (before.get(thread)?.ms ?? 0);
    if (spent > 0) sums[name] = (sums[name] ?? 0) + spent;
  }
  return sums;
}

/** Empty if the process or thread has ended. */
export function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasEnded(error)) return [];
    throw error;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasEnded(error)) return undefined;
    throw error;
  }
}
