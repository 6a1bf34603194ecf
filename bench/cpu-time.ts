/** CPU time of a program with all its threads and processes, from the operating system's own accounting. */
import { readdirSync, readFileSync } from "node:fs";

/** The unit of times in /proc/<pid>/stat on every Linux that Node supports. */
const ticksPerSecond = 100;
export const ticksToMs = 1_000 / ticksPerSecond;

type ProcessTimes = { readonly pid: number; readonly parent: number; readonly ms: number };

function readTimes(pid: string): ProcessTimes | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The process ended after the directory was listed; its parent's times include it.
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
  // The name in parentheses may hold spaces; after it comes field 3.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const tick = (field: number): number => Number(fields[field - 3]);
  // utime and stime of the process with all its threads; cutime and cstime of children that ended.
  return { pid: Number(pid), parent: tick(4), ms: (tick(14) + tick(15) + tick(16) + tick(17)) * ticksToMs };
}

function allTimes(): ProcessTimes[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readTimes(name) ?? []);
}

function familyAmong(all: readonly ProcessTimes[], rootProcessId: number): Set<number> {
  const family = new Set([rootProcessId]);
  for (let grew = true; grew; ) {
    const before = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
    grew = family.size > before;
  }
  return family;
}

/** A process and its descendants. */
export function familyOf(rootProcessId: number): Set<number> {
  return familyAmong(allTimes(), rootProcessId);
}

/** CPU milliseconds of a process and its descendants, ended children included. Resolution: 10 ms per process. */
export function cpuTimeMs(rootProcessId: number): number {
  const all = allTimes();
  const family = familyAmong(all, rootProcessId);
  return all.filter(({ pid }) => family.has(pid)).reduce((sum, { ms }) => sum + ms, 0);
}
