/** A wait that ends early when the master stops. */
import { setTimeout as wait } from "node:timers/promises";

export async function pauseUntil(signal: AbortSignal, ms: number): Promise<void> {
  try {
    await wait(ms, undefined, { signal });
  } catch (error) {
    if ((error as Error).name !== "AbortError") throw error;
  }
}
