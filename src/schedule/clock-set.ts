/** Detects that the wall clock was set, by comparing it with the machine's uptime, which cannot be set and counts during suspend. */
import { uptime } from "node:os";

/** Smaller differences do not count as a set clock: they are drift, or the time between two readings. */
const stepMsMin = 1_000;

export class ClockSet {
  readonly #uptimeMs: () => number;
  #aheadMs: number;

  constructor(nowMs: number, uptimeMs: () => number = () => uptime() * 1_000) {
    this.#uptimeMs = uptimeMs;
    this.#aheadMs = nowMs - uptimeMs();
  }

  /** @returns milliseconds by which the clock was set since the last call; 0 if it was not */
  look(nowMs: number): number {
    const aheadMs = nowMs - this.#uptimeMs();
    const stepMs = aheadMs - this.#aheadMs;
    this.#aheadMs = aheadMs;
    return Math.abs(stepMs) < stepMsMin ? 0 : stepMs;
  }
}
