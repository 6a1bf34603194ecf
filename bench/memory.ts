/** Resident memory of a program and everything below it, from /proc: now, and at its peak. */
import { readFileSync } from "node:fs";
import { familyOf } from "./cpu-time.ts";

const bytesPerKib = 1_024;

/**
 * `anonymousBytes`: the program's own resident memory. The rest are pages of files, mostly the job cache's. They grow with it, and the kernel
 * takes them back when other programs need memory.
 */
export type MemoryUse = { readonly rssBytes: number; readonly anonymousBytes: number; readonly peakRssBytes: number };

/** Sums over processes: pages that they share count in each. `peakRssBytes` adds up each process's own peak. */
export function memoryOf(rootProcessId: number): MemoryUse {
  let rssBytes = 0;
  let anonymousBytes = 0;
  let peakRssBytes = 0;
  for (const pid of familyOf(rootProcessId)) {
    const status = statusOf(pid);
    rssBytes += kibIn(status, "VmRSS") * bytesPerKib;
    anonymousBytes += kibIn(status, "RssAnon") * bytesPerKib;
    peakRssBytes += kibIn(status, "VmHWM") * bytesPerKib;
  }
  return { rssBytes, anonymousBytes, peakRssBytes };
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It ended since it was listed.
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}

function kibIn(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
}
