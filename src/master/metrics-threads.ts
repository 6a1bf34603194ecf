/** CPU time of each thread of this process, by the name that the system has for it. Source: proc(5). */
import { readdirSync, readFileSync } from "node:fs";

/** Linux counts in hundredths of a second (USER_HZ) whatever the kernel's own clock does. */
const ticksPerSecond = 100;
/** Fields of /proc/PID/stat behind the name: utime and stime are the 14th and 15th of all, counted from 1. */
const userTimeField = 11;

/** Seconds by name; `main` is the main thread, `other` what Node and V8 run beside it. Empty where there is no /proc. */
export function threadCpuSeconds(processId: number = process.pid): Map<string, number> {
  const seconds = new Map<string, number>();
  if (process.platform !== "linux") return seconds;
  const mainName = nameAndTicks(processId, String(processId))?.name;
  for (const threadId of readdirSync(`/proc/${processId}/task`)) {
    const found = nameAndTicks(processId, threadId);
    if (found === undefined) continue;
    const isMain = threadId === String(processId);
    const name = isMain ? "main" : found.name === mainName ? "other" : found.name;
    seconds.set(name, (seconds.get(name) ?? 0) + found.ticks / ticksPerSecond);
  }
  return seconds;
}

function nameAndTicks(
  processId: number,
  threadId: string,
): { readonly name: string; readonly ticks: number } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${processId}/task/${threadId}/stat`, "latin1");
  } catch (error) {
    // It ended between the listing and this line.
    if (isGone(error)) return undefined;
    throw error;
  }
  // The name stands in parentheses and may hold anything, parentheses too.
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const ticks = Number(fields[userTimeField]) + Number(fields[userTimeField + 1]);
  return { name: stat.slice(stat.indexOf("(") + 1, nameEnd), ticks };
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ESRCH";
}
