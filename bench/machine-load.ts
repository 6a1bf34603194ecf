/** How busy the machine is with other programs than this one, from /proc/stat. */
import { readFileSync } from "node:fs";
import { ticksToMs } from "./cpu-time.ts";

/** CPU milliseconds of all cores since the machine started: all of them, those without work, and those of the measured programs. */
export type MachineTimes = { readonly totalMs: number; readonly idleMs: number; readonly ownMs: number };

/** The share of the machine's CPU time that other programs may take before a measurement is in doubt. On two cores it is a fifth of one. */
export const otherShareMax = 0.1;

/** `ownMs`: CPU time of the programs that are not "others"; by default of this process. */
export function machineTimes(ownMs: number = usedMs(process.cpuUsage())): MachineTimes {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  // user, nice, system, idle, iowait, irq, softirq, steal. Guests are counted in user and nice.
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return {
    totalMs: ticks.reduce((sum, count) => sum + count, 0) * ticksToMs,
    idleMs: ((ticks[3] ?? 0) + (ticks[4] ?? 0)) * ticksToMs,
    ownMs,
  };
}

function usedMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

/** The share of the machine's CPU time between two readings that other programs, or other machines of the same host, took: 0 to 1. */
export function otherShareBetween(before: MachineTimes, after: MachineTimes): number {
  const total = after.totalMs - before.totalMs;
  if (total <= 0) return 0;
  const others = total - (after.idleMs - before.idleMs) - (after.ownMs - before.ownMs);
  return Math.min(1, Math.max(0, others / total));
}
