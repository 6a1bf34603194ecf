/** How many files and connections this process may have open at once, as the system says now. */
import { readFileSync } from "node:fs";

/** `Infinity` where nothing limits it, and where the system is not Linux. */
export function openFilesLimit(): number {
  if (process.platform !== "linux") return Number.POSITIVE_INFINITY;
  const row = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  return row === "unlimited" ? Number.POSITIVE_INFINITY : Number(row);
}
