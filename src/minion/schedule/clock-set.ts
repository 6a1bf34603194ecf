/** Detects that the wall clock was set, by comparing it with the machine's uptime, which cannot be set and counts during suspend. */
import { uptime } from "node:os";

/** Smaller differences do not count as a set clock: they are drift, or the time between two readings. */
const stepMsMin = 1_000;

export class ClockSet {
  #aheadMs: number;

  constructor(nowMs: number) {
    this.#aheadMs = nowMs - uptime() * 1_000;
  }

  /** @returns milliseconds by which the clock was set since the last call; 0 if it was not */
  look(nowMs: number): number {
    const aheadMs = nowMs - uptime() * 1_000;
    const stepMs = aheadMs - this.#aheadMs;
    this.#aheadMs = aheadMs;
    return Math.abs(stepMs) < stepMsMin ? 0 : stepMs;
  }
}
