/**
 * Collects the garbage of a burst once the thread is at rest. V8 alone would keep it until the next burst, with its native memory.
 * docs/decisions/0013-memory.md has the savings.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { idleLookMs } from "../../limits.ts";

/** A thread that is busy for at most this share of a look is at rest. A collection takes 20 ms and then hardly delays a request. */
const restShareMax = 0.05;
/** A thread that is busy for more than this share of a look has a burst. */
const burstShareMin = 0.1;

/** `want`: requests a collection at the next rest even without a burst. */
export type IdleCollection = { readonly want: () => void; readonly close: () => void };

/** Looks every `lookMs`. After a burst, the first look that finds the thread at rest collects its garbage. */
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

/** V8's full collection. */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
