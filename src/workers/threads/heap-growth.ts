/**
 * Sets how far V8's heaps grow between two full collections. A master's live heap is small, while large requests pass through buffers that count as
 * heap, so that by default V8 collects after every 16 MiB of requests, and the main thread stands still for milliseconds.
 */
import { setFlagsFromString } from "node:v8";
import { heapGrowthPercent } from "../../limits.ts";

/** Acts on all threads of the process, also on threads that run already. */
export function letHeapsGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
}
