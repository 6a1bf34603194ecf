/** Reads from the system how many files and connections this process may have open. */
import { readFileSync } from "node:fs";

/** `Infinity` without a limit, and on systems other than Linux. */
export function openFilesLimit(): number {
  if (process.platform !== "linux") return Number.POSITIVE_INFINITY;
  const row = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
  return row === "unlimited" ? Number.POSITIVE_INFINITY : Number(row);
}
