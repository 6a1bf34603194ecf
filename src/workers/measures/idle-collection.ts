/**
 * Garbage of a burst, collected once the thread is at rest: V8 alone would keep it, and the native memory that hangs on it, until the next burst.
 * docs/decisions/0013-memory.md has what it saves.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { idleLookMs } from "../../limits.ts";

/** Share of the time that counts as rest. A collection takes some 20 ms, which then delays nobody. */
const restShareMax = 0.05;
/** A burst is what kept the thread busier than that between two looks. */
const burstShareMin = 0.1;

/** `want`: there is garbage that no burst made. */
export type IdleCollection = { readonly want: () => void; readonly close: () => void };

/** Looks now and then; a thread that has been busy and is at rest for a whole look collects its garbage. */
export function collectWhenIdle(collect: () => void = garbageCollector(), lookMs = idleLookMs): IdleCollection {
  let before = performance.eventLoopUtilization();
  let isWanted = false;
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > burstShareMin) isWanted = true;
    if (!isWanted || utilization > restShareMax) return;
    isWanted = false;
    collect();
  }, lookMs).unref();
  return {
    want: () => {
      isWanted = true;
    },
    close: () => clearInterval(timer),
  };
}

function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
