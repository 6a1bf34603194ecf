/** Resident memory of a program and its descendants, from /proc: now, and at its peak. */
import { readFileSync } from "node:fs";
import { familyOf } from "./cpu-time.ts";

const bytesPerKib = 1_024;

/**
 * `anonymousBytes`: resident memory without mapped files. Mapped pages, mostly the job cache's, grow with the files, and the kernel
 * takes them back when other programs need memory.
 */
export type MemoryUse = { readonly rssBytes: number; readonly anonymousBytes: number; readonly peakRssBytes: number };

/** Sums over processes: a page that processes share counts in each. `peakRssBytes` is the sum of each process's peak. */
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
    // The process ended after it was listed.
    if (code === "ENOENT" || code === "ESRCH") return "";
    throw error;
  }
}

function kibIn(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
}
