/**
 * Gives free memory of C's allocator back to the system once the process is at rest. glibc keeps what threads have freed, in an arena for each of
 * them, until the top of the arena is free. A storm of sign-ins leaves tens of megabytes there. docs/decisions/0013-memory.md has the savings.
 */
import { freeMemoryLookMs, freeMemoryRestLooks } from "../../limits.ts";

/** The process rests while it uses at most this share of a core, and has a burst above the other. Thousands of idle minions take a twentieth. */
const restShareMax = 0.1;
const burstShareMin = 0.2;

export type FreeMemory = { readonly close: () => void };

export type FreeMemoryOptions = {
  readonly trim: () => void;
  readonly lookMs?: number;
  /** CPU milliseconds of the process since its start. */
  readonly cpuMs?: () => number;
};

/** After a burst, calls `trim` at the rest looks that `freeMemoryRestLooks` names, because workers collect their garbage and lanes end in the meantime. */
export function trimWhenIdle({ trim, lookMs = freeMemoryLookMs, cpuMs = ownCpuMs }: FreeMemoryOptions): FreeMemory {
  let [beforeMs, beforeCpuMs] = [performance.now(), cpuMs()];
  let restLooks = 0;
  const timer = setInterval(() => {
    const [nowMs, nowCpuMs] = [performance.now(), cpuMs()];
    const share = (nowCpuMs - beforeCpuMs) / (nowMs - beforeMs);
    [beforeMs, beforeCpuMs] = [nowMs, nowCpuMs];
    if (share > burstShareMin) restLooks = 0;
    if (share > restShareMax) return;
    restLooks += 1;
    if (freeMemoryRestLooks.includes(restLooks)) trim();
  }, lookMs).unref();
  return { close: () => clearInterval(timer) };
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The allocator's own function. Where the C library has none, as musl's, the memory stays with the process. */
export async function loadTrim(): Promise<() => void> {
  try {
    const { default: koffi } = await import("koffi");
    const trim = koffi.load(null).func("int malloc_trim(size_t bytesKept)");
    return () => void trim(0);
  } catch (error) {
    process.emitWarning(`free memory is not given back to the system: ${(error as Error).message}`);
    return () => undefined;
  }
}
