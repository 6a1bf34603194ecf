/**
 * Collects the garbage of a burst once the thread is at rest. V8 alone would keep it, and native memory with it, until the next burst.
 * docs/decisions/0013-memory.md says what that saves.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { idleLookMs } from "../../limits.ts";

/** Busy share of a thread at rest. A collection takes 20 ms, which delays no request then. */
const restShareMax = 0.05;
/** Busy share between two looks that counts as a burst. */
const burstShareMin = 0.1;

/** `want`: asks for a collection without a burst. */
export type IdleCollection = { readonly want: () => void; readonly close: () => void };

/** Looks each `lookMs`. A thread that was busy and rests for a whole look collects its garbage. */
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
